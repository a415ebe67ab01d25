package lake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/sink"
)

var _ score.Writer[score.Records] = (*Logged)(nil)

// DeadLetters takes the records of rows without a prediction.
type DeadLetters interface {
	// Pack, for any goroutine, returns a function that sends the dead letters of a batch.
	Pack(batch []pipeline.Prediction, of score.Records) (send func(context.Context) error, err error)
	// Commit makes dead letters before ends permanent, before predictions are published.
	Commit(ctx context.Context, ends map[int]int64) error
}

// Logged writes predictions of rows of a topic to files, one file after the other for each partition. File names have
// offsets, so that the published files show, even after a kill, up to where rows are predicted. It must be closed.
type Logged struct {
	FS          durable.FS
	Folder      string // locked by the caller
	Topic       string
	ID          pipeline.TopicIdentity // zero means unknown
	Passthrough []string               // members of records to copy next to predictions
	About       *About
	// Same returns an error if the topic was deleted and created again since it was opened.
	Same func(ctx context.Context) error
	// Done commits the end offset of each partition in published files. subject names the model.
	Done func(ctx context.Context, ends map[int]int64, subject string) error
	// DeadLetters, if not nil, also gets the rows without a prediction.
	DeadLetters DeadLetters

	by    *score.Predictor // the predictor of the rows in the open files
	open  map[int]*openFile
	ends  map[int]int64 // by partition: the offset after the last written row, if not committed
	noted bool          // the folder has the file that names the topic
}

// An openFile is the unpublished file with the predictions of a partition.
type openFile struct {
	file       *durable.Pending
	out        *sink.Predictions
	first, end int64 // offsets
}

// loggedRows is the largest number of rows in all open files.
const loggedRows = 1 << 18

// LoggedDue returns the rule for when open files are published: at loggedRows rows, or every so often.
func LoggedDue(every time.Duration) score.Due { return score.Due{Rows: loggedRows, Every: every} }

// Await opens a directory as [Open] does. While another process has the lock, it calls waits with
// the error and tries again after [score.LookEvery]. With a nil waits it returns the error.
func Await(ctx context.Context, path string, fsys durable.FS, waits func(error)) (*Output, error) {
	for {
		folder, err := Open(path, fsys)
		if waits == nil || !errors.Is(err, pipeline.ErrHeld) {
			return folder, err
		}
		waits(err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(score.LookEvery):
		}
	}
}

// loggedName returns the name of the file with predictions for offsets [first, end) of a partition.
// Not every offset in that range needs to have a row.
func loggedName(topic string, partition int, first, end int64) string {
	return fmt.Sprintf("part-%s-%d-%020d-%020d.parquet", topic, partition, first, end)
}

// loggedPosition parses a name made by loggedName. ok is false for other names and other topics.
func loggedPosition(topic, name string) (partition int, end int64, ok bool) {
	var first int64
	numbers, ok := strings.CutPrefix(name, "part-"+topic+"-")
	if _, err := fmt.Sscanf(numbers, "%d-%d-%d.parquet", &partition, &first, &end); err != nil || !ok {
		return 0, 0, false
	}
	return partition, end, loggedName(topic, partition, first, end) == name
}

// Positions returns the end offset of the published files of each partition. If the folder names
// its topic, differs gets that topic and returns an error if it is another one.
func (w *Logged) Positions(differs func(was pipeline.TopicIdentity, path string) error) (map[int]int64, error) {
	names, err := w.FS.List(w.Folder)
	if err != nil {
		return nil, err
	}
	if err := w.readTopic(names, differs); err != nil {
		return nil, err
	}
	ends := map[int]int64{}
	for _, name := range names {
		if partition, end, ok := loggedPosition(w.Topic, name); ok {
			ends[partition] = max(ends[partition], end)
		}
	}
	return ends, nil
}

