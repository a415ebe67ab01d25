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

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/sink"
)

var _ score.Writer[score.Records] = (*Logged)(nil)

// A LogID is what tells a topic from another one of its name; the zero value: it is not known.
type LogID struct {
	Cluster string `json:"cluster"`
	Topic   string `json:"topic"`
}

// LoggedConfig says of which topic predictions are, and where they go.
type LoggedConfig struct {
	FS     durable.FS
	Folder string // whose lock the caller has
	Topic  string
	ID     LogID
	Keep   []string // members of records beside predictions
	About  *About
	// Same demands that the topic is the one that it was.
	Same func(ctx context.Context) error
	// Commit notes how far rows are predicted to complete files, about a subject.
	Commit func(ctx context.Context, ends map[int]int64, subject string) error
}

// Logged writes predictions of rows of a topic to files: of each partition, one behind the
// other. The name of a file has its offsets. So the published files say how far the predictions
// go, whenever a process was killed.
type Logged struct {
	cfg   LoggedConfig
	by    *score.Predictor // that has made what is in the open files
	open  map[int]*openFile
	ends  map[int]int64 // behind what was sent and not committed
	noted bool          // the folder says which topic its predictions are of
}

// An openFile is the file that the predictions of a partition are written to.
type openFile struct {
	file       *durable.Pending
	out        *sink.Predictions
	first, end int64 // offsets
}

// loggedRows is how many rows the open files have at most together.
const loggedRows = 1 << 18

// LoggedDue is when to publish files that have so old a row.
func LoggedDue(every time.Duration) score.Due { return score.Due{Rows: loggedRows, Every: every} }

// NewLogged returns a writer. To be closed.
func NewLogged(cfg LoggedConfig) *Logged {
	return &Logged{cfg: cfg, open: map[int]*openFile{}, ends: map[int]int64{}}
}

// Await opens a directory as [Open] does. It waits while another process has the lock, and
// tells why each time that it has looked.
func Await(ctx context.Context, path string, fsys durable.FS, told func(error)) (*Directory, error) {
	for {
		folder, err := Open(path, fsys)
		if !errors.Is(err, pipeline.ErrHeld) {
			return folder, err
		}
		told(err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(score.LookEvery):
		}
	}
}

// loggedName is the name of a file with the predictions of rows [first, end) of a partition;
// not each of these offsets has a row.
func loggedName(topic string, partition int, first, end int64) string {
	return fmt.Sprintf("part-%s-%d-%020d-%020d.parquet", topic, partition, first, end)
}

// loggedPlace is what the name of a file says; false: it is none of this topic.
func loggedPlace(topic, name string) (partition int, end int64, ok bool) {
	var first int64
	numbers, ok := strings.CutPrefix(name, "part-"+topic+"-")
	if _, err := fmt.Sscanf(numbers, "%d-%d-%d.parquet", &partition, &first, &end); err != nil || !ok {
		return 0, 0, false
	}
	return partition, end, loggedName(topic, partition, first, end) == name
}

// Positions are the ends of the published files, by partition. differs returns an error if they
// are of another topic, as a file that it is told says.
func (w *Logged) Positions(differs func(was LogID, path string) error) (map[int]int64, error) {
	names, err := w.cfg.FS.List(w.cfg.Folder)
	if err != nil {
		return nil, err
	}
	if err := w.readTopic(names, differs); err != nil {
		return nil, err
	}
	ends := map[int]int64{}
	for _, name := range names {
		if partition, end, ok := loggedPlace(w.cfg.Topic, name); ok {
			ends[partition] = max(ends[partition], end)
		}
	}
	return ends, nil
}

