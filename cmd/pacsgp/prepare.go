package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
}

// flags declares the flags that name a job file and override it, but for output.
func (o *overrides) flags(cmd *cobra.Command, path *string) {
	f := cmd.Flags()
	f.StringVarP(path, "config", "c", "", "the job file (YAML)")
	f.StringVar(&o.epsilon, "epsilon", "", "tolerance: a number in the target's units, or as in 0.6std")
	f.Float64Var(&o.delta, "delta", 0, "the certificate fails with probability at most delta")
	f.Float64Var(&o.limit, "limit", 0, "exit with status 3 unless the bound that judge names is at most this")
	f.IntSliceVar(&o.inducing, "inducing", nil, "numbers of inducing points to choose from")
	f.Float64Var(&o.passes, "passes", 0, "passes over the rows before hyper-parameters are rounded")
	f.DurationVar(&o.time, "time", 0, "begin to finish training after this time")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the optimiser")
	f.IntVar(&o.workers, "workers", 0, "goroutines that compute (default: all processors)")
	f.StringVar(&o.memory, "memory", "", "for rows kept between passes, as in 512MiB")
}

// A prepared job is a configuration that can be run.
type prepared struct {
	job       pipeline.Job
	source    origin
	shelf     *shelf // nil: nothing is published beside the output
	output    string
	attempts  string // the log, or "" for the one in output
	badRows   string // file for bad rows, or ""
	stream    serviceConfig
	serve     serveConfig
	watch     func(pipeline.Progress) // is told each step of training; nil: nobody is
	limit     float64
	judge     pipeline.Judge // pipeline.JudgeMean or pipeline.JudgeDraw
	strict    bool
	resources pipeline.Resources
	spooled   func(rows int64)        // is told how far a spool is; nil: nobody is
	noPass    bool                    // the last pass is left to others
	keep      int                     // finished runs whose artifacts stay; 0: all
	ancestor  *pipeline.Ancestor      // whose posterior training begins with, of a window of a stream; nil: none
	standing  bool                    // the pointer is left where it is
	folder    string                  // of the job file
	place     func(key string) string // in the job file, with a blank behind it
}

// loadJob reads the job file, applies the flags and checks the whole.
func loadJob(ctx context.Context, path string, w system, o overrides, changed func(string) bool) (prepared, error) {
	if path == "" {
		return prepared{}, usageError{errors.New("-c: name the job file; examples/ has some")}
	}
	p, faults, err := checkJob(ctx, path, w, o, changed)
	if err == nil {
		err = errorOf(faults)
	}
	return p, err
}

// checkJob reads a job, and finds all that can be wrong with it before a row is read.
func checkJob(ctx context.Context, path string, w system, o overrides, changed func(string) bool) (prepared, []jobFault, error) {
	c, t, err := readConfiguration[configuration](ctx, path, w.lookup)
	if err != nil {
		return prepared{}, nil, err
	}
	if t.root == nil {
		return prepared{}, t.faults, nil
	}
	c.relativeTo(filepath.Dir(path))
	c.Source.file, c.Source.stdin, c.Source.scheduled = path, w.stdin, o.scheduled
	c.tell(newDisplay(w).notice)
	if err := o.apply(&c, changed); err != nil {
		return prepared{}, nil, usageError{err}
	}
	p, err := prepare(c)
	p.place = t.place
	return p, t.judged(err, changed), nil
}

// maxWorkers bounds the goroutines that a job may ask for. Each has buffers of its own.
const maxWorkers = 1024

// prepare fills in the defaults and reports all faults.
func prepare(c configuration) (prepared, error) {
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
	fault(c.Judge == "" || c.Judge == pipeline.JudgeMean || c.Judge == pipeline.JudgeDraw, "judge: %q is neither mean nor draw", c.Judge)
	fault(c.Workers >= 0 && c.Workers <= maxWorkers, "workers: %d is not in 1 to %d", c.Workers, maxWorkers)
	fault(c.Keep >= 0, "keep: %d is negative", c.Keep)
	fault(c.Checkpoint >= 0, "checkpoint: %v is negative", time.Duration(c.Checkpoint))
	resources := c.resources()
	if resources.Workers == 0 {
		resources.Workers = runtime.GOMAXPROCS(0)
	}
	p := prepared{
		job: job, source: from, shelf: shelf, output: c.Output, attempts: c.Attempts, badRows: bad.path, stream: c.Stream, serve: c.Serve,
		keep: c.Keep, folder: c.folder,
		limit: c.Limit, judge: cmp.Or(c.Judge, pipeline.JudgeMean), strict: c.Strict, resources: resources.WithDefaults(),
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

// local refuses the addresses of stores among the arguments of a command.
func local(paths ...string) error {
	for _, path := range paths {
		if isRemote(path) {
			return usageError{fmt.Errorf("%s: %s", path, wantLocal)}
		}
	}
	return nil
}

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

func (o overrides) apply(c *configuration, changed func(string) bool) error {
	if changed("epsilon") {
		e, err := parseEpsilon(o.epsilon)
		if err != nil {
			return fmt.Errorf("--epsilon: %w", err)
		}
		if err := c.overridden(); err != nil {
			return err
		}
		c.Loss.Epsilon = e
	}
	if changed("memory") {
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
		if changed(name) {
			set()
		}
	}
	return nil
}

// open opens the source of a job, with these features or, with nil, those that the job
// chooses.
func (p prepared) open(ctx context.Context, features []string, notice func(string)) (rows, error) {
	want := reading{Choice: ingest.Choice{Features: features, Target: p.job.Target}, bad: ingest.Marking(p.job.BadRows.Some()), decoders: p.resources.Workers, pages: p.resources.PageMemory()}
	if features == nil {
		want.Features, want.Exclude = p.job.Features, p.job.Exclude
	}
	want.spooled = p.spooled
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
