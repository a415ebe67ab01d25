package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
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

// train runs a job, or all alternatives of its sweep; the outcome is the best's, nil if the
// last pass is left to others.
func train(ctx context.Context, p prepared, w system) (*outcome, error) {
	show := newDisplay(w)
	defer show.end()
	p.spooled = show.spooled
	if _, piped := p.Source.(*config.Stdin); piped && p.noPass {
		return nil, usageError{errors.New("--no-pass: the parts of a last pass read the rows themselves, and a stream is read once: name files or a topic")}
	}
	out := p.out(w)
	how := p.how(w, show, out)
	if p.noPass {
		if err := pipeline.TrainForParts(ctx, p.Job, p.Source, out, how); err != nil {
			return nil, err
		}
		_, err := fmt.Fprintf(w.stdout, "%s: trained, nothing is certified yet: go on with pacsgp pass for each part, then pacsgp certify\n", filepath.Join(p.Output, sinklake.HandoverFile))
		return nil, err
	}
	how.Publisher = p.Publisher()
	o, err := pipeline.Train(ctx, p.Job, p.Source, out, how)
	if err != nil {
		return nil, err
	}
	return &outcome{o, p.Output, p.Source}, nil
}

// out is the output of a job.
func (p prepared) out(w system) *jobOutput {
	return &jobOutput{Output: sinklake.NewOutput(p.Output, w.fs), job: p}
}

// A jobOutput is the output of a job.
type jobOutput struct {
	*sinklake.Output

	job prepared
}

// Notices say what a user should know of the place.
func (o *jobOutput) Notices(jobs []pipeline.Digest) ([]string, error) {
	said, err := o.Output.Notices(jobs)
	if _, err := os.Stat(o.Path(sinklake.SequencesFile)); err == nil && o.job.Job.Sequence() == nil {
		said = append(said, fmt.Sprintf("%s is the output of a schedule: this certificate is none of its sequence, and %s moves past its rule", o.job.Output, sinklake.CurrentFile))
	}
	if topic, ok := o.job.Source.(*config.Topic); ok {
		if left := topic.Others(o.job.Output); len(left) > 0 {
			said = append(said, fmt.Sprintf("spools of other windows, which runs that failed have left, are in %s: remove them if nobody goes on with them", strings.Join(left, ", ")))
		}
	}
	return said, err
}

// of is the prepared job of an alternative.
func (p prepared) of(job pipeline.Job) prepared {
	p.Job = job
	return p
}

// run says how the runs of a job are judged.
func (p prepared) run() pipeline.RunConfig {
	return pipeline.RunConfig{Judge: p.Judge, Limit: p.Limit, Strict: p.Strict}
}

// how says how a job is run.
func (p prepared) how(w system, show *display, out *jobOutput) pipeline.RunConfig {
	how := p.run()
	how.Run, how.Keep, how.Folder, how.Software = w.log.run, p.Keep, p.Folder, software()
	how.Resources, how.Observer = p.Resources, show.observer(p.watch)
	how.Observer.Spooled = p.spooled
	path := p.Attempts
	if path == "" {
		path = filepath.Join(p.Output, sinklake.AttemptsFile)
	}
	log := sinklake.NewAttemptLog(path, w.fs)
	log.Notice = show.notice
	how.Attempts = log
	if p.BadRows != "" || p.DeadLetters() != nil {
		how.BadRows = badRowsKeeper{p, w}
	}
	how.Afford = func(jobs []pipeline.Job, sample pipeline.Sample) error {
		need := needs{reading: sample.Reader}
		for _, job := range jobs {
			need.memory = max(need.memory, pipeline.PeakMemory(job, sample, p.Resources))
			need.disk = max(need.disk, pipeline.SpillBytes(job, sample.Rows, p.Resources))
		}
		if err := need.met(w, p.Resources.Memory, less); err != nil {
			return err
		}
		w.limitMemory(need.memory)
		return nil
	}
	how.Placed = p.Placed
	how.Report = func(o *pipeline.Outcome) error {
		var plot bytes.Buffer
		if err := figure(o.Result).WritePNG(&plot); err != nil {
			return err
		}
		return out.PutReport(o.Record, plot.Bytes())
	}
	return how
}

// A badRowsKeeper keeps the bad rows of a job in a file or on a topic.
type badRowsKeeper struct {
	prepared
	w system
}

// Quarantine keeps those of a source.
func (k badRowsKeeper) Quarantine(from pipeline.Opened) pipeline.Quarantine {
	return k.quarantine(k.w, from)
}

// Kept reports whether the file is there; that of a topic goes with a publisher.
func (k badRowsKeeper) Kept() bool {
	_, err := os.Stat(k.BadRows)
	return err == nil
}

// print shows the outcome on standard output.
func (o *outcome) print(w system, asJSON bool) error {
	if asJSON {
		return printJSON(w.stdout, o.Record)
	}
	return o.report(w)
}
