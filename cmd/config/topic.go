package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// A Topic is a window of a topic. The first Open consumes it into its spool; every Open reads the spool.
type Topic struct {
	KafkaSection
	Config      kafkalog.Config
	DeadLetters string            // topic for records of rejected rows; "" for none
	file        string            // path of the job file
	segments    []dataset.Segment // segments to replay; nil for a new window
	temporary   bool              // Release removes the spool
	frozen      *kafkalog.Window  // nil before spooling
	lock        io.Closer
}

// Open opens the window. If necessary, it first consumes it into its spool.
func (k *Topic) Open(ctx context.Context, want dataset.Choice) (dataset.Opened, error) {
	if k.frozen == nil {
		if k.Config.Columns == nil {
			if k.Config.Columns = slices.Concat(want.Features, want.Behind); want.Target != "" {
				k.Config.Columns = append(k.Config.Columns, want.Target)
			}
		}
		k.Config.Progress = want.Spooled
		if err := k.consume(ctx); err != nil {
			return nil, err
		}
	}
	return k.frozen.Open(ctx, want)
}

func (k *Topic) consume(ctx context.Context) (err error) {
	waits := func(err error) {
		if err != nil && k.Cluster.Warning != nil {
			k.Cluster.Warning(err.Error())
		}
	}
	if err := k.Schemas(waits); err != nil {
		return err
	}
	if k.Config.Client, err = k.Cluster.Client(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Config.Client.Close()) }()
	if k.temporary { // then no dead letters are sent
		k.Config.DeadLetters = false
	}
	if k.Config.DeadLetters {
		if _, err := k.Config.Client.Partitions(ctx, k.DeadLetters); err != nil {
			return fmt.Errorf("rejected.to: %w (hint: pacsgp topics -c job.yaml makes it)", err)
		}
	}
	if err := k.makeFolder(); err != nil {
		return err
	}
	if k.segments != nil {
		k.frozen, err = kafkalog.Replay(ctx, k.Config, k.segments)
	} else {
		k.frozen, err = kafkalog.Spool(ctx, k.Config)
	}
	return err
}

// maxSchemaFile bounds a file with a schema, in bytes.
const maxSchemaFile = 1 << 20

// Schemas reads the declared schema, or prepares a client of the registry. waits is called with the
// reason when a wait for the registry begins, and with nil when it ends.
func (k *Topic) Schemas(waits func(err error)) error {
	switch {
	case k.Schema != "":
		text, err := durable.ReadSmall(k.Schema, "an Avro schema", maxSchemaFile)
		k.Config.Schema = string(text)
		return err
	case k.Cluster.Registry != "":
		client, err := k.Cluster.Registry.client()
		k.Config.Registry = &kafkalog.Schemas{Client: client, Patience: cmp.Or(time.Duration(k.Cluster.Patience), time.Minute), Waits: waits}
		return err
	default:
		return nil
	}
}

// makeFolder makes the folder of the spool: a temporary one, or the declared one, which it locks.
func (k *Topic) makeFolder() (err error) {
	if k.temporary {
		k.Config.Folder, err = os.MkdirTemp("", "pacsgp-spool-")
		return err
	}
	files := durable.OS{}
	if err := files.MkdirAll(k.Config.Folder); err != nil {
		return err
	}
	k.lock, err = files.Lock(filepath.Join(k.Config.Folder, ".lock"))
	if errors.Is(err, durable.ErrLocked) {
		err = pipeline.ErrHeld
	}
	if err != nil {
		err = fmt.Errorf("spool: %w", err)
	}
	return err
}

// others returns the spools of other windows in an output directory. A job that failed and was then
// changed leaves its spool there.
func (k *Topic) others(output string) (found []string) {
	all, _ := os.ReadDir(output) // if the folder cannot be read, the run reports it
	for _, e := range all {
		if path := filepath.Join(output, e.Name()); strings.HasPrefix(e.Name(), spoolPrefix) && path != filepath.Clean(k.Config.Folder) {
			found = append(found, path)
		}
	}
	return found
}

// Finds returns "": the rows are not read from files by name.
func (k *Topic) Finds(string) string { return "" }

// Arguments returns how a command line names these rows.
func (k *Topic) Arguments() []string { return []string{"--source", k.file} }

// Replay returns the origin of the rows of a certificate.
func (k *Topic) Replay(c certify.Certificate) (Origin, error) {
	if len(c.Sample.Segments) == 0 {
		return nil, errors.New("the certificate names no segments of a topic: its rows were not read from one; give the data")
	}
	for _, s := range c.Sample.Segments {
		if s.Topic != k.Topic || k.Partitions != nil && !slices.Contains(k.Partitions, int(s.Partition)) {
			return nil, fmt.Errorf("%w: the certificate is about rows of topic %q, partition %d, which source.kafka does not name", job.ErrRefused, s.Topic, s.Partition)
		}
	}
	again := &Topic{KafkaSection: k.KafkaSection, Config: k.Config, file: k.file, temporary: true, segments: c.Sample.Segments}
	again.Config.Columns = slices.Clone(c.Sample.Columns)
	return again, nil
}

