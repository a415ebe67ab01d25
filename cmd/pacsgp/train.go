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

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

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
			if c.job.DeltaPolicy != "" {
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
	o.flags(cmd, &path)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print the run record instead of the report")
	f.BoolVar(&noPass, "no-pass", false, "leave the last pass to pacsgp pass, in parts, and pacsgp certify")
	f.StringVarP(&o.output, "output", "o", "", "output directory")
	return cmd
}

// train runs a job, or all alternatives of its sweep; the outcome is the best's, nil if the
// last pass is left to others.
func train(ctx context.Context, p prepared, w system) (*outcome, error) {
	show := newDisplay(w)
	defer show.end()
	p.spooled = show.spooled
	if _, piped := p.source.(*streamOrigin); piped && p.noPass {
		return nil, usageError{errors.New("--no-pass: the parts of a last pass read the rows themselves, and a stream is read once: name files or a topic")}
	}
	out := p.out(w)
	how := p.how(w, show, out)
	rows := &jobRows{prepared: p, show: show}
	if p.noPass {
		if err := pipeline.TrainForParts(ctx, p.job, rows, out, how); err != nil {
			return nil, err
		}
		_, err := fmt.Fprintf(w.stdout, "%s: trained, nothing is certified yet: go on with pacsgp pass for each part, then pacsgp certify\n", filepath.Join(p.output, sinklake.HandoverFile))
		return nil, err
	}
	if p.shelf != nil {
		how.Publisher = publisher{p}
	}
	o, err := pipeline.Train(ctx, p.job, rows, out, how)
	if err != nil {
		return nil, err
	}
	return &outcome{o, p.output, p.source}, nil
}

// out is the output of a job.
func (p prepared) out(w system) *jobOutput {
	return &jobOutput{Output: sinklake.NewOutput(p.output, w.fs), job: p}
}

// A jobOutput is the output of a job. Of a job of a schedule, a number of its sequence has
// one certificate.
type jobOutput struct {
	*sinklake.Output

	job prepared
}

// PutCertificate publishes a certificate, if its number is its own.
func (o *jobOutput) PutCertificate(ctx context.Context, c certify.Certificate) (string, error) {
	return ownNumber{o.Output, o.job.output}.PutCertificate(ctx, c)
}

// Notices say what a user should know of the place.
func (o *jobOutput) Notices(jobs []pipeline.Digest) ([]string, error) {
	said, err := o.Output.Notices(jobs)
	if o.job.job.Sequence() == nil && scheduledIn(o.job.output) {
		said = append(said, fmt.Sprintf("%s is the output of a schedule: this certificate is none of its sequence, and %s moves past its rule", o.job.output, sinklake.CurrentFile))
	}
	if topic, ok := o.job.source.(*kafkaOrigin); ok {
		if left := topic.others(o.job.output); len(left) > 0 {
			said = append(said, fmt.Sprintf("spools of other windows, which runs that failed have left, are in %s: remove them if nobody goes on with them", strings.Join(left, ", ")))
		}
	}
	return said, err
}

// of is the prepared job of an alternative.
func (p prepared) of(job pipeline.Job) prepared {
	p.job = job
	return p
}

// run says how the runs of a job are judged.
func (p prepared) run() pipeline.RunConfig {
	return pipeline.RunConfig{Judge: p.judge, Limit: p.limit, Strict: p.strict}
}

// how says how a job is run.
func (p prepared) how(w system, show *display, out *jobOutput) pipeline.RunConfig {
	how := p.run()
	how.Run, how.Keep, how.Folder, how.LeavePointer, how.Software = w.log.run, p.keep, p.folder, p.standing, software()
	how.Ancestor, how.Resources, how.Observer = p.ancestor, p.resources, show.observer(p.watch)
	path := p.attempts
	if path == "" {
		path = filepath.Join(p.output, sinklake.AttemptsFile)
	}
	log := sinklake.NewAttemptLog(path, w.fs)
	log.Notice = show.notice
	how.Attempts = log
	if topic, ok := p.source.(*kafkaOrigin); p.badRows != "" || ok && topic.letters != "" {
		how.BadRows = badRowsKeeper{p, w}
	}
	how.Afford = func(jobs []pipeline.Job, sample pipeline.Sample) error {
		need := needs{reading: sample.Reader}
		for _, job := range jobs {
			need.memory = max(need.memory, pipeline.PeakMemory(job, sample, p.resources))
			need.disk = max(need.disk, pipeline.SpillBytes(job, sample.Rows, p.resources))
		}
		if err := need.met(w, p.resources.Memory, less); err != nil {
			return err
		}
		w.limitMemory(need.memory)
		return nil
	}
	how.Placed = func(err error, job pipeline.Job) error { return choicePlaced(err, p.place, job.Number) }
	how.Report = func(o *pipeline.Outcome) error {
		var plot bytes.Buffer
		if err := figure(o.Result).WritePNG(&plot); err != nil {
			return err
		}
		return out.PutReport(o.Record, plot.Bytes())
	}
	return how
}

// A publisher is where a job publishes beside its output.
type publisher struct{ prepared }

// Check asks whether it can.
func (p publisher) Check(ctx context.Context) error { return p.shelf.check(ctx, p.prepared) }

// Publish publishes.
func (p publisher) Publish(ctx context.Context, all []*pipeline.Result, best *pipeline.Result, verdict error) error {
	return p.shelf.publish(ctx, all, best, verdict, p.prepared)
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
	_, err := os.Stat(k.badRows)
	return err == nil
}

// jobRows are the rows that a job declares.
type jobRows struct {
	prepared
	show *display
}

// Open opens them anew.
func (r *jobRows) Open(ctx context.Context, c pipeline.Choice) (pipeline.Opened, error) {
	src, err := r.source.open(ctx, reading{
		Choice: ingest.Choice{Features: c.Features, Exclude: c.Exclude, Target: c.Target}, bad: ingest.Marking(c.Mark),
		decoders: c.Decoders, pages: c.Pages, noDigests: c.NoDigests, spooled: r.spooled,
	})
	if err != nil {
		return nil, err
	}
	if _, ok := r.source.(lakeOrigin); !ok {
		return spooledRows{src}, nil
	}
	return src, nil
}

// spooledRows come from files that do not stay.
type spooledRows struct{ rows }

// Files are none that a manifest could list.
func (spooledRows) Files() []pipeline.File { return nil }

// Release gives back what reading took.
func (r *jobRows) Release(published bool) error { return r.source.release(published) }

// print shows the outcome on standard output.
func (o *outcome) print(w system, asJSON bool) error {
	if asJSON {
		return printJSON(w.stdout, o.Record)
	}
	return o.report(w)
}
