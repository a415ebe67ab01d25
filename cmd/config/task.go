package config

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// Overrides are the changes of a command to a job file: flags, and that a schedule runs it.
type Overrides struct {
	Output string
	Budget

	scheduled bool // a schedule sets its windows
}

// An Environment is the environment of a file.
type Environment struct {
	Lookup  func(string) (string, bool) // variables of the environment
	Warning func(string)                // gets the reason for a wait

	Offline bool // a check opens no source
}

// An ArgumentError is a fault of a command's arguments.
type ArgumentError struct{ error }

// Argument makes an error one of the arguments.
func Argument(err error) error { return ArgumentError{err} }

// Unwrap returns the fault.
func (e ArgumentError) Unwrap() error { return e.error }

// A Task is a runnable job file: the job, the origin of its rows and the locations of its results.
type Task struct {
	Job       job.Job
	Source    Origin
	PublishTo *ArtifactTopics // nil: nothing is published next to the output
	Output    string
	Sign      sign.KeyFile // of certificates, on topics too
	Rejected  string       // file for rejected rows, or ""
	Stream    Stream
	Serve     Serve
	Require   Require
	Resources job.Resources
	Keep      int            // finished runs whose artifacts stay; 0: all
	Folder    string         // of the job file
	file      *yamlfile.File // that it was read from; nil: from none
}

// ReadJob reads a job, applies the flags, and finds all faults before a row is read.
func ReadJob(_ context.Context, path string, env Environment, o Overrides) (Task, error) {
	c, t, err := readConfiguration[JobFile](path, env.Lookup)
	if err != nil {
		return Task{}, err
	}
	c.relativeTo(filepath.Dir(path))
	c.Source.file, c.Source.scheduled = path, o.scheduled
	c.Kafka.Warning = env.Warning
	o.apply(&c)
	p, faults := c.task()
	p.file = t
	return p, t.Merge(faults)
}

// NewTask fills in the defaults. Its error joins all faults.
func NewTask(c JobFile) (Task, error) {
	p, faults := c.task()
	return p, faults.Err(job.ErrConfig)
}

// setCluster gives the topic of rows its cluster.
func (c *JobFile) setCluster(faults *yamlfile.Faults) {
	rows := c.Source.Kafka.declared()
	c.Kafka.check(rows || c.Publish.Kafka != (topicsConfig{}), faults)
	if rows {
		c.Source.Kafka.Cluster = c.Kafka
	}
}

// task fills in the defaults and finds all faults.
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
	c.setCluster(&faults)
	from := c.Source.origin(job, c.Output, &faults)
	to := c.artifactTopics(&faults)
	_, files := from.(Lake)
	faults.Unless(files || len(job.Unit.Columns) == 0, "unit", "it is of rows of files; take a job of files, or leave it out")
	faults.Unless(files || job.Groups.Texts == nil, "groups", "texts are read of files; take a job of files, or numbers")
	faults.Unless(!isRemote(c.Sign), "sign", "%s: "+wantLocal, c.Sign)
	faults.Unless(c.Output != "", "output", "name the directory for model and certificate")
	if source := hides(from, c.Output); source != "" {
		faults.Add("output", insideSource(source), c.Output, source)
	}
	bad := c.Rejected.To
	faults.Unless(!isRemote(bad.path), "rejected.to", "%s: "+wantLocal, bad.path)
	faults.Unless(bad == (rejectedTo{}) || c.Rejected.Tolerance > 0, "rejected.to", "no rejected row is tolerated: give rejected.limit, the largest share of rows that may be bad")
	if bad.path != "" && !isRemote(bad.path) {
		if err := mayMake(bad.path, from); err != nil {
			faults.Add("rejected.to", "%v", err)
		}
	}
	faults.Unless(c.Grid == "" || c.Grid == paperGrid, "grid", "%q is no grid: leave it out, or write %s", c.Grid, paperGrid)
	faults.Unless(c.Keep >= 0, "retain", "%d is negative", c.Keep)
	resources := c.Resources()
	resources.Checkpoint = cmp.Or(time.Duration(c.Checkpoint), resources.Checkpoint)
	p := Task{
		Job: job, Source: from, PublishTo: to, Output: c.Output, Sign: sign.KeyFile(c.Sign), Rejected: bad.path, Stream: c.Stream, Serve: c.Serve,
		Keep: c.Keep, Folder: c.Folder,
		Require: Require{Of: cmp.Or(c.Require.Of, pipeline.RequirePrediction), Limit: c.Require.Limit}, Resources: resources,
	}
	p.Stream.check(&faults)
	p.Serve.check(&faults)
	if isRemote(c.Output) {
		faults.Unless(objects.CheckOutput(c.Output) == nil, "output", "%s: want a path of this machine or s3://BUCKET/PATH, with two slashes and without a user or a query", objects.Shown(c.Output))
		faults.Unless(files && !c.Source.scheduled && !p.goesOn(), "output", "%s: only a job of files that pacsgp train runs publishes to a store; name a directory", objects.Shown(c.Output))
	}
	if p.goesOn() && !c.Source.scheduled {
		p.mustGoOn(&faults)
	}
	return p, faults
}

const wantLocal = "want a path of this machine: only sources and outputs are in stores; mount it, or copy the files"

// isRemote reports whether a path is the address of a store.
func isRemote(path string) bool { return objects.IsAddress(path) }

// insideSource is the format of a fault about an output directory and the source.
func insideSource(source string) string {
	if strings.ContainsAny(source, "*?[") {
		return "the source %[2]s would find the model in %[1]s; choose another directory"
	}
	return "%s is inside the source %s, whose subdirectories are read; choose a directory outside it, or a name that begins with _ or ."
}

// apply changes a file.
func (o Overrides) apply(c *JobFile) {
	c.Output, c.Workers, c.Memory = cmp.Or(o.Output, c.Output), cmp.Or(o.Workers, c.Workers), cmp.Or(o.Memory, c.Memory)
}

// Open opens the source with the columns of the job. spooled, if not nil, gets the number of
// spooled rows.
func (p Task) Open(ctx context.Context, spooled func(rows int64)) (dataset.Opened, error) {
	src, err := dataset.Open(ctx, p.Job, p.Source, nil, p.Resources, spooled)
	if err != nil {
		return nil, p.Located(err, p.Job)
	}
	return src, nil
}

// Located adds the position in the job file to an error of opening the source.
func (p Task) Located(err error, job job.Job) error {
	return choiceLocated(err, p.file, job)
}
