package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// Overrides are a command's changes to a job file: from flags, or because a schedule runs it.
type Overrides struct {
	Output string
	Budget

	scheduled bool // a schedule sets the windows of the topic
}

// An Environment has what reading a file needs from its caller.
type Environment struct {
	Lookup  func(string) (string, bool) // variables of the environment
	Warning func(string)                // called with the reason for a wait

	Offline bool // checks must not open sources
}

// A Task is a job file, ready to run, with defaults: the job, the origin of its rows, and where its results go.
type Task struct {
	JobFile

	Job       job.Job
	Source    Origin
	PublishTo *ArtifactTopics // nil if artifacts go to the output only
	Resources job.Resources
	file      *yamlfile.File // nil if the task was not read from a file
}

// ReadJob reads a job file, applies the overrides, and finds all faults without reading rows.
func ReadJob(_ context.Context, path string, env Environment, o Overrides) (Task, error) {
	c, t, err := readConfiguration[JobFile](path, env.Lookup)
	if err != nil {
		return Task{}, err
	}
	c.relativeTo(filepath.Dir(path))
	c.Source.file, c.Source.scheduled = path, o.scheduled
	c.Kafka.Warning = env.Warning
	c.Output, c.Workers, c.Memory = cmp.Or(o.Output, c.Output), cmp.Or(o.Workers, c.Workers), cmp.Or(o.Memory, c.Memory)
	p, faults := c.task()
	p.file = t
	return p, t.Merge(faults)
}

// NewTask returns the task of a job file, with defaults. Its error joins all faults.
func NewTask(c JobFile) (Task, error) {
	p, faults := c.task()
	return p, faults.Err(job.ErrConfig)
}

// task sets defaults and finds all faults.
func (c JobFile) task() (Task, yamlfile.Faults) {
	errConfig := job.ErrConfig.Error() + ": "
	job, err := c.job().WithDefaults()
	var faults yamlfile.Faults
	for _, one := range yamlfile.Separate(err) {
		key, text, _ := strings.Cut(strings.TrimPrefix(one.Error(), errConfig), ": ")
		faults.Add(key, "%s", text)
	}
	faults.Unless(!c.Loss.Epsilon.percent || c.Loss.Kind == string(certify.LossRelativeZeroOne), "loss.epsilon", "a share of the target goes with loss.kind "+string(certify.LossRelativeZeroOne))
	c.Source.deadLetters = c.Rejected.To.topic
	rows := c.Source.Kafka.declared()
	c.Kafka.check(rows || c.Publish.Kafka != (topicsConfig{}), &faults)
	if rows {
		c.Source.Kafka.Cluster = c.Kafka
	}
	from := c.Source.origin(job, c.Output, &faults)
	to := c.artifactTopics(&faults)
	_, files := from.(Lake)
	faults.Unless(files || len(job.Unit.Columns) == 0, "unit", "it is of rows of files; take a job of files, or leave it out")
	faults.Unless(files || job.Groups.Texts == nil, "groups", "texts are read of files; take a job of files, or numbers")
	faults.Unless(!isRemote(string(c.Sign)), "sign", "%s: "+wantLocal, c.Sign)
	faults.Unless(c.Output != "", "output", "name the directory for model and certificate")
	if source := cmp.Or(from.Finds(objects.Join(c.Output, sinklake.ModelName("0"))), from.Finds(objects.Join(c.Output, sinklake.RowName("0")))); c.Output != "" && source != "" {
		faults.Add("output", "%s is inside the source %s, which would find the model; choose a directory outside it, or a name that begins with _ or .", c.Output, source)
	}
	bad := c.Rejected.To
	faults.Unless(!isRemote(bad.path), "rejected.to", "%s: "+wantLocal, bad.path)
	faults.Unless(bad == (rejectedTo{}) || c.Rejected.Limit > 0, "rejected.to", "no rejected row is tolerated: give rejected.limit, the largest share of rows that may be bad")
	if bad.path != "" && !isRemote(bad.path) {
		err := mayMake(bad.path, from)
		faults.Unless(err == nil, "rejected.to", "%v", err)
	}
	faults.Unless(c.Grid == "" || c.Grid == paperGrid, "grid", "%q is no grid: leave it out, or write %s", c.Grid, paperGrid)
	faults.Unless(c.Retain >= 0, "retain", "want the number of runs to keep, not %d", c.Retain)
	resources := c.Resources()
	resources.Checkpoint = cmp.Or(time.Duration(c.Checkpoint), resources.Checkpoint)
	c.Require.Of = cmp.Or(c.Require.Of, certify.PredictorMean)
	c.Stream.check(&faults)
	c.Serve.check(&faults)
	p := Task{JobFile: c, Job: job, Source: from, PublishTo: to, Resources: resources}
	if isRemote(c.Output) {
		faults.Unless(objects.CheckOutput(c.Output) == nil, "output", "%s: want a path of this machine or s3://BUCKET/PATH, with two slashes and without a user or a query", objects.Shown(c.Output))
		faults.Unless(files && !c.Source.scheduled && !p.hasStreamKeys(), "output", "%s: only a job of files that pacsgp train runs publishes to a store; name a directory", objects.Shown(c.Output))
	}
	if p.hasStreamKeys() && !c.Source.scheduled {
		p.checkStream(&faults)
	}
	return p, faults
}

