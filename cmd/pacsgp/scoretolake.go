package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A lakeWriter writes predictions of rows of a topic to files: of each partition, one
// behind the other. The name of a file says which offsets it is about. So the files that
// stand say, whatever moment a process was killed at, how far the predictions go. The
// folder is locked: of two processes one writes, and the other finds what that has left.
type lakeWriter struct {
	s       *topicScorer
	folder  *sinklake.Directory
	offsets *broker.Writer
	of      *topicPredictor // that has made what is in the open files
	open    map[int]*openFile
	topic   bool // the folder says which topic its predictions are of
}

// An openFile is the file that the predictions of a partition are written to.
type openFile struct {
	file       *durable.Pending
	out        *sink.Predictions
	first, end int64 // offsets
}

// lakeRows is how many rows the open files have at most together.
const lakeRows = 1 << 18

func newLakeWriter(ctx context.Context, s *topicScorer) (w *lakeWriter, err error) {
	w = &lakeWriter{s: s, open: map[int]*openFile{}}
	if w.folder, err = s.lock(ctx); err != nil {
		return nil, err
	}
	if w.offsets, err = s.client.NewWriter(ctx, ""); err != nil {
		return nil, errors.Join(err, w.folder.Close())
	}
	return w, nil
}

// lock takes the lock of the output. A service waits for it: a process that was the
// leader of the group may not know yet that it is no longer.
func (s *topicScorer) lock(ctx context.Context) (*sinklake.Directory, error) {
	for {
		folder, err := sinklake.Open(s.Output.Folder, s.w.fs)
		if !errors.Is(err, durable.ErrLocked) || s.once {
			return folder, err
		}
		if text := err.Error(); !s.told[text] {
			s.told[text] = true
			s.show.notice(text)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

// lakeName is the name of a file with the predictions of rows [first, end) of a partition,
// without those offsets that have no row.
func lakeName(topic string, partition int, first, end int64) string {
	return fmt.Sprintf("%s%d-%020d-%020d%s", lakePrefix(topic), partition, first, end, lakeSuffix)
}

const lakeSuffix = ".parquet"

func lakePrefix(topic string) string { return "part-" + topic + "-" }

// lakePlace is what the name of a file says; false: it is none of this topic.
func lakePlace(topic, name string) (partition int, end int64, ok bool) {
	middle, ok := strings.CutPrefix(strings.TrimSuffix(name, lakeSuffix), lakePrefix(topic))
	parts := strings.Split(middle, "-")
	if !ok || len(parts) != 3 || !strings.HasSuffix(name, lakeSuffix) {
		return 0, 0, false
	}
	partition, err := strconv.Atoi(parts[0])
	if err != nil {
		return 0, 0, false
	}
	first, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return 0, 0, false
	}
	end, err = strconv.ParseInt(parts[2], 10, 64)
	return partition, end, err == nil && lakeName(topic, partition, first, end) == name
}

// stands are the ends of the files that are there. They have to be of the topic that is
// there now.
func (w *lakeWriter) stands() (map[int]int64, error) {
	names, err := w.s.w.fs.List(w.s.Output.Folder)
	if err != nil {
		return nil, err
	}
	if err := w.readTopic(names); err != nil {
		return nil, err
	}
	ends := map[int]int64{}
	for _, name := range names {
		if partition, end, ok := lakePlace(w.s.rows.Topic, name); ok {
			ends[partition] = max(ends[partition], end)
		}
	}
	return ends, nil
}

func (w *lakeWriter) due() (rows int64, pause bool, every time.Duration) {
	return lakeRows, false, w.s.Every()
}

// pack makes the columns of each partition.
func (w *lakeWriter) pack(l lot, rows kafkalog.Decoded, predictions []pipeline.Prediction) (func(context.Context) error, error) {
	parts := l.parts(rows)
	columns := make([]sink.Placed, len(parts))
	for at, part := range parts {
		for _, i := range part.rows {
			r := &l.records[rows.Of[i]]
			columns[at].Add(predictions[i], r.Partition, r.Offset, r.Key, l.kept(rows, i)...)
		}
	}
	return func(ctx context.Context) error {
		if w.of != l.by { // one model to a file
			if err := w.s.sameTopic(ctx); err != nil {
				return err
			}
			if err := w.publish(); err != nil {
				return err
			}
			w.of = l.by
		}
		for at, part := range parts {
			file, err := w.file(part.partition, l.records[rows.Of[part.rows[0]]].Offset)
			if err != nil {
				return err
			}
			if err := file.out.WritePlaced(columns[at]); err != nil {
				return err
			}
		}
		for partition, end := range l.ends {
			if file := w.open[partition]; file != nil {
				file.end = end
			}
		}
		return nil
	}, nil
}

// file is the open file of a partition, which begins with this offset if it is new.
func (w *lakeWriter) file(partition int, first int64) (*openFile, error) {
	if f := w.open[partition]; f != nil {
		return f, nil
	}
	file, err := durable.Create(w.s.w.fs, filepath.Join(w.s.Output.Folder, lakeName(w.s.rows.Topic, partition, first, first)))
	if err != nil {
		return nil, err
	}
	carries := w.of.carries
	if !w.of.speaks(partition) {
		carries = ""
	}
	w.open[partition] = &openFile{file: file, out: sink.NewPredictions(file, carries, sink.PlaceColumns(w.s.Keep...)...), first: first}
	return w.open[partition], nil
}

// publish gives the open files their names.
func (w *lakeWriter) publish() error {
	for _, partition := range slices.Sorted(maps.Keys(w.open)) {
		f := w.open[partition]
		if err := f.out.Close(); err != nil {
			return err
		}
		if err := w.s.follower.keepAbout(w.s.w.fs, w.s.Output.Folder, w.of.current); err != nil {
			return err
		}
		if err := w.keepTopic(); err != nil {
			return err
		}
		if err := f.file.CommitAs(lakeName(w.s.rows.Topic, partition, f.first, f.end)); err != nil {
			return err
		}
		delete(w.open, partition)
	}
	return nil
}

// commit publishes the files, and tells the group, for those who look there.
func (w *lakeWriter) commit(ctx context.Context, as broker.Member, ends map[int]int64, text string) error {
	if err := w.publish(); err != nil {
		return err
	}
	return w.offsets.CommitOffsetsAs(ctx, as, w.s.rows.Group, w.s.rows.Topic, ends, text)
}

func (w *lakeWriter) seen(context.Context) error { return nil }

func (w *lakeWriter) end(context.Context) error {
	for _, f := range w.open {
		f.file.Abort()
	}
	return w.folder.Close()
}