// Release unlocks the spool, and removes it unless a later run of the job can resume it.
func (k *Topic) Release(published bool) (err error) {
	if k.lock != nil {
		err, k.lock = k.lock.Close(), nil
	}
	if k.Config.Client == nil { // nothing was spooled
		return err
	}
	done := published && !k.spool.Retain && k.frozen != nil
	// A frozen window without rows stays without rows.
	empty := k.frozen != nil && k.frozen.Rows() == 0
	if published {
		k.Config.Quota.Release(k.Config.Folder)
	}
	if k.temporary || done || empty {
		err = errors.Join(err, kafkalog.Remove(k.Config.Folder))
	}
	return err
}

// hintAgain is the hint for windows that cannot continue earlier ones.
const hintAgain = "(hint: give the job another name and output; source.kafka.from says where its first window begins)"

// Next returns the window of a scheduled run that begins now. It reads no rows.
func (k *Topic) Next(ctx context.Context, before *pipeline.Windows, patience time.Duration) (w pipeline.TopicWindow, err error) {
	defer func() {
		if err != nil && broker.Temporary(err) {
			err = away{err}
		}
	}()
	before = cmp.Or(before, &pipeline.Windows{Topic: k.Topic})
	if before.Topic != k.Topic {
		return w, fmt.Errorf("%w: source.kafka.topic: it is %q, and the windows before are of %q %s", job.ErrConfig, k.Topic, before.Topic, hintAgain)
	}
	cluster := k.Cluster
	if patience > 0 {
		cluster.Patience, cluster.Warning = min(cmp.Or(cluster.Patience, yamlfile.Duration(patience)), yamlfile.Duration(patience)), nil
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
	identity, err := cfg.Client.Identity(ctx, k.Topic)
	if err != nil {
		return w, err
	}
	if err = identity.Same(broker.Identity(before.Identity), k.Topic, "the one that the windows before are of"); err != nil {
		return w, fmt.Errorf("%w %s", err, hintAgain)
	}
	if w.Identity = pipeline.TopicIdentity(identity); identity == (broker.Identity{}) { // brokers report no ids
		w.Identity = before.Identity
	}
	if before.Ends != nil {
		for p := range before.Ends {
			if !slices.Contains(there, p) {
				return w, fmt.Errorf("topic %q has no partition %d, of which windows before have rows: it was made again %s", k.Topic, p, hintAgain)
			}
		}
		if cfg.From, err = cfg.Following(ctx, before.Ends); err != nil {
			return w, err
		}
	}
	w.Partitions, err = cfg.Freeze(ctx)
	if _, gone := errors.AsType[*kafkalog.GoneError](err); gone || err != nil && before.Ends != nil && !broker.Temporary(err) {
		err = fmt.Errorf("%w: the next window was to begin there %s", err, hintAgain)
	}
	return w, err
}

// within returns the origin of the rows of a frozen window.
func (k *Topic) within(w pipeline.TopicWindow) *Topic {
	one := &Topic{KafkaSection: k.KafkaSection, Config: k.Config, file: k.file, DeadLetters: k.DeadLetters}
	c := &one.Config
	c.Identity, c.Partitions = broker.Identity(w.Identity), nil
	c.From, c.To = kafkalog.Position{Offsets: map[int]int64{}}, kafkalog.Position{Offsets: map[int]int64{}}
	for _, part := range w.Partitions {
		c.Partitions = append(c.Partitions, part.Partition)
		c.From.Offsets[part.Partition], c.To.Offsets[part.Partition] = part.First, part.End
	}
	c.Folder = filepath.Join(cmp.Or(k.spool.Folder, filepath.Dir(k.Config.Folder)), spoolPrefix+k.Digest(w)[:16])
	return one
}

// away is a temporary error of brokers.
type away struct{ error }

func (a away) Unwrap() []error { return []error{a.error, schedule.ErrAway} }

// Name returns the name of the topic.
func (k *Topic) Name() string { return k.Topic }

// AtLatest reports whether the first window of a schedule begins at the latest offset.
func (k *Topic) AtLatest() bool {
	from := k.Config.From
	return from.Offsets == nil && from.Time == broker.Latest
}

// Digest identifies a window and how its records are read.
func (k *Topic) Digest(w pipeline.TopicWindow) string { return digest.OfValues(w, k.digest(k.Config)) }

// Rows returns the rows of a frozen window.
func (k *Topic) Rows(w pipeline.TopicWindow) dataset.Rows { return k.within(w) }

// Discard removes the spool of a window, unless the job retains spools.
func (k *Topic) Discard(w pipeline.TopicWindow) error {
	if k.spool.Retain {
		return nil
	}
	return kafkalog.Remove(k.within(w).Config.Folder)
}