// Open opens the source with the columns of the job. spooled, if not nil, is called with the number of spooled rows.
func (p Task) Open(ctx context.Context, spooled func(rows int64)) (dataset.Opened, error) {
	src, err := dataset.Open(ctx, p.Job, p.Source, nil, p.Resources, spooled)
	if err != nil {
		return nil, p.Located(err, p.Job)
	}
	return src, nil
}

// artifactTopics returns the topics of the section publish, or nil if there is none.
func (c JobFile) artifactTopics(faults *yamlfile.Faults) *ArtifactTopics {
	const key = "publish.kafka"
	k, group := c.Publish.Kafka, c.Source.Kafka.Group
	if c.Source.scheduled {
		group = ""
	}
	if reflect.ValueOf(k).IsZero() {
		faults.Unless(group == "", "source.kafka.group", "its offsets are committed with what is published, so declare publish.kafka")
		return nil
	}
	s := &ArtifactTopics{Cluster: c.Kafka, Topics: kafkalog.TopicsOf(k.Topics), Name: k.Name, group: group, sign: c.Sign}
	faults.Unless(!strings.HasPrefix(k.Name, "score/") && !strings.HasPrefix(k.Name, "sequence/") && !partitionName.MatchString(k.Name), key+".name", "names that begin with score/ or sequence/, or end in a slash and a number, are reserved")
	faults.Unless(k.Name != "" && !strings.ContainsAny(k.Name, "\n\r") && len(k.Name) <= 200 && !digest.Is(k.Name), key+".name", "name the model, under which consumers find the current one")
	return s
}

// partitionName matches the names of pointers in a shared group.
var partitionName = regexp.MustCompile(`/[0-9]+$`)

// Publisher returns what publishes besides the output, or nil.
func (p Task) Publisher() pipeline.Publisher {
	if p.PublishTo == nil {
		return nil
	}
	return &publisher{ArtifactTopics: p.PublishTo, source: p.Source, required: p.Require.Of}
}

// MakeTopics makes the topics of a job, with one partition and the cluster's default number of replicas.
func (p Task) MakeTopics(ctx context.Context, report func(topic string, made bool)) (err error) {
	const partitions, replicas = 1, -1
	var cluster Cluster
	from, _ := p.Source.(*Topic)
	deadLetters := from != nil && from.DeadLetters != ""
	switch {
	case p.PublishTo != nil:
		cluster = p.PublishTo.Cluster
	case deadLetters:
		cluster = from.Cluster
	default:
		return fmt.Errorf("%w: publish.kafka: the job publishes to no topic", job.ErrConfig)
	}
	client, err := cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	if p.PublishTo != nil {
		if err := kafkalog.Create(ctx, client, p.PublishTo.Topics, partitions, replicas, report); err != nil {
			return err
		}
	}
	if deadLetters {
		made, err := client.CreateTopic(ctx, from.DeadLetters, partitions, replicas, nil)
		if err != nil {
			return err
		}
		report(from.DeadLetters, made)
	}
	return nil
}

// hasStreamKeys reports whether a job has keys that only a stream uses. A job without them can stream too.
func (p Task) hasStreamKeys() bool {
	return p.Stream.declared() || p.Serve.Declared()
}

// checkStream adds the faults of a job that cannot stream.
func (p Task) checkStream(faults *yamlfile.Faults) {
	faults.Unless(p.Rejected.To.path == "", "rejected.to", "a stream sends rejected rows to a topic, as in {kafka: rows-dead}: a file would be that of the last window")
	faults.Unless(p.Stream.Promote.Within == 0 || p.Job.Loss.EpsilonStd == 0, "stream.promote", "a tolerance in standard deviations is another one in each window, and certificates of different tolerances cannot be compared: give loss.epsilon in the target's units")
	faults.Unless(p.Job.Train.Time == 0, "train.time", "a resumed window must give the same certificate, and a time limit could change it: limit training by train.passes")
	faults.Unless(p.PublishTo != nil, "publish.kafka", "name the model, as in {name: delays}: a stream publishes to topics")
	from, ok := p.Source.(*Topic)
	if !ok {
		faults.Add("source.kafka", "name the topic and the group: a stream reads a topic")
		return
	}
	const key = "source.kafka"
	size := from.KafkaSection.Rows
	faults.Unless(size > 0, key+".rows", "choose the number of rows of a window, as in 100000")
	if size > 0 && len(p.Job.Features) > 0 {
		err := p.Job.CheckRows(slices.Concat(p.Job.Features, p.Job.NotAFeature(), []string{p.Job.Target}), size)
		faults.Unless(err == nil, key+".rows", "a window of so many rows is too small: %v", err)
	}
	faults.Unless(from.Group != "", key+".group", "name the group whose offsets say what has been certified")
	faults.Unless(from.From == "", key+".from", "a stream begins at the committed offsets of its group, or at the earliest one")
	faults.Unless(from.spool.Limit > 0, "source.spool.limit", "give the disk space for spools, as in 10GB; nothing is consumed while they are full")
	faults.Unless(from.spool.Folder == "", "source.spool.folder", "the spools of a stream are in its output")
	faults.Unless(!p.Stream.Shared() || from.Partitions == nil, key+".partitions", "leave it out: a shared group divides all partitions of the topic among its members")
	if from.Group != "" {
		err := certify.Name("name of the sequence", from.Topic+"/"+from.Group)
		faults.Unless(err == nil, key+".group", "%v", err)
	}
}