// Pack predicts a piece and prepares its columns by partition. The returned function writes them.
func (w *Logged) Pack(ctx context.Context, p score.Piece[score.Records]) (func(context.Context) error, score.Counts, error) {
	var n score.Counts
	var partitions []int
	var rows [][]int
	var columns []sink.Positioned
	var of score.Records
	sendDeadLetters := func(context.Context) error { return nil }
	err := p.Predict(ctx, func(batch []pipeline.Prediction, records score.Records) (err error) {
		of, n = records, score.Count(batch)
		partitions, rows = score.Parts(len(batch), records)
		columns = make([]sink.Positioned, len(partitions))
		for at, partition := range partitions {
			for _, i := range rows[at] {
				_, offset, key := of.Position(i)
				columns[at].Add(batch[i], partition, offset, key, of.Kept(i)...)
			}
		}
		if w.DeadLetters != nil && n.Refused > 0 {
			sendDeadLetters, err = w.DeadLetters.Pack(batch, of)
		}
		return err
	})
	return func(ctx context.Context) error {
		if w.by != p.By { // a file has predictions of one model
			if err := w.publish(ctx); err != nil {
				return err
			}
			w.by, w.open = p.By, map[int]*openFile{} // all were published
		}
		for at, partition := range partitions {
			_, first, _ := of.Position(rows[at][0])
			file, err := w.file(partition, first)
			if err != nil {
				return err
			}
			if err := file.out.Write(columns[at].Predictions, columns[at].Columns...); err != nil {
				return err
			}
		}
		ends := of.Ends()
		if w.ends == nil {
			w.ends = map[int]int64{}
		}
		maps.Copy(w.ends, ends)
		for partition, end := range ends {
			if file := w.open[partition]; file != nil {
				file.end = end
			}
		}
		return sendDeadLetters(ctx)
	}, n, err
}

// file returns the open file of a partition, or creates one that begins at the offset first.
func (w *Logged) file(partition int, first int64) (*openFile, error) {
	if f := w.open[partition]; f != nil {
		return f, nil
	}
	file, err := durable.Create(w.FS, filepath.Join(w.Folder, loggedName(w.Topic, partition, first, first)))
	if err != nil {
		return nil, err
	}
	carries := w.by.CarriedIn(w.Topic, partition)
	w.open[partition] = &openFile{file: file, out: sink.NewPredictions(file, carries, sink.PositionColumns(w.Passthrough...)...), first: first}
	return w.open[partition], nil
}

// publish publishes the dead letters of the rows in the open files, then these files, unless the topic is another one.
func (w *Logged) publish(ctx context.Context) error {
	if err := w.Same(ctx); err != nil {
		return err
	}
	if w.DeadLetters != nil {
		if err := w.DeadLetters.Commit(ctx, w.ends); err != nil {
			return err
		}
	}
	for _, partition := range slices.Sorted(maps.Keys(w.open)) {
		f := w.open[partition]
		if err := f.out.Close(); err != nil {
			return err
		}
		if err := w.About.keep(w.by.Certificate); err != nil {
			return err
		}
		if err := w.keepTopic(); err != nil {
			return err
		}
		if err := f.file.CommitAs(loggedName(w.Topic, partition, f.first, f.end)); err != nil {
			return err
		}
		delete(w.open, partition)
	}
	return nil
}

// Commit publishes the open files, then commits their ends.
func (w *Logged) Commit(ctx context.Context) error {
	if len(w.ends) == 0 {
		return nil
	}
	if err := w.publish(ctx); err != nil {
		return err
	}
	if err := w.Done(ctx, w.ends, w.by.Subject); err != nil {
		return err
	}
	w.ends = nil
	return nil
}

// Close removes the open, unpublished files.
func (w *Logged) Close() {
	for _, f := range w.open {
		f.file.Abort()
	}
}

// topicName returns the name of the file that says which topic the predictions are of. Readers of a lake skip it.
func topicName(topic string) string { return "_topic-" + topic + ".json" }

const maxTopicBytes = 1 << 16

// readTopic calls differs with the file that names the topic, if the folder has one.
func (w *Logged) readTopic(names []string, differs func(was pipeline.TopicIdentity, path string) error) error {
	name := topicName(w.Topic)
	if w.noted = slices.Contains(names, name); !w.noted {
		return nil
	}
	path := filepath.Join(w.Folder, name)
	var was pipeline.TopicIdentity
	err := readJSON(w.FS, path, maxTopicBytes, &was)
	if err == nil && (was.Topic == "" || was.Cluster == "") {
		err = errors.New("it names no topic and no cluster")
	}
	if err != nil {
		return fmt.Errorf("%s: it does not say which topic the predictions are of: %w", path, err)
	}
	return differs(was, path)
}

// keepTopic writes the file that names the topic, unless it exists or the topic's ID is unknown.
func (w *Logged) keepTopic() error {
	if w.noted || w.ID == (pipeline.TopicIdentity{}) {
		return nil
	}
	text, err := json.Marshal(w.ID)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(w.FS, filepath.Join(w.Folder, topicName(w.Topic)), digest.Seal(text)); err != nil {
		return err
	}
	w.noted = true
	return nil
}
