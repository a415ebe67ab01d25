package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A KafkaSection declares the window of a topic.
type KafkaSection struct {
	TopicSection `yaml:",inline"`

	Partitions []int    `yaml:"partitions"`
	From       position `yaml:"from"`
	To         position `yaml:"to"`
	Rows       int64    `yaml:"rows"`

	spool SpoolSection // of the source
}

// A TopicSection declares a topic of rows, and the form of its records.
type TopicSection struct {
	Topic  string `yaml:"topic"`
	Group  string `yaml:"group"`
	Format string `yaml:"format"`
	Schema string `yaml:"schema"`

	Cluster Cluster // of the file
}

// A SpoolSection declares the folder of consumed rows, and its limit.
type SpoolSection struct {
	Folder string        `yaml:"folder"`
	Limit  yamlfile.Size `yaml:"limit"`
	Keep   bool          `yaml:"retain"`
}

// declared reports whether the section is there.
func (k KafkaSection) declared() bool { return !reflect.ValueOf(k).IsZero() }

func (k *TopicSection) files() []*string {
	return []*string{&k.Schema}
}

// relativePaths makes relative paths relative to a folder, except addresses of stores, which
// are refused later.
func relativePaths(folder string, paths ...[]*string) {
	for _, p := range slices.Concat(paths...) {
		if *p != "" && !filepath.IsAbs(*p) && !isRemote(*p) {
			*p = filepath.Join(folder, *p)
		}
	}
}

// topic is the window of a topic for a job.
func (s SourceSection) topic(job job.Job, output string, faults *yamlfile.Faults) Origin {
	const key = "source.kafka"
	k := s.Kafka
	k.spool = s.Spool
	k.check(key, faults)
	config := kafkalog.Config{
		Topic: k.Topic, Partitions: k.Partitions, Format: k.Format, Tolerant: job.Rejected.Some(), Encoded: job.Encode, Limit: int64(s.Spool.Limit),
	}
	if s.scheduled {
		k.firstWindow(key, &config, faults)
	} else {
		k.window(key, &config, faults)
	}
	faults.Unless(s.deadLetters == "" || s.deadLetters != k.Topic, "rejected.to", "%s is the topic of the rows; name another topic", s.deadLetters)
	config.DeadLetters = s.deadLetters != ""
	config.Columns = spooledColumns(job, "the records of a topic", faults)
	config.Folder = s.Spool.Folder
	if config.Folder == "" {
		config.Folder = filepath.Join(output, spoolPrefix+k.digest(config))
	}
	return &Topic{KafkaSection: k, Config: config, file: s.file, DeadLetters: s.deadLetters}
}

// window sets the beginning and the end of a job's only window, or of one of a stream.
func (k KafkaSection) window(key string, config *kafkalog.Config, faults *yamlfile.Faults) {
	var err error
	open := k.Rows != 0
	faults.Unless(k.Rows >= 0, key+".rows", "%d is negative", k.Rows)
	faults.Unless(!open || k.To == "", key, "rows and to both end the window; name one of them")
	config.Rows = k.Rows
	begin := broker.Earliest
	if open && k.Group != "" {
		begin = kafkalog.Committed
	}
	config.From, err = k.From.of(begin)
	faults.Unless(err == nil, key+".from", "%v", err)
	config.To, err = k.To.of(broker.Latest)
	faults.Unless(err == nil, key+".to", "%v", err)
	faults.Unless(config.To.Time != kafkalog.Committed, key+".to", "a window begins, and does not end, at what is committed")
	faults.Unless(config.From.Time != kafkalog.Committed || k.Group != "", key+".from", "committed by which group? name it under group")
	config.Group = k.Group
}

// check adds the faults of the topic and of the form of its records.
func (k TopicSection) check(key string, faults *yamlfile.Faults) {
	faults.Unless(k.Topic != "", key+".topic", "name the topic")
	faults.Unless(k.Format == "" || slices.Contains(kafkalog.Formats, k.Format), key+".format", "%q is none of "+strings.Join(kafkalog.Formats, ", "), k.Format)
	const ofAvro = "it is only for format: avro; leave it out"
	faults.Unless(k.Schema == "" || k.Format == kafkalog.FormatAvro, key+".schema", ofAvro)
	faults.Unless(k.Cluster.Registry == "" || k.Format == kafkalog.FormatAvro, "kafka.registry", ofAvro)
	faults.Unless(k.Format != kafkalog.FormatAvro || k.Schema != "" || k.Cluster.Registry != "", key+".format", "avro needs the schema of the records: declare schema, or kafka.registry")
	faults.Unless(k.Schema == "" || k.Cluster.Registry == "", key+".schema", "schema and kafka.registry are both declared; name one of them")
}

