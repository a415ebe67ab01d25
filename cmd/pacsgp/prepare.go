package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/pipeline"
)

// overrides are what a command changes of a job file: the flags of train, and for whom it is read.
type overrides struct {
	epsilon, memory, output string
	delta, passes, limit    float64
	inducing                []int
	time                    time.Duration
	seed                    uint64
	workers                 int
	scheduled               bool // by no flag: its windows are those of a schedule

	given func(flag string) bool // reports whether a flag is there; nil: none is
}

// An environment is what a file is read in.
type environment struct {
	lookup func(string) (string, bool) // variables of the environment
	stdin  io.Reader                   // of a stream; nil: there is none
	notice func(string)                // hears why nothing goes on
}

// An argumentError is a fault of the arguments of a command, and of no file.
type argumentError struct{ err error }

// Error returns the fault in words.
func (e argumentError) Error() string { return e.err.Error() }

// Unwrap returns the fault.
func (e argumentError) Unwrap() error { return e.err }

// readJob reads the job file, applies the flags and checks the whole.
func readJob(ctx context.Context, path string, env environment, o overrides) (task, error) {
	p, faults, err := checkJob(ctx, path, env, o)
	if err == nil {
		err = errorOf(faults)
	}
	return p, err
}

// A task is a job file that can be run: the job, where its rows come from and where what
// it publishes goes.
type task struct {
	job       pipeline.Job
	source    origin
	shelf     *shelf // nil: nothing is published beside the output
	output    string
	attempts  string // the log, or "" for the one in output
	badRows   string // file for bad rows, or ""
	stream    serviceConfig
	serve     serveConfig
	limit     float64
	judge     judged // judgeMean or judgeDraw
	strict    bool
	resources pipeline.Resources
	keep      int                     // finished runs whose artifacts stay; 0: all
	folder    string                  // of the job file
	place     func(key string) string // in the job file, with a blank behind it
}

// checkJob reads a job, and finds all that can be wrong with it before a row is read.
func checkJob(ctx context.Context, path string, env environment, o overrides) (task, []jobFault, error) {
	c, t, err := readConfiguration[configuration](ctx, path, env.lookup)
	if err != nil {
		return task{}, nil, err
	}
	if t.root == nil {
		return task{}, t.faults, nil
	}
	c.relativeTo(filepath.Dir(path))
	c.Source.file, c.Source.stdin, c.Source.scheduled = path, env.stdin, o.scheduled
	c.tell(env.notice)
	if err := o.apply(&c); err != nil {
		return task{}, nil, argumentError{err}
	}
	p, err := prepare(c)
	p.place = t.place
	return p, t.judged(err, o.changed), nil
}

// maxWorkers bounds the goroutines that a job may ask for. Each has buffers of its own.
const maxWorkers = 1024

// prepare fills in the defaults and reports all faults.
func prepare(c configuration) (task, error) {
	job, err := c.job().WithDefaults()
	faults := []error{}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, fault := range joined.Unwrap() {
			faults = append(faults, c.sharpened(fault))
		}
	}
	fault := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("%w: "+format, append([]any{pipeline.ErrConfig}, args...)...))
		}
	}
	faults = append(faults, c.sweepFaults()...)
	c.Source.letters = c.BadRows.To.topic
	from := c.Source.origin(job, c.Output, fault)
	shelf := c.shelf(fault)
	fault(!isRemote(c.Output), "output: %s: %s", c.Output, wantLocal)
	fault(!isRemote(c.Attempts), "attempts: %s: %s", c.Attempts, wantLocal)
	fault(c.Output != "", "output: name the directory for model and certificate")
	if source := hides(from, c.Output); source != "" {
		fault(false, "output: %s", insideSource(c.Output, source))
	}
	bad := c.BadRows.To
	fault(!isRemote(bad.path), "bad_rows.to: %s: %s", bad.path, wantLocal)
	fault(bad == (badRowsTo{}) || c.BadRows.Tolerance > 0, "bad_rows.to: no bad row is tolerated: give bad_rows.tolerance, the largest share of rows that may be bad")
	if bad.path != "" && !isRemote(bad.path) {
		if err := mayCreate("bad_rows.to", bad.path, from); err != nil {
			fault(false, "%w", err)
		}
	}
	fault(c.Train.Evaluations == nil || *c.Train.Evaluations != 0, "train.evaluations: 0 gradients move nothing; leave it out for the default")
	fault(c.Grid.Step == nil || *c.Grid.Step != 0, "grid.step: 0 is not positive; leave it out for a step that goes by the number of rows")
	fault(c.Limit >= 0 && c.Limit <= 1, "limit: %v is no bound between 0 and 1", c.Limit)
	fault(c.Judge == "" || c.Judge == judgeMean || c.Judge == judgeDraw, "judge: %q is neither mean nor draw", c.Judge)
	fault(c.Workers >= 0 && c.Workers <= maxWorkers, "workers: %d is not in 1 to %d", c.Workers, maxWorkers)
	fault(c.Keep >= 0, "keep: %d is negative", c.Keep)
	fault(c.Checkpoint >= 0, "checkpoint: %v is negative", time.Duration(c.Checkpoint))
	resources := c.resources()
	if resources.Workers == 0 {
		resources.Workers = runtime.GOMAXPROCS(0)
	}
	p := task{
		job: job, source: from, shelf: shelf, output: c.Output, attempts: c.Attempts, badRows: bad.path, stream: c.Stream, serve: c.Serve,
		keep: c.Keep, folder: c.folder,
		limit: c.Limit, judge: cmp.Or(c.Judge, judgeMean), strict: c.Strict, resources: resources.WithDefaults(),
	}
	p.stream.check(fault)
	if err := p.serve.check(); err != nil {
		fault(false, "serve: %w", err)
	}
	if p.goesOn() && !c.Source.scheduled {
		p.mustGoOn(fault)
	}
	return p, errors.Join(faults...)
}

