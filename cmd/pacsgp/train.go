package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink/report"
)

func trainCommand(w system) *cobra.Command {
	var asJSON, noPass, dryRun bool
	cmd := onJob(w, &cobra.Command{
		Use:   "train job.yaml",
		Short: "Fit a model to a lake, certify it and publish both",
		Long: "Fit a model to the rows of a lake, make the last pass, and write model, certificate, run record and plot " +
			"to the output directory. If it is killed and started again, it resumes from its last checkpoint and " +
			"writes the same bytes. docs/reference/job.md explains the job file.",
	}, &config.Overrides{}, func(ctx context.Context, p config.Task) error {
		if dryRun {
			return try(ctx, w, p, asJSON)
		}
		outcome, err := train(ctx, w, p, noPass)
		if err != nil || outcome == nil {
			return err
		}
		return outcome.end(w, asJSON)
	})
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print the run record instead of the report")
	f.BoolVar(&noPass, "no-pass", false, "leave the last pass to pacsgp pass and certify")
	f.BoolVar(&dryRun, "dry-run", false, "train and show estimates without using held-out rows")
	cmd.MarkFlagsMutuallyExclusive("no-pass", "dry-run")
	return cmd
}

// try trains a job and prints what training shows without the held-out rows.
func try(ctx context.Context, w system, p config.Task, asJSON bool) error {
	show, out := newDisplay(w), p.Destination(w.fs)
	defer show.end()
	o, err := pipeline.Try(ctx, p.Job, p.Rows(), out, howTo(w, show, p, out, nil))
	if err != nil {
		return err
	}
	show.end()
	if asJSON {
		return printJSON(w.stdout, o)
	}
	found := "mean loss %s on %s"
	if p.Job.Loss.Kind.Counts() {
		found = "missed %s of %s"
	}
	fmt.Fprintf(w.stdout, "draws        bound about %s\n", words.PercentUp(o.Bound))
	if o.PriorRows > 0 {
		fmt.Fprintf(w.stdout, "predictions  "+found+"\n", words.PercentNear(o.PriorLoss), words.Count(int64(o.PriorRows), "prior row"))
	}
	fmt.Fprintln(w.stdout, "dry run      nothing is certified, and no held-out row was tested")
	return nil
}

// train runs a job. The outcome is nil if noPass leaves the last pass to other commands.
func train(ctx context.Context, w system, p config.Task, noPass bool) (*outcome, error) {
	show, out := newDisplay(w), p.Destination(w.fs)
	defer show.end()
	how := howTo(w, show, p, out, nil)
	if noPass {
		if err := config.TrainForParts(ctx, p, out, how); err != nil {
			return nil, err
		}
		printMessage(w.stdout, w.style.Width, "", filepath.Join(p.Output, config.TrainingStateFile)+": trained, nothing is certified yet: go on with pacsgp pass for each part, then pacsgp certify")
		return nil, nil
	}
	how.Publisher = p.Publisher()
	o, err := pipeline.Train(ctx, p.Job, p.Rows(), out, how)
	if err != nil {
		return nil, err
	}
	return &outcome{o, p}, nil
}

// howTo returns how to run a task into an output, and shows warnings about that output. watch, if
// not nil, is called with each step of training.
func howTo(w system, show *display, p config.Task, out *config.Output, watch func(job.Progress)) pipeline.RunConfig {
	how := p.KeepingRejectedRows(w.fs)
	how.Run, how.Software, how.Observer = w.log.run, config.Software(), show.observer(watch)
	how.Observer.Spooled = show.spooled
	warn := sync.OnceFunc(func() { show.warnings(p.Warnings()) })
	how.Observer.Event = func(text string) { // none before the output and the rows are taken
		warn()
		show.event(text)
	}
	how.Report = config.Report(out)
	return how
}

// An outcome is a finished run of a task.
type outcome struct {
	*pipeline.Outcome

	task config.Task
}

// verdict returns the reason for an exit status other than 0, or nil.
func (o *outcome) verdict() error { return o.task.RunConfig().Verdict(o.Result.Certificate) }

// end prints the outcome and returns the verdict.
func (o *outcome) end(w system, asJSON bool) error {
	show := func() error { return o.report(w) }
	if asJSON {
		show = func() error { return printJSON(w.stdout, o.Record) }
	}
	if err := show(); err != nil {
		return err
	}
	return o.verdict()
}

// report prints the result of the run, and the paths of its files.
func (o *outcome) report(w system) error {
	c, r := o.Result.Certificate, o.Record
	report.WriteSummary(w.paper, c, w.style)
	path := func(name string) string { return completed(objects.Join(o.task.Output, name)) }
	retrain := words.If(c.Counts.Holdout > 0 && c.Publisher.Training.Parent == nil, " --retrain")
	which := report.Shell(o.task.Output)
	if r.Exit != 0 { // the model did not become current
		which = path(r.Model) + " " + path(r.Certificate)
	}
	fmt.Fprintln(w.stdout)
	report.WriteWrapped(w.stdout, "fit        ", r.Diagnostics.Residuals.String(), w.style)
	_, err := fmt.Fprintf(w.stdout, "model      %s\n           %s, %s\nreport     %s\nrecord     %s\nnext       pacsgp verify %s %s%s\n",
		path(r.Model), words.Count(r.Training.Inducing, "inducing point"), words.Count(r.Training.Steps, "step"),
		path(config.PlotFile), path(config.RunFile), which, report.Shells(o.task.Source.Arguments(), " "), retrain)
	return err
}

var longDigest = regexp.MustCompile("([0-9a-f]{12})[0-9a-f]{52}")

// completed returns a path for a shell. Digests are cut to 12 digits and a star, but not in addresses.
func completed(path string) string {
	if objects.IsAddress(path) {
		return report.Shell(path)
	}
	return report.Shells(strings.Split(longDigest.ReplaceAllString(path, "$1\x00"), "\x00"), "*")
}