// Pack makes the columns of each partition.
func (w *Logged) Pack(ctx context.Context, p score.Piece[score.Records]) (func(context.Context) error, score.Tally, error) {
	var n score.Tally
	var parts []score.Part
	var columns []sink.Placed
	var of score.Records
	err := p.Predict(ctx, func(batch []pipeline.Prediction, records score.Records) error {
		of, n, parts = records, score.Count(batch), score.Parts(len(batch), records)
		columns = make([]sink.Placed, len(parts))
		for at, part := range parts {
			for _, i := range part.Rows {
				partition, offset, key := of.Place(i)
				columns[at].Add(batch[i], partition, offset, key, of.Kept(i)...)
			}
		}
		return nil
	})
	return func(ctx context.Context) error {
		if w.by != p.By { // one model to a file
			if err := w.cfg.Same(ctx); err != nil {
				return err
			}
			if err := w.publish(); err != nil {
				return err
			}
			w.by = p.By
		}
		for at, part := range parts {
			_, first, _ := of.Place(part.Rows[0])
			file, err := w.file(part.Partition, first)
			if err != nil {
				return err
			}
			if err := file.out.WritePlaced(columns[at]); err != nil {
				return err
			}
		}
		ends := of.Ends()
		maps.Copy(w.ends, ends)
		for partition, end := range ends {
			if file := w.open[partition]; file != nil {
				file.end = end
			}
		}
		return nil
	}, n, err
}

// file is the open file of a partition, which begins with this offset if it is new.
func (w *Logged) file(partition int, first int64) (*openFile, error) {
	if f := w.open[partition]; f != nil {
		return f, nil
	}
	file, err := durable.Create(w.cfg.FS, filepath.Join(w.cfg.Folder, loggedName(w.cfg.Topic, partition, first, first)))
	if err != nil {
		return nil, err
	}
	carries := w.by.CarriedIn(w.cfg.Topic, partition)
	w.open[partition] = &openFile{file: file, out: sink.NewPredictions(file, carries, sink.PlaceColumns(w.cfg.Keep...)...), first: first}
	return w.open[partition], nil
}

func (w *Logged) publish() error {
	for _, partition := range slices.Sorted(maps.Keys(w.open)) {
		f := w.open[partition]
		if err := f.out.Close(); err != nil {
			return err
		}
		if err := w.cfg.About.keep(w.by.Certificate); err != nil {
			return err
		}
		if err := w.keepTopic(); err != nil {
			return err
		}
		if err := f.file.CommitAs(loggedName(w.cfg.Topic, partition, f.first, f.end)); err != nil {
			return err
		}
		delete(w.open, partition)
	}
	return nil
}

// Commit publishes the files, and notes it for those who look there.
func (w *Logged) Commit(ctx context.Context) error {
	if len(w.ends) == 0 {
		return nil
	}
	if err := w.cfg.Same(ctx); err != nil {
		return err
	}
	if err := w.publish(); err != nil {
		return err
	}
	if err := w.cfg.Commit(ctx, w.ends, w.by.Subject); err != nil {
		return err
	}
	w.ends = map[int]int64{}
	return nil
}

// Close gives up what was not committed.
func (w *Logged) Close() {
	for _, f := range w.open {
		f.file.Abort()
	}
}

// topicName is the name of the file beside predictions that names their topic; readers of a
// lake skip it.
func topicName(topic string) string { return "_topic-" + topic + ".json" }

const maxTopicBytes = 1 << 16

// readTopic demands that the topic is that of the folder's predictions, if the folder says it.
func (w *Logged) readTopic(names []string, differs func(was LogID, path string) error) error {
	name := topicName(w.cfg.Topic)
	if w.noted = slices.Contains(names, name); !w.noted {
		return nil
	}
	path := filepath.Join(w.cfg.Folder, name)
	var was LogID
	err := readJSON(w.cfg.FS, path, maxTopicBytes, &was)
	if err == nil && (was.Topic == "" || was.Cluster == "") {
		err = errors.New("it names no topic and no cluster")
	}
	if err != nil {
		return fmt.Errorf("%s: it does not say which topic the predictions are of: %w", path, err)
	}
	return differs(was, path)
}

// keepTopic writes the file, if it is not there and it is known which topic it is.
func (w *Logged) keepTopic() error {
	if w.noted || w.cfg.ID == (LogID{}) {
		return nil
	}
	text, err := json.Marshal(w.cfg.ID)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(w.cfg.FS, filepath.Join(w.cfg.Folder, topicName(w.cfg.Topic)), append(text, '\n')); err != nil {
		return err
	}
	w.noted = true
	return nil
}
