package kafkalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/sink"
)

// storedColumns are columns of a file beside predictions.
type storedColumns = score.Columns[parquet.Node, parquet.Value]

var _ score.Writer[storedColumns] = (*FilePredictions)(nil)

// FilePredictions sends predictions of rows of files to a topic, each once. Another topic, the
// record, has the progress of each file, written in the same transactions. The transactional id
// belongs to the record: a later process fences an earlier one. It is for one goroutine at a time,
// except for Pack and Has.
type FilePredictions struct {
	cfg        FilesConfig
	writer     *broker.Writer
	partitions []int                      // of the topic
	most       int                        // bytes of a batch on the topic
	mostNoted  int                        // bytes of a batch on the record
	began      map[string]broker.Identity // both topics when this process began
	head       recordHead
	due        map[string]Progress // progress that was sent and is not committed, by file
	latest     map[string]string   // the key of the last content that was predicted, by the file's name

	mu    sync.Mutex // guards files
	files map[string]fileMark
}

// FilesConfig sets up a [FilePredictions].
type FilesConfig struct {
	Client *broker.Client
	Topic  string            // of predictions
	Record string            // topic with the progress of files; "" means Topic-files
	Told   func(text string) // is told of a record that is made, and of files that were replaced
}

// OpenFiles aborts the open transaction of an earlier process, makes the record if it is absent, and
// reads it. A record that is not complete, or belongs to another topic, is an error.
func OpenFiles(ctx context.Context, cfg FilesConfig) (*FilePredictions, error) {
	cfg.Record = cmp.Or(cfg.Record, cfg.Topic+"-files")
	p := &FilePredictions{cfg: cfg, files: map[string]fileMark{}, due: map[string]Progress{}, latest: map[string]string{}, began: map[string]broker.Identity{}}
	var err error
	if p.partitions, err = cfg.Client.Partitions(ctx, cfg.Topic); err != nil {
		return nil, err
	}
	if err := p.makeRecord(ctx); err != nil {
		return nil, err
	}
	if err := p.settings(ctx); err != nil {
		return nil, err
	}
	// This fences other processes before the record is read.
	if p.writer, err = cfg.Client.NewWriter(ctx, "pacsgp-score/"+cfg.Record); err != nil {
		return nil, err
	}
	if err := p.Same(ctx); err != nil {
		return nil, err
	}
	return p, p.read(ctx)
}

// makeRecord makes the record if it is absent.
func (p *FilePredictions) makeRecord(ctx context.Context) error {
	made, err := p.cfg.Client.CreateTopic(ctx, p.cfg.Record, 1, -1, broker.Settings{"cleanup.policy": "compact"})
	if made {
		p.cfg.Told(fmt.Sprintf("topic %q is made: it says which files have predictions in %q", p.cfg.Record, p.cfg.Topic))
	}
	// A user without the right to make topics may find it made.
	if _, missing := p.cfg.Client.Partitions(ctx, p.cfg.Record); missing != nil {
		return errors.Join(err, missing)
	}
	return nil
}

// settings returns an error if a topic would lose records, and reads their sizes of batches.
func (p *FilePredictions) settings(ctx context.Context) error {
	record, err := p.cfg.Client.TopicSettings(ctx, p.cfg.Record)
	if err != nil {
		return err
	}
	if got, known := record["cleanup.policy"]; known && got != "compact" {
		return fmt.Errorf("kafka: topic %q has cleanup.policy=%s, want compact: what it says of files would be lost", p.cfg.Record, got)
	}
	topic, err := p.cfg.Client.TopicSettings(ctx, p.cfg.Topic)
	if err != nil {
		return err
	}
	if got := topic["cleanup.policy"]; strings.Contains(got, "compact") {
		return fmt.Errorf("kafka: topic %q has cleanup.policy=%s: of each file one prediction would be left, for they have its path as their key; want delete", p.cfg.Topic, got)
	}
	p.most, p.mostNoted = largest(topic, 1<<20), largest(record, 1<<20)
	return nil
}

// Same returns an error if one of the topics was made anew since the first call.
func (p *FilePredictions) Same(ctx context.Context) error {
	for _, topic := range []string{p.cfg.Topic, p.cfg.Record} {
		is, err := p.cfg.Client.Identity(ctx, topic)
		if err != nil {
			return err
		}
		if _, known := p.began[topic]; !known {
			p.began[topic] = is
		}
		if err := is.Same(p.began[topic], topic, "when this process began"); err != nil {
			return err
		}
	}
	return nil
}

// About returns the subject of the predictions, "" if there are none.
func (p *FilePredictions) About() string { return p.head.About }

// begin writes the head of the record durably before the first prediction is sent, so that a topic
// with predictions always has a record.
func (p *FilePredictions) begin(ctx context.Context, about, certificate string) error {
	if p.head.Format != "" {
		return nil
	}
	head := recordHead{Format: recordFormat, Topic: p.cfg.Topic, Of: p.began[p.cfg.Topic], About: about, Certificate: certificate}
	r, err := recorded(headKey, head)
	if err != nil {
		return err
	}
	if err := p.Same(ctx); err != nil {
		return err
	}
	if err := p.writer.Send(ctx, p.cfg.Record, recordPartition, r); err != nil {
		return err
	}
	if err := p.writer.End(ctx); err != nil {
		return err
	}
	p.head = head
	return nil
}

