package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
)

func trainCommand(w system) *cobra.Command {
	var path string
	var asJSON, noPass bool
	var o config.Overrides
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
			if c.Job.DeltaPolicy != "" {
				return fmt.Errorf("%w: delta_policy: it is of a job that makes one certificate after another, which pacsgp stream runs", pipeline.ErrConfig)
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
	overrideFlags(cmd, &path, &o)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print the run record instead of the report")
	f.BoolVar(&noPass, "no-pass", false, "leave the last pass to pacsgp pass, in parts, and pacsgp certify")
	f.StringVarP(&o.Output, "output", "o", "", "output directory")
	return cmd
}

// train runs a job, or all alternatives of its sweep; the outcome is the best's.
func train(ctx context.Context, p prepared, w system) (o *outcome, err error) {
	began := time.Now()
	show := newDisplay(w)
	defer show.end()
	p.spooled = show.spooled
	if _, piped := p.Source.(*config.Stdin); piped && p.noPass {
		return nil, usageError{errors.New("--no-pass: the parts of a last pass read the rows themselves, and a stream is read once: name files or a topic")}
	}
	published := false
	defer func() { err = errors.Join(err, p.Source.Release(published)) }()
	// Opened before the output directory, so that a job without rows leaves none.
	jobs := p.Job.Alternatives()
	first, err := p.of(jobs[0]).open(ctx, nil, show.notice)
	if err != nil {
		return nil, err
	}
	sample, err := sampleOf(ctx, first, p.Resources.Workers)
	if err != nil {
		return nil, err
	}
	need := needs{reading: sample.Reader}
	for _, job := range jobs {
		need.memory = max(need.memory, pipeline.PeakMemory(job, sample, p.Resources))
		need.disk = max(need.disk, pipeline.SpillBytes(job, sample.Rows, p.Resources))
	}
	if err := need.met(w, p.Resources.Memory, less); err != nil {
		return nil, err
	}
	if p.Shelf != nil {
		if err := p.Shelf.Check(ctx, p.Source); err != nil {
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
	out, err := openOutput(p.Output, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if text := out.notice(); text != "" {
		show.notice(text)
	}
	if p.Job.Sequence() == nil && out.scheduled() {
		show.notice(fmt.Sprintf("%s is the output of a schedule: this certificate is none of its sequence, and %s moves past its rule", p.Output, currentFile))
	}
	if topic, ok := p.Source.(*config.Topic); ok {
		if left := topic.Others(p.Output); len(left) > 0 {
			show.notice(fmt.Sprintf("spools of other windows, which runs that failed have left, are in %s: remove them if nobody goes on with them", strings.Join(left, ", ")))
		}
	}
	if !p.noPass {
		o, err := out.finishedBefore(ctx, p, first.Files())
		if err != nil {
			return nil, err
		}
		if o != nil {
			return o, out.unchanged(ctx, o, jobs, show)
		}
	}
	state, err := out.begin(w.log.run, jobs[0], began)
	if err != nil {
		return nil, err
	}
	defer func() { state.failed(out, err) }()
	if err := out.forget(); err != nil {
		return nil, err
	}
	attempts, before, err := out.attempts(ctx, p.Attempts, show.notice)
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
	read := first // by the last pass
	with := func(job pipeline.Job) (pipeline.Environment, error) {
		own := p.of(job)
		at = checkpoints[max(job.Number, 1)-1]
		return pipeline.Environment{
			Open: func(ctx context.Context, features []string) (pipeline.Source, error) {
				if features == nil && job.Number <= 1 {
					return first, nil
				}
				src, err := own.open(ctx, features, show.notice)
				if err == nil {
					read = src
				}
				return src, err
			},
			Ancestor: p.ancestor, Sink: ownNumber{out.sink(), p.Output}, Attempts: attempts, Checkpoints: at, Quarantine: p.quarantine(w, first),
			Resources: p.Resources, Observer: show.observer(p.watch), Software: software(),
		}, nil
	}
	if p.noPass {
		if err := p.fit(ctx, out, checkpoints[0], with); err != nil {
			return nil, err
		}
		exit := 0
		if err := state.end(out, stateFinished, &exit, nil, time.Now()); err != nil {
			return nil, err
		}
		_, err := fmt.Fprintf(w.stdout, "%s: trained, nothing is certified yet: go on with pacsgp pass for each part, then pacsgp certify\n", filepath.Join(p.Output, handoverFile))
		return nil, err
	}
	o = &outcome{}
	var results []*pipeline.Result
	var refs []artifactRef
	err = pipeline.Sweep(ctx, p.Job, with, func(job pipeline.Job, r *pipeline.Result) error {
		o.add(newOutcome(p, w.log.run, r, began), job)
		if p.Shelf != nil {
			results = append(results, r)
		}
		refs = append(refs, artifactRef{r.ID, r.ModelDigest})
		return p.list(out, r, read)
	})
	if errors.Is(err, context.Canceled) {
		return nil, interruption(at.Path())
	}
	if err != nil {
		return nil, err
	}
	o.record.Seconds = time.Since(began).Seconds()
	o.judged(p)
	if err := o.write(out); err != nil {
		return nil, err
	}
	if p.Shelf != nil {
		if err := p.Shelf.Publish(ctx, config.Publication{Source: p.Source, Results: results, Best: o.result, Points: o.verdict(p) == nil, About: p.Judge.Predictor()}); err != nil {
			return nil, fmt.Errorf("the artifact is in %s, but not on its topics; run the job again: %w", p.Output, err)
		}
	}
	if err := o.finish(out, state, p, refs); err != nil {
		return nil, err
	}
	for _, c := range checkpoints {
		err = errors.Join(err, c.Clear(context.WithoutCancel(ctx))) // all is published: too late for an interruption
	}
	published = err == nil
	return o, err
}

// list writes the manifest of a result on files.
func (p prepared) list(to *output, r *pipeline.Result, read config.Source) error {
	if _, ok := p.Source.(config.Lake); !ok {
		return nil
	}
	m, err := manifestOf(r, read.Files(), read.Shards(), p.Folder)
	if err != nil {
		return err
	}
	return to.list(m)
}

// unchanged says that nothing is done, for all is there, and removes what a run left
// that was killed when it had finished.
func (o *output) unchanged(ctx context.Context, found *outcome, jobs []pipeline.Job, show *display) error {
	show.notice(fmt.Sprintf("this job has finished on these files before, with certificate %s: nothing is trained (files are taken for the same by path, size and footer)", found.result.ID))
	for _, job := range jobs {
		digest, err := job.Digest()
		if err != nil {
			return err
		}
		if err := o.dir.Checkpoint(digest.String()).Clear(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fit trains, and leaves the last pass to others.
func (p prepared) fit(ctx context.Context, out *output, at checkpoint, with func(pipeline.Job) (pipeline.Environment, error)) error {
	env, err := with(p.Job)
	if err != nil {
		return err
	}
	h, err := pipeline.Fit(ctx, p.Job, env)
	if errors.Is(err, context.Canceled) {
		return interruption(at.Path())
	}
	if err != nil {
		return err
	}
	if err := out.leave(ctx, h); err != nil {
		return err
	}
	return at.Clear(context.WithoutCancel(ctx))
}

// of is the prepared job of an alternative.
func (p prepared) of(job pipeline.Job) prepared {
	p.Job = job
	return p
}

// again says that a job was begun before and is not resumed.
func again(job pipeline.Job, before []pipeline.Attempt, checkpoints []checkpoint) string {
	if job.DeltaPolicy != "" { // as one window after another is
		return ""
	}
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
	g := judge(p.Judge, o.result.Certificate)
	switch {
	case g.Status != certify.StatusCertified:
		return notCertified{fmt.Sprintf("finished, but the guarantee for the %s is %s: see the statement above", g.Predictor, g.Status)}
	case p.Limit > 0 && !(g.Bound <= p.Limit):
		return notCertified{fmt.Sprintf("finished and certified, but the bound for the %s, %s, is above the job's limit %v (judge: %s)",
			g.Predictor, certify.AtMost(g.Bound), p.Limit, p.Judge)}
	case p.Strict && o.result.Certificate.Dependence.Suspicious:
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
