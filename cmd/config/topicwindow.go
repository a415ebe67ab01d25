package config

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A TopicWindow is a frozen window.
type TopicWindow struct {
	Topic      string          `json:"topic"`
	Identity   broker.Identity `json:"identity"` // as far as brokers tell
	Partitions []WindowPart    `json:"partitions"`
}

// A WindowPart is the window of one partition: from its first offset up to, and without,
// its end.
type WindowPart struct {
	Partition int   `json:"partition"`
	First     int64 `json:"first"`
	End       int64 `json:"end"`
}

// A TopicState says where the windows of a job have come to.
type TopicState struct {
	Topic    string          `json:"topic"`
	Identity broker.Identity `json:"identity"`
	// Ends are where the window that was frozen last ends, by partition, or where the first
	// one is to begin; nil: that is where the job says.
	Ends map[int]int64 `json:"ends,omitempty"`
	// Window is frozen and has no certificate yet; nil: there is none that is to have one.
	Window *TopicWindow `json:"window,omitempty"`
}

// With is the state once this window is frozen. Partitions that it leaves out stand where
// they stood.
func (s *TopicState) With(w TopicWindow) *TopicState {
	next := &TopicState{Topic: w.Topic, Identity: w.Identity, Ends: map[int]int64{}, Window: &w}
	if s != nil {
		maps.Copy(next.Ends, s.Ends)
	}
	for _, part := range w.Partitions {
		next.Ends[part.Partition] = part.End
	}
	return next
}

// Without is the state once its window has its certificate, or gets none.
func (s *TopicState) Without() *TopicState {
	next := *s
	next.Window = nil
	return &next
}

// Offsets counts those of a window, markers of transactions and aborted records included.
func (w TopicWindow) Offsets() (n int64) {
	for _, part := range w.Partitions {
		n += part.End - part.First
	}
	return n
}

// Words name the window in a sentence.
func (w TopicWindow) Words() string {
	return fmt.Sprintf("%s of topic %s", certify.Count(w.Offsets(), "offset"), w.Topic)
}

// Numbered names what a number of the sequence belongs to: the window, how its records are
// read, and the software with its instruction set. Two certificates that can differ have two
// numbers.
func (k *Topic) Numbered(w TopicWindow, software string) string {
	return digestOfAll(w, k.digest(k.Config), software)
}

// firstWindow says where the first window of a scheduled job begins. All else of its windows
// the record decides, and no key of the job.
func (k KafkaSection) firstWindow(key string, config *kafkalog.Config, faults *yamlfile.Faults) {
	for _, c := range []struct {
		key   string
		given bool
	}{
		{"to", k.To.word != "" || k.To.offsets != nil},
		{"rows", k.Rows != 0},
		{"for", k.For != 0},
		{"group", k.Group != ""},
	} {
		faults.Unless(!c.given, key+"."+c.key, "windows of a schedule begin where the one before ended, by the record, and end at what is committed when their run begins: leave it out")
	}
	var err error
	config.From, err = k.From.of(k.Partitions, broker.Earliest)
	faults.Unless(err == nil, key+".from", "%v", err)
	faults.Unless(config.From.Time != kafkalog.Committed, key+".from", "windows of a schedule go by its record and not by the offsets of a group: leave it out, or say where the first one begins: earliest, latest, a time, or a list of offsets")
	config.To = kafkalog.Position{Time: broker.Latest}
}

// suitsTopic reports what a schedule cannot do with a job on a topic.
func (j *ScheduledTask) suitsTopic(at string, faults *yamlfile.Faults) {
	faults.Unless(j.Files.Which == "" || j.Files.Which == FilesNew, at+".files", "windows of a topic follow one another, which is new: leave it out")
	j.Files.Which = FilesNew
	faults.Unless(j.Promote.Rule != PromoteRows, at+".promote", "on_new_rows reads files that no run has had, and rows of a topic are read by the next run only: take bound_not_worse_by")
	for k, t := range j.Triggers {
		faults.Unless(t.Rows == 0, fmt.Sprintf("%s.triggers[%d].rows", at, k), "brokers do not tell how many rows a topic has: write {lag: %d}, which counts offsets", t.Rows)
		faults.Unless(t.Files == 0, fmt.Sprintf("%s.triggers[%d].files", at, k), "the rows come from a topic: write {lag: 100000}, which counts offsets")
	}
}

// hintAnew says what to do when windows cannot follow one another.
const hintAnew = "(hint: give the job another name and output; source.kafka.from says where its first window begins)"

// Ahead is the window that a run would have now. No row is read.
func (k *Topic) Ahead(ctx context.Context, stand *TopicState, patience time.Duration) (w TopicWindow, err error) {
	if stand == nil {
		stand = &TopicState{Topic: k.Topic}
	}
	if stand.Topic != k.Topic {
		return w, fmt.Errorf("%w: source.kafka.topic: it is %q, and the windows before are of %q %s", pipeline.ErrConfig, k.Topic, stand.Topic, hintAnew)
	}
	cluster := k.Cluster()
	if patience > 0 {
		cluster.Patience, cluster.Told = min(cmp.Or(cluster.Patience, yamlfile.Duration(patience)), yamlfile.Duration(patience)), nil
	}
	cfg := k.Config
	if cfg.Client, err = cluster.Client(); err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, cfg.Client.Close()) }()
	there, err := cfg.Client.Partitions(ctx, k.Topic)
	if err != nil {
		return w, err
	}
	w.Topic = k.Topic
	if w.Identity, err = cfg.Client.Identity(ctx, k.Topic); err != nil {
		return w, err
	}
	if err = w.Identity.Same(stand.Identity, k.Topic, "the one that the windows before are of"); err != nil {
		return w, fmt.Errorf("%w %s", err, hintAnew)
	}
	if w.Identity == (broker.Identity{}) { // a broker of an older version
		w.Identity = stand.Identity
	}
	if stand.Ends != nil {
		for p := range stand.Ends {
			if !slices.Contains(there, p) {
				return w, fmt.Errorf("kafka: topic %q has no partition %d, of which windows before have rows: it was made anew %s", k.Topic, p, hintAnew)
			}
		}
		if cfg.From, err = cfg.Following(ctx, stand.Ends); err != nil {
			return w, err
		}
	}
	firsts, ends, err := cfg.Freeze(ctx)
	if errors.Is(err, kafkalog.ErrGone) || err != nil && stand.Ends != nil && !broker.Temporary(err) {
		err = fmt.Errorf("%w: the next window was to begin there %s", err, hintAnew)
	}
	for _, p := range slices.Sorted(maps.Keys(firsts)) {
		w.Partitions = append(w.Partitions, WindowPart{p, firsts[p], ends[p]})
	}
	return w, err
}

// Within is the origin of the rows of a frozen window.
func (k *Topic) Within(w TopicWindow, output string) *Topic {
	one := &Topic{KafkaSection: k.KafkaSection, Config: k.Config, Letters: k.Letters, file: k.file}
	c := &one.Config
	c.Identity, c.Partitions = w.Identity, nil
	c.From, c.To = kafkalog.Position{Offsets: map[int]int64{}}, kafkalog.Position{Offsets: map[int]int64{}}
	for _, part := range w.Partitions {
		c.Partitions = append(c.Partitions, part.Partition)
		c.From.Offsets[part.Partition], c.To.Offsets[part.Partition] = part.First, part.End
	}
	c.Folder = filepath.Join(cmp.Or(k.Spool.Folder, output), spoolPrefix+digestOfAll(w, k.digest(k.Config))[:16])
	return one
}

func digestOfAll(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic("pacsgp: " + err.Error()) // plain values: two windows must never have one name
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
