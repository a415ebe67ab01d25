package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/pipeline"
)

// overrides are the flags of train that override the job file.
type overrides struct {
	epsilon, memory, output string
	delta, passes, limit    float64
	inducing                []int
	time                    time.Duration
	seed                    uint64
	workers                 int
}

func trainCommand(w system) *cobra.Command {
	var path string
	var asJSON, noPass bool
	var o overrides
	cmd := &cobra.Command{
		Use:   "train -c job.yaml",
		Short: "Fit a model to a lake, certify it and publish both",
		Long: "Fit a model to the rows of a lake, make the last pass, and write model, certificate, run\n" +
			"record and plot to the output directory. Killed and started again, it goes on from its\n" +
			"last checkpoint and writes the same bytes. docs/job.md explains the job file.",
		Args: exactly(0, "none, for the job file is given by -c"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadJob(cmd.Context(), path, w, o, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			c.noPass = noPass
			outcome, err := train(cmd.Context(), c, w)
			if err != nil || outcome == nil {
				return err
			}
			if err := outcome.print(w, asJSON); err != nil {
				return err
			}
			return outcome.verdict(c)
		},
	}
	o.flags(cmd, &path)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print the run record instead of the report")
	f.BoolVar(&noPass, "no-pass", false, "leave the last pass to pacsgp pass, in parts, and pacsgp certify")
	f.StringVarP(&o.output, "output", "o", "", "output directory")
	return cmd
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
	limit     float64
	judge     judged // judgeMean or judgeDraw
	strict    bool
	resources pipeline.Resources
	spooled   func(rows int64)        // is told how far a spool is; nil: nobody is
	noPass    bool                    // the last pass is left to others
	place     func(key string) string // in the job file, with a blank behind it
}

// loadJob reads the job file, applies the flags and checks the whole.
func loadJob(ctx context.Context, path string, w system, o overrides, changed func(string) bool) (prepared, error) {
	if path == "" {
		return prepared{}, usageError{errors.New("-c: name the job file; examples/ has some")}
	}
	c, tree, from, err := readConfiguration(ctx, path, w.lookup)
	if err != nil {
		return prepared{}, err
	}
	c.relativeTo(filepath.Dir(path))
	c.Source.file, c.Source.stdin = path, w.stdin
	c.tell(newDisplay(w).notice)
	if err := o.apply(&c, changed); err != nil {
		return prepared{}, usageError{err}
	}
	p, err := prepare(c)
	if err != nil {
		return prepared{}, placed(err, path, tree, from, changed)
	}
	p.place = func(key string) string {
		if at := place(tree, key); at != "" {
			return path + ": " + at
		}
		return ""
	}
	return p, nil
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
	if bad.path != "" && len(faults) == 0 {
		if err := mayCreate("bad_rows.to", bad.path, from); err != nil {
			fault(false, "%w", err)
		}
	}
	fault(c.Grid.Step == nil || *c.Grid.Step != 0, "grid.step: 0 is not positive; leave it out for a step that goes by the number of rows")
	fault(c.Limit >= 0 && c.Limit <= 1, "limit: %v is no bound between 0 and 1", c.Limit)
	fault(c.Judge == "" || c.Judge == judgeMean || c.Judge == judgeDraw, "judge: %q is neither mean nor draw", c.Judge)
	fault(c.Workers >= 0 && c.Workers <= maxWorkers, "workers: %d is not in 1 to %d", c.Workers, maxWorkers)
	fault(c.Checkpoint >= 0, "checkpoint: %v is negative", time.Duration(c.Checkpoint))
	resources := c.resources()
	if resources.Workers == 0 {
		resources.Workers = runtime.GOMAXPROCS(0)
	}
	p := prepared{
		job: job, source: from, shelf: shelf, output: c.Output, attempts: c.Attempts, badRows: bad.path,
		limit: c.Limit, judge: cmp.Or(c.Judge, judgeMean), strict: c.Strict, resources: resources.WithDefaults(),
		place: func(string) string { return "" },
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
	want := reading{Choice: ingest.Choice{Features: features, Target: p.job.Target}, bad: ingest.Marking(p.job.BadRows.Some()), decoders: p.resources.Workers, pages: forPages(p.resources)}
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

// train runs a job, or all alternatives of its sweep; the outcome is the best's.
func train(ctx context.Context, p prepared, w system) (o *outcome, err error) {
	began := time.Now()
	show := newDisplay(w)
	defer show.end()
	p.spooled = show.spooled
	if _, piped := p.source.(*streamOrigin); piped && p.noPass {
		return nil, usageError{errors.New("--no-pass: the parts of a last pass read the rows themselves, and a stream is read once: name files or a topic")}
	}
	published := false
	defer func() { err = errors.Join(err, p.source.release(published)) }()
	// Opened before the output directory, so that a job without rows leaves none.
	jobs := p.job.Alternatives()
	first, err := p.of(jobs[0]).open(ctx, nil, show.notice)
	if err != nil {
		return nil, err
	}
	sample, err := sampleOf(ctx, first, p.resources.Workers)
	if err != nil {
		return nil, err
	}
	need := needs{reading: sample.Reader}
	for _, job := range jobs {
		need.memory = max(need.memory, pipeline.PeakMemory(job, sample, p.resources))
		need.disk = max(need.disk, pipeline.SpillBytes(job, sample.Rows, p.resources))
	}
	if err := need.met(w, p.resources.Memory, less); err != nil {
		return nil, err
	}
	if p.shelf != nil {
		if err := p.shelf.check(ctx, p); err != nil {
			return nil, err
		}
	}
	for _, job := range jobs {
		if job.Number > 1 {
			if _, err := p.of(job).open(ctx, nil, func(string) {}); err != nil {
				return nil, fmt.Errorf("alternative %d (%s): %w", job.Number, job.Changes(), err)
			}
		}
	}
	w.limitMemory(need.memory)
	out, err := openOutput(p.output, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if text := out.notice(); text != "" {
		show.notice(text)
	}
	if topic, ok := p.source.(*kafkaOrigin); ok {
		if left := topic.others(p.output); len(left) > 0 {
			show.notice(fmt.Sprintf("spools of other windows, which runs that failed have left, are in %s: remove them if nobody goes on with them", strings.Join(left, ", ")))
		}
	}
	if err := out.forget(); err != nil {
		return nil, err
	}
	attempts, before, err := out.attempts(ctx, p.attempts, show.notice)
	if err != nil { // damage is told before hours of reading
		return nil, err
	}
	checkpoints, err := out.checkpoints(jobs, show.notice)
	if err != nil {
		return nil, err
	}
	if text := again(jobs[0], before, checkpoints); text != "" {
		show.event(text)
	}
	var at checkpoint
	with := func(job pipeline.Job) (pipeline.Environment, error) {
		own := p.of(job)
		at = checkpoints[max(job.Number, 1)-1]
		return pipeline.Environment{
			Open: func(ctx context.Context, features []string) (pipeline.Source, error) {
				if features == nil && job.Number <= 1 {
					return first, nil
				}
				return own.open(ctx, features, show.notice)
			},
			Sink: out.sink(), Attempts: attempts, Checkpoints: at, Quarantine: p.quarantine(w, first),
			Resources: p.resources, Observer: show.observer(), Software: software(),
		}, nil
	}
	if p.noPass {
		return nil, p.fit(ctx, w, out, checkpoints[0], with)
	}
	o = &outcome{}
	var results []*pipeline.Result
	err = pipeline.Sweep(ctx, p.job, with, func(job pipeline.Job, r *pipeline.Result) error {
		o.add(newOutcome(p, w.log.run, r, began), job)
		if p.shelf != nil {
			results = append(results, r)
		}
		return nil
	})
	if errors.Is(err, context.Canceled) {
		return nil, interruption(at.Path())
	}
	if err != nil {
		return nil, err
	}
	o.record.Seconds = time.Since(began).Seconds()
	if err := o.write(out); err != nil {
		return nil, err
	}
	if p.shelf != nil {
		if err := p.shelf.publish(ctx, results, o.result, p); err != nil {
			return nil, fmt.Errorf("the artifact is in %s, but not on its topics; run the job again: %w", p.output, err)
		}
	}
	for _, c := range checkpoints {
		err = errors.Join(err, c.Clear(context.WithoutCancel(ctx))) // all is published: too late for an interruption
	}
	published = err == nil
	return o, err
}

// fit trains, and leaves the last pass to others.
func (p prepared) fit(ctx context.Context, w system, out *output, at checkpoint, with func(pipeline.Job) (pipeline.Environment, error)) error {
	env, err := with(p.job)
	if err != nil {
		return err
	}
	h, err := pipeline.Fit(ctx, p.job, env)
	if errors.Is(err, context.Canceled) {
		return interruption(at.Path())
	}
	if err != nil {
		return err
	}
	if err := out.leave(ctx, h); err != nil {
		return err
	}
	if err := at.Clear(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.stdout, "%s: trained, nothing is certified yet: go on with pacsgp pass for each part, then pacsgp certify\n", filepath.Join(p.output, handoverFile))
	return err
}

// of is the prepared job of an alternative.
func (p prepared) of(job pipeline.Job) prepared {
	p.job = job
	return p
}

// again says that a job was begun before and is not resumed.
func again(job pipeline.Job, before []pipeline.Attempt, checkpoints []checkpoint) string {
	identity, err := job.Identity()
	if err != nil || !slices.ContainsFunc(before, func(a pipeline.Attempt) bool { return a.Configuration == identity }) {
		return ""
	}
	for _, c := range checkpoints {
		if _, err := os.Stat(c.Path()); err == nil {
			return ""
		}
	}
	return "this job was begun before, and has left no checkpoint: it trains anew, and on the same rows gives the same files and is the same attempt"
}

// interruption says what is left of an interrupted run and how it goes on.
func interruption(checkpoint string) error {
	if _, err := os.Stat(checkpoint); err != nil {
		return fmt.Errorf("%w before there was anything to keep: the same command starts from the beginning", errInterrupted)
	}
	return fmt.Errorf("%w: the same command goes on from the checkpoint %s", errInterrupted, checkpoint)
}

// verdict turns a finished run into an exit status: of the guarantee that the
// job names, and of the dependence of rows if the job is strict about it.
func (o *outcome) verdict(p prepared) error {
	g := judge(p.judge, o.result.Certificate)
	switch {
	case g.Status != certify.StatusCertified:
		return notCertified{fmt.Sprintf("finished, but the guarantee for the %s is %s: see the statement above", g.Predictor, g.Status)}
	case p.limit > 0 && !(g.Bound <= p.limit):
		return notCertified{fmt.Sprintf("finished and certified, but the bound for the %s, %s, is above the job's limit %v (judge: %s)",
			g.Predictor, certify.AtMost(g.Bound), p.limit, p.judge)}
	case p.strict && o.result.Certificate.Dependence.Suspicious:
		return notCertified{"finished and certified, but consecutive rows are more alike than independent rows would be, and the job is strict about it: see the assumption independent-rows"}
	default:
		return nil
	}
}

// print shows the outcome on standard output.
func (o *outcome) print(w system, asJSON bool) error {
	if asJSON {
		return printJSON(w.stdout, o.record)
	}
	return o.report(w)
}