// spooledColumns are the features and the target of a job.
func spooledColumns(job job.Job, what string, faults *yamlfile.Faults) (columns []string) {
	faults.Unless(job.Features != nil, "features", "name them, because %s need not all have the same members", what)
	for _, name := range slices.Concat(job.Features, job.NotAFeature(), []string{job.Target}) {
		if !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	return columns
}

// spoolPrefix begins the names of spools in an output directory.
const spoolPrefix = "_spool-"

// digest names the window among those of an output.
func (k KafkaSection) digest(c kafkalog.Config) string {
	return digest.OfValues(k.Topic, k.Partitions, k.From, k.To, k.Format, k.Schema, k.Cluster.Registry, k.Rows, c.Columns, c.Tolerant, c.DeadLetters)[:16]
}

// A Topic is the window of a topic. It is consumed into its spool at its first opening; all openings read
// the spool.
type Topic struct {
	KafkaSection
	Config      kafkalog.Config
	DeadLetters string            // topic for records of rejected rows, or ""
	file        string            // job file
	segments    []dataset.Segment // to replay; nil: the window is a new one
	temporary   bool              // the spool is removed after reading
	frozen      *kafkalog.Window  // nil before spooling
	lock        io.Closer
}

// Open opens the window, after consuming it into its spool if necessary.
func (k *Topic) Open(ctx context.Context, want dataset.Choice) (dataset.Opened, error) {
	if k.frozen == nil {
		if k.Config.Columns == nil {
			if k.Config.Columns = slices.Clone(want.Features); want.Target != "" {
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

// consume consumes the window into its spool.
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
	if k.temporary { // it sends nothing
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

// makeFolder makes the folder of the spool: a temporary one, or the declared one with a lock.
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

// others are the spools of other windows in an output directory. Failed jobs that were changed
// leave them.
func (k *Topic) others(output string) (found []string) {
	all, _ := os.ReadDir(output) // the run reports a folder that cannot be read
	for _, e := range all {
		if path := filepath.Join(output, e.Name()); strings.HasPrefix(e.Name(), spoolPrefix) && path != filepath.Clean(k.Config.Folder) {
			found = append(found, path)
		}
	}
	return found
}

// Finds returns "": no file is read by its name.
func (k *Topic) Finds(string) string { return "" }

// Arguments name these rows on a command line.
func (k *Topic) Arguments() []string { return []string{"--source", k.file} }

// Replay is the origin of the rows of a certificate.
func (k *Topic) Replay(c certify.Certificate) (Origin, error) {
	if len(c.Sample.Segments) == 0 {
		return nil, errors.New("the certificate names no segments of a topic: its rows were not read from one; give the data")
	}
	for _, s := range c.Sample.Segments {
		if s.Topic != k.Topic || k.Partitions != nil && !slices.Contains(k.Partitions, int(s.Partition)) {
			return nil, fmt.Errorf("%w: the certificate speaks of rows of topic %q, partition %d, which source.kafka does not name", job.ErrRefused, s.Topic, s.Partition)
		}
	}
	again := &Topic{KafkaSection: k.KafkaSection, Config: k.Config, file: k.file, temporary: true, segments: c.Sample.Segments}
	again.Config.Columns = slices.Clone(c.Sample.Columns)
	return again, nil
}

// Release removes the spool, unless another run of the job can resume it.
func (k *Topic) Release(published bool) (err error) {
	if k.lock != nil {
		err, k.lock = k.lock.Close(), nil
	}
	if k.Config.Client == nil { // nothing was spooled
		return err
	}
	done := published && !k.spool.Keep && k.frozen != nil
	// A frozen window without rows would have none in later runs either.
	empty := k.frozen != nil && k.frozen.Rows() == 0
	if published {
		k.Config.Quota.Release(k.Config.Folder)
	}
	if k.temporary || done || empty {
		err = errors.Join(err, kafkalog.Remove(k.Config.Folder))
	}
	return err
}