const wantLocal = "remote stores are not read or written: mount it, or copy the files, and give a path of this machine"

var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// isRemote reports whether a path names a store by its address.
func isRemote(path string) bool { return scheme.MatchString(path) }

// insideSource says why an output directory cannot be used.
func insideSource(output, source string) string {
	if strings.ContainsAny(source, "*?[") {
		return fmt.Sprintf("the source %s would find the model in %s; choose another directory", source, output)
	}
	return fmt.Sprintf("%s is inside the source %s, whose subdirectories are read; choose a directory outside it, or a name that begins with _ or .", output, source)
}

// flags are the flags that override a key whose value prepare checks, by key.
var flags = map[string]string{
	"loss.epsilon": "epsilon", "delta": "delta", "inducing": "inducing", "train.passes": "passes", "train.time": "time",
	"limit": "limit", "workers": "workers", "output": "output",
}

// changed reports whether a flag is there.
func (o overrides) changed(flag string) bool { return o.given != nil && o.given(flag) }

func (o overrides) apply(c *configuration) error {
	if o.changed("epsilon") {
		e, err := parseEpsilon(o.epsilon)
		if err != nil {
			return fmt.Errorf("--epsilon: %w", err)
		}
		if err := c.overridden(); err != nil {
			return err
		}
		c.Loss.Epsilon = e
	}
	if o.changed("memory") {
		size, err := parseSize(o.memory)
		if err != nil {
			return fmt.Errorf("--memory: %w", err)
		}
		c.Memory = size
	}
	for name, set := range map[string]func(){
		"delta":    func() { c.Delta = &o.delta },
		"limit":    func() { c.Limit = o.limit },
		"inducing": func() { c.Inducing = o.inducing },
		"passes":   func() { c.Train.Passes = o.passes },
		"time":     func() { c.Train.Time = span(o.time) },
		"seed":     func() { c.Train.Seed = o.seed },
		"workers":  func() { c.Workers = o.workers },
		"output":   func() { c.Output = o.output },
	} {
		if o.changed(name) {
			set()
		}
	}
	return nil
}

// open opens the source of a job, with these features or, with nil, those that the job
// chooses. While rows are spooled, spooled is told how many there are, unless it is nil.
func (p task) open(ctx context.Context, features []string, spooled func(rows int64), notice func(string)) (rows, error) {
	want := reading{Choice: ingest.Choice{Features: features, Target: p.job.Target}, bad: ingest.Marking(p.job.BadRows.Some()), decoders: p.resources.Workers, pages: forPages(p.resources)}
	if features == nil {
		want.Features, want.Exclude = p.job.Features, p.job.Exclude
	}
	want.spooled = spooled
	src, err := p.source.open(ctx, want)
	if err != nil && features == nil {
		err = choicePlaced(err, p.place, p.job.Number)
	}
	if err != nil { // with features: what the job chose was there before
		return nil, err
	}
	if features == nil {
		for _, text := range src.Notices() {
			notice(text)
		}
	}
	return src, nil
}
