package kafkalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// The record is a compacted topic, of which partition 0 is used: one key holds whose record
// it is, that of each file how far its predictions go. Numbers of files, from 1 on, show
// that none is missing.
const (
	recordFormat    = "pacsgp-scored/1"
	recordPartition = 0
	headKey         = "predictions"
)

// A recordHead says which topic the predictions are in, and what they are about.
type recordHead struct {
	Format      string          `json:"format"`
	Topic       string          `json:"topic"`
	Of          broker.Identity `json:"of"`          // zero: brokers did not tell
	About       string          `json:"about"`       // the same word for models that can take each other's place
	Certificate string          `json:"certificate"` // of the first model that predicted there
}

// A fileState is what the record says of a file.
type fileState struct {
	Format string `json:"format"`
	Number int64  `json:"number"` // among the files of the record, from 1 on
	Progress
}

// Progress is how far the rows of a file are predicted.
type Progress struct {
	File        string `json:"file"`
	Rows        int64  `json:"rows"` // that have been dealt with: the first ones
	Done        bool   `json:"done"` // there are no more
	Certificate string `json:"certificate"`
}

// A fileMark is what is remembered of it.
type fileMark struct {
	number, rows int64
	done         bool
}

// fileKey is the key of a file in a record.
func fileKey(f score.File) string { return f.Name + " " + f.Digest }

// ErrRecord says that a record does not say which files have predictions.
var ErrRecord = errors.New("it does not say which files have predictions")

// Has reports whether all rows of a file have been dealt with.
func (p *FilePredictions) Has(f score.File) (bool, error) { return p.progress(fileKey(f)).done, nil }

// progress is how far the rows of a file are predicted, for good.
func (p *FilePredictions) progress(key string) fileMark {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.files[key]
}

// Files is how many files have all their predictions.
func (p *FilePredictions) Files() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, mark := range p.files {
		if mark.done {
			n++
		}
	}
	return n
}

// read reads the record.
func (p *FilePredictions) read(ctx context.Context) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("kafka: topic %q: %w: %w", p.cfg.Record, ErrRecord, fmt.Errorf(format, args...))
	}
	first, err := p.cfg.Client.Offsets(ctx, p.cfg.Record, []int{recordPartition}, broker.Earliest)
	if err != nil {
		return err
	}
	if n := first[recordPartition]; n > 0 {
		return fail("what stood before offset %d was deleted", n)
	}
	// Committed or not: the open transaction of somebody else would hide what is behind it.
	end, err := p.cfg.Client.Written(ctx, p.cfg.Record, []int{recordPartition})
	if err != nil {
		return err
	}
	err = p.cfg.Client.Read(ctx, broker.Range{Topic: p.cfg.Record, Partition: recordPartition, End: end[recordPartition]}, func(r *broker.Record) error {
		if err := p.take(r); err != nil {
			return fail("offset %d: %w", r.Offset, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.whole(); err != nil {
		return fail("%w", err)
	}
	if p.head.Format != "" {
		if p.head.Topic != p.cfg.Topic {
			return fail("it is that of topic %q", p.head.Topic)
		}
		if err := p.began[p.cfg.Topic].Same(p.head.Of, p.cfg.Topic, fmt.Sprintf("the one whose record is in topic %q", p.cfg.Record)); err != nil {
			return err
		}
	}
	return p.fits(ctx, fail)
}

// take takes a record of the record.
func (p *FilePredictions) take(r *broker.Record) error {
	if key := string(r.Key); key != headKey {
		var state fileState
		if err := json.Unmarshal(r.Value, &state); err != nil || state.Format != recordFormat || state.Number < 1 || state.Rows < 0 {
			return fmt.Errorf("it is none of format %s", recordFormat)
		}
		p.files[key] = fileMark{state.Number, state.Rows, state.Done} // the last one counts
		return nil
	}
	if err := json.Unmarshal(r.Value, &p.head); err != nil || p.head.Format != recordFormat || p.head.About == "" {
		return fmt.Errorf("it is none of format %s", recordFormat)
	}
	return nil
}

// whole demands all that was ever written.
func (p *FilePredictions) whole() error {
	if p.head.Format == "" && len(p.files) > 0 {
		return errors.New("it does not say whose record it is")
	}
	found := make([]bool, len(p.files))
	for key, mark := range p.files {
		if mark.number > int64(len(found)) || found[mark.number-1] {
			return fmt.Errorf("%q is file %d of %d: some are missing", key, mark.number, len(found))
		}
		found[mark.number-1] = true
	}
	return nil
}

// fits demands a topic that has what the record says.
func (p *FilePredictions) fits(ctx context.Context, fail func(format string, args ...any) error) error {
	written, err := p.cfg.Client.Written(ctx, p.cfg.Topic, p.partitions)
	if err != nil {
		return err
	}
	var offsets, rows int64
	for _, end := range written {
		offsets += end
	}
	for _, mark := range p.files {
		rows += mark.rows
	}
	switch {
	case p.head.Format == "" && offsets > 0:
		return fail("it is empty, and topic %q is not", p.cfg.Topic)
	case rows > offsets:
		return fail("it has %d predictions, and topic %q was never given so many: it was made anew", rows, p.cfg.Topic)
	}
	return nil
}
