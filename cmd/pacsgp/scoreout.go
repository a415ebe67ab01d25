package main

import (
	"context"
	"sync"
	"time"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
)

// A lotWriter is where predictions of rows of a topic go. Its methods are for one
// goroutine, but for pack.
type lotWriter interface {
	// stands returns the offsets behind the predictions that are there for good, by
	// partition, as far as the place itself knows.
	stands() (map[int]int64, error)
	// pack prepares predictions of the rows of a lot. What it returns sends them: it is
	// called in the order of the lots.
	pack(l lot, rows kafkalog.Decoded, predictions []pipeline.Prediction) (func(context.Context) error, error)
	// due says when to commit: after how many rows, whether at each pause, and how long
	// after the first row.
	due() (rows int64, pause bool, every time.Duration)
	// commit makes what was sent be there for good, and notes as a member of the group how
	// far the rows go, with a text.
	commit(ctx context.Context, as broker.Member, ends map[int]int64, text string) error
	// seen waits until others see it.
	seen(ctx context.Context) error
	// end gives up what was sent and not committed.
	end(ctx context.Context) error
}

// A topicWriter sends predictions to a topic.
type topicWriter struct{ *sinklog.Predictions }

var objectSpace sync.Pool // of *[]byte

func (topicWriter) stands() (map[int]int64, error) { return map[int]int64{}, nil } // the group does

func (topicWriter) due() (rows int64, pause bool, every time.Duration) {
	// A commit takes as long as the predictions of tens of thousands of rows.
	return 1 << 17, true, time.Second
}

func (t topicWriter) commit(ctx context.Context, as broker.Member, ends map[int]int64, text string) error {
	return t.Commit(ctx, as, ends, text)
}

func (t topicWriter) seen(ctx context.Context) error { return t.Seen(ctx) }

func (t topicWriter) end(ctx context.Context) error {
	if err := t.Abort(ctx); !broker.Fenced(err) {
		return err
	}
	return nil // who has ended this process's transaction has aborted it
}

// pack makes a record of each prediction.
func (t topicWriter) pack(l lot, rows kafkalog.Decoded, predictions []pipeline.Prediction) (func(context.Context) error, error) {
	space, ok := objectSpace.Get().(*[]byte)
	if !ok {
		space = new([]byte)
	}
	text := (*space)[:0] // of all objects: where it grows, the first ones stay where they are
	defer func() {
		*space = text
		objectSpace.Put(space) // a parcel has copies
	}()
	var parcels []sinklog.Parcel
	for _, part := range l.parts(rows) {
		objects := l.by.objects
		if !l.by.speaks(part.partition) {
			objects = l.by.unsaid
		}
		records := make([]broker.Record, 0, len(part.rows))
		for _, i := range part.rows {
			r, from := &l.records[rows.Of[i]], len(text)
			text = objects.Append(text, r.Partition, r.Offset, int(predictions[i].Ordinal), predictions[i], l.kept(rows, i)...)
			records = append(records, broker.Record{Key: r.Key, Value: text[from:len(text):len(text)]})
		}
		parcel, err := t.Pack(part.partition, records)
		if err != nil {
			return nil, err
		}
		parcels = append(parcels, parcel)
	}
	return func(ctx context.Context) error {
		for _, parcel := range parcels {
			if err := t.Send(ctx, parcel); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
