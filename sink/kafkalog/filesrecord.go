package kafkalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// The record is partition 0 of a compacted topic. One key has the head, each file's key has its
// progress. Files are numbered from 1 on, which shows that none is missing.
const (
	recordFormat    = "pacsgp-scored/1"
	recordPartition = 0
	headKey         = "predictions"
)

// A recordHead names the topic of the predictions and their subject.
type recordHead struct {
	Format      string          `json:"format"`
	Topic       string          `json:"topic"`
	Of          broker.Identity `json:"of"`          // of the topic; zero if brokers do not tell
	About       string          `json:"about"`       // subject: equal for models that can replace each other
	Certificate string          `json:"certificate"` // of the first model that predicted there
}

// A fileState is the value of a file's key in the record.
type fileState struct {
	Format string `json:"format"`
	Number int64  `json:"number"` // among the files of the record, from 1 on
	Progress
}

// Progress is the progress of predicting a file.
type Progress struct {
	File        string `json:"file"`
	Rows        int64  `json:"rows"` // the first so many rows are predicted
	Done        bool   `json:"done"` // these are all rows
	Certificate string `json:"certificate"`
}

// A fileMark is the part of a fileState that is kept in memory.
type fileMark struct {
	number, rows int64
	done         bool
}

// fileKey returns the key of a file in the record.
func fileKey(f score.File) string { return f.Name + " " + f.Digest }

// ErrRecord says that the record does not show which files have predictions.
var ErrRecord = errors.New("it does not say which files have predictions")

// Has reports whether all rows of a file are predicted.
func (p *FilePredictions) Has(f score.File) (bool, error) { return p.progress(fileKey(f)).done, nil }

// progress returns the progress of a file at the last commit.
func (p *FilePredictions) progress(key string) fileMark {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.files[key]
}

// Files returns the number of files with all their predictions.
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
	// Uncommitted records too: the open transaction of another process would hide records behind it.
	end, err := p.cfg.Client.Written(ctx, p.cfg.Record, []int{recordPartition})
	if err != nil {
		return err
	}
	err = p.cfg.Client.Read(ctx, broker.Range{Topic: p.cfg.Record, Partition: recordPartition, End: end[recordPartition]}, func(r *broker.Record) error {
		if err := p.readMessage(r); err != nil {
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

// readMessage reads one message of the record.
func (p *FilePredictions) readMessage(r *broker.Record) error {
	if key := string(r.Key); key != headKey {
		var state fileState
		if err := json.Unmarshal(r.Value, &state); err != nil || state.Format != recordFormat || state.Number < 1 || state.Rows < 0 {
			return fmt.Errorf("it is none of format %s", recordFormat)
		}
		p.latest[state.File] = key
		p.files[key] = fileMark{state.Number, state.Rows, state.Done} // the last message of a key counts
		return nil
	}
	if err := json.Unmarshal(r.Value, &p.head); err != nil || p.head.Format != recordFormat || p.head.About == "" {
		return fmt.Errorf("it is none of format %s", recordFormat)
	}
	return nil
}

// whole returns an error if the head or a file is missing.
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

// fits returns an error if the topic cannot have the predictions of the record.
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