// batchBytes bounds the bytes of a batch beside its records.
const batchBytes = 128

// FilesDue says when to commit predictions of files.
var FilesDue = score.Due{Rows: 1 << 17, Every: time.Second}

// objectsOf returns the writer of the predictions of a piece with these kept columns.
func (p *FilePredictions) objectsOf(piece score.Piece[storedColumns], beside storedColumns) *sink.FileObjects {
	keep := make([]sink.Kept, len(beside.Names))
	for c := range keep {
		keep[c] = sink.Kept{Name: beside.Names[c], Node: beside.Types[c]}
	}
	file := piece.File.Name
	return sink.NewFileObjects(file, piece.By.Carries, p.most-len(file)-recordBytes-batchBytes, keep...)
}

// Pack packs predictions of rows of one file, in their order, except those that an earlier process
// has sent. Their key is the file's name, so that one partition has all of them.
func (p *FilePredictions) Pack(ctx context.Context, piece score.Piece[storedColumns]) (func(context.Context) error, score.Tally, error) {
	file, key := piece.File.Name, fileKey(piece.File)
	now := Progress{File: file, Rows: piece.First, Done: piece.Last, Certificate: piece.By.ID}
	var n score.Tally
	var pieces []broker.Packed
	err := piece.Predict(ctx, func(batch []pipeline.Prediction, beside storedColumns) error {
		known := int(min(max(p.progress(key).rows-now.Rows, 0), int64(len(batch))))
		now.Rows += int64(len(batch))
		if known == len(batch) {
			return nil
		}
		n = score.Count(batch[known:])
		objects, err := p.objectsOf(piece, beside).Write(batch, beside.Values, known)
		if err != nil {
			return fmt.Errorf("%s, %w: keep fewer columns, or raise max.message.bytes of topic %q", piece.File.Path, err, p.cfg.Topic)
		}
		records := make([]broker.Record, len(objects))
		for i, value := range objects {
			records[i] = broker.Record{Key: []byte(file), Value: value}
		}
		pieces, err = packed(records, min(pieceBytes, p.most-batchBytes))
		return err
	})
	if err != nil || n.Rows == 0 && !piece.Last {
		return nil, n, err
	}
	return func(ctx context.Context) error {
		if err := p.begin(ctx, piece.By.Subject, piece.By.ID); err != nil {
			return err
		}
		if was := p.latest[file]; was != "" && was != key {
			p.cfg.Told(fmt.Sprintf("%s was replaced: the predictions of its earlier content stay in topic %q", piece.File.Path, p.cfg.Topic))
		}
		p.due[key], p.latest[file] = now, key
		err := send(ctx, p.writer, parcel{p.cfg.Topic, broker.PartitionOf([]byte(file), p.partitions), pieces})
		// A topic that was made anew refuses the producer's sequence numbers. Then tell the cause.
		if err != nil && ctx.Err() == nil {
			if another := p.Same(ctx); errors.Is(another, broker.ErrAnother) {
				return another
			}
		}
		return err
	}, n, nil
}

// Commit commits the predictions since the last commit with the progress of their files, in one
// transaction. After an error nothing more can be sent.
func (p *FilePredictions) Commit(ctx context.Context) error {
	if len(p.due) == 0 {
		return nil
	}
	if err := p.Same(ctx); err != nil {
		return err
	}
	records, err := p.mark(p.due)
	if err != nil {
		return err
	}
	p.due = map[string]Progress{}
	pieces, err := packed(records, min(pieceBytes, p.mostNoted-batchBytes))
	if err != nil {
		return err
	}
	if err := send(ctx, p.writer, parcel{p.cfg.Record, recordPartition, pieces}); err != nil {
		return err
	}
	return p.writer.End(ctx)
}

// mark stores the progress of files, and returns the records of it.
func (p *FilePredictions) mark(now map[string]Progress) (records []broker.Record, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		is := now[key]
		mark := fileMark{p.files[key].number, is.Rows, is.Done}
		if mark.number == 0 {
			mark.number = int64(len(p.files) + 1)
		}
		r, err := recorded(key, fileState{recordFormat, mark.number, is})
		if err != nil {
			return nil, err
		}
		records, p.files[key] = append(records, r), mark
	}
	return records, nil
}

// recorded returns a message for the record.
func recorded(key string, value any) (broker.Record, error) {
	text, err := json.Marshal(value)
	return broker.Record{Key: []byte(key), Value: text, Time: time.Now().UnixMilli()}, err
}

// Seen waits until readers see all that was committed.
func (p *FilePredictions) Seen(ctx context.Context) error { return p.writer.Seen(ctx) }

// Abort drops what was sent since the last commit, also when ctx is done.
func (p *FilePredictions) Abort(ctx context.Context) error { return unlessFenced(abort(ctx, p.writer)) }
