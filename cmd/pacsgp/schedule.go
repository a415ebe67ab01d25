package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/sink/report"
)

func scheduleCommand(w system) *cobra.Command {
	var path, metrics string
	var once, list bool
	cmd := &cobra.Command{
		Use:   "schedule schedule.yaml",
		Short: "Train jobs on a schedule, and keep the pointer on the certified one",
		Long: "Run jobs when they are due (by time, by new rows or files, by the lag of a topic) and move\n" +
			"the pointer of their outputs by the declared rule. Each output keeps what is known of its job,\n" +
			"so that a killed scheduler goes on where it was. docs/howto/retrain.md explains the schedule file.\n\n" +
			"With --once the command runs the jobs that are due and ends, for another scheduler such as\n" +
			"cron. Its exit status is the worst of the runs: 78 (bad configuration) before 1, and 1\n" +
			"before 3.",
		Args: orFile(&path, "the schedule file"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, jobs, err := loadSchedule(cmd.Context(), path, w)
			if err != nil {
				return err
			}
			if once && list {
				return config.Argument(errors.New("--once and --runs: want one of them"))
			}
			if metrics != "" && !once {
				return config.Argument(errors.New("--metrics: it belongs to --once; a service answers at serve"))
			}
			if list {
				return listRuns(cmd.Context(), w, jobs)
			}
			return runSchedule(cmd.Context(), w, c, jobs, rounds{once: once, metrics: metrics})
		},
	}
	cmd.PersistentFlags().StringVarP(&path, "config", "c", "", "the schedule file (YAML)")
	cmd.AddCommand(scheduleRunCommand(w, &path))
	f := cmd.Flags()
	f.StringVar(&metrics, "metrics", "", "with --once: write the metrics to this file, for node_exporter")
	f.BoolVar(&once, "once", false, "run the jobs that are due, and end")
	f.BoolVar(&list, "runs", false, "print the record of runs as JSON, and end")
	return cmd
}

// scheduleRunCommand runs one job of a schedule.
func scheduleRunCommand(w system, path *string) *cobra.Command {
	return &cobra.Command{
		Use:   "run JOB",
		Short: "Run a job of a schedule now",
		Long: "Run a job of a schedule now, due or not, under the next number of its sequence; a retry does\n" +
			"not wait. What triggers ask for stays due.\n" +
			"The choice of the moment is yours: if it depends on values in the rows, the certificate is\n" +
			"worth less than it says.",
		Args: exactly(1, "JOB, a name in the schedule file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, jobs, err := loadSchedule(cmd.Context(), *path, w)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(jobs, func(j *config.ScheduledTask) bool { return j.Name == args[0] })
			if i < 0 {
				return config.Argument(fmt.Errorf("JOB: %q is no job of %s", args[0], *path))
			}
			return runSchedule(cmd.Context(), w, c, jobs[i:i+1], rounds{once: true, now: true})
		},
	}
}

func promoteCommand(w system) *cobra.Command {
	who := pipeline.RequirePrediction
	var from string
	cmd := &cobra.Command{
		Use:   "promote ID (DIR | NAME --kafka JOB.yaml|BROKERS)",
		Short: "Make a certified model of an output directory, or of topics, the current one",
		Long: "Move the pointer of an output directory to a certificate in it, as to roll back, or that of a\n" +
			"name on topics to a certificate that was published there. The certificate must follow from\n" +
			"its model, and certify something.",
		Args: exactly(2, "ID and DIR, or ID and NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if who != pipeline.RequirePrediction && who != pipeline.RequireDraw {
				return config.Argument(fmt.Errorf("--require: %q is neither %s nor %s", who, pipeline.RequirePrediction, pipeline.RequireDraw))
			}
			if from != "" {
				return promoteOnTopics(cmd.Context(), w, from, args[0], args[1], who)
			}
			if err := config.Local(args[1]); err != nil {
				return err
			}
			return promote(cmd.Context(), w, args[1], args[0], who)
		},
	}
	cmd.Flags().StringVar(&from, "kafka", "", "the topics: a job file, or brokers")
	cmd.Flags().StringVar((*string)(&who), "require", string(pipeline.RequirePrediction), "what is to be certified: prediction or draw")
	return cmd
}

// A listedRun is a run in the list of --runs.
type listedRun struct {
	pipeline.Scheduled

	State       pipeline.State `json:"state"`
	Began       time.Time      `json:"began"`
	Ended       *time.Time     `json:"ended,omitempty"`
	Exit        *int           `json:"exit_status,omitempty"`
	Fault       string         `json:"fault,omitempty"`
	Certificate string         `json:"certificate,omitempty"`
}

// listRuns prints the runs of the jobs by their beginning.
func listRuns(ctx context.Context, w system, jobs []*config.ScheduledTask) error {
	all := []listedRun{}
	for _, j := range jobs {
		runs, err := j.Output.Runs()
		if err != nil {
			return err
		}
		for r := range runs {
			if of := r.Scheduled; of != nil && of.Job == j.Name {
				all = append(all, listedRun{*of, r.State, r.Began, r.Ended, r.Exit, r.Fault, schedule.Certificate(r)})
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	slices.SortStableFunc(all, func(a, b listedRun) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Number, b.Number))
	})
	return printJSON(w.stdout, all)
}

// rounds says how long a scheduler works.
type rounds struct {
	once    bool   // one round
	now     bool   // whether or not jobs are due
	metrics string // file for the metrics of the round, or ""
}

// runSchedule runs the scheduler until ctx is done, or for one round.
func runSchedule(ctx context.Context, w system, c config.ScheduleFile, jobs []*config.ScheduledTask, how rounds) (err error) {
	show := newDisplay(w)
	m := newScheduleMetrics(jobs)
	var outputs []string
	var all []*schedule.Job
	for _, j := range jobs {
		outputs, all = append(outputs, j.Task.Output), append(all, j.Job)
	}
	unserve, err := serve(ctx, c.Serve, m.registry, m.ready, outputs, show.event)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unserve()) }()
	s := newScheduler(w, c, jobs, m)
	quiet := true
	s.Now = how.now
	s.Say = func(text string) {
		quiet = false
		show.event(text)
	}
	var warned []string // of one round
	s.Warn = func(text string) {
		if how.once {
			warned = append(warned, text)
		} else {
			show.warning(text)
		}
	}
	if c.Serve.Declared() {
		s.Lagged = func(j *schedule.Job, offsets int64) { m.set("lag_offsets", j.Name, float64(offsets)) }
	}
	if how.once {
		err := s.Once(ctx, all, realClock{})
		for _, text := range warned {
			if err == nil || !strings.Contains(err.Error(), text) {
				show.warning(text)
			}
		}
		if err == nil && quiet && warned == nil {
			err = nothingDue(w.stdout, all)
		}
		if how.metrics != "" {
			err = errors.Join(err, writeMetrics(how.metrics, m.registry))
		}
		return err
	}
	return s.Serve(ctx, all, realClock{})
}

// nothingDue says that no job was run, which of them have failed, and when the next runs are due.
func nothingDue(out io.Writer, jobs []*schedule.Job) error {
	_, err := fmt.Fprintln(out, "nothing is due: no job was run")
	for _, j := range jobs {
		at, fault := j.Standing()
		if fault == nil && at.Fault() != "" {
			_, _ = fmt.Fprintf(out, "%s: its last run has failed; pacsgp schedule run %[1]s tries it again now, with the same -c\n", j.Name)
		}
		if fault == nil && at.Last != nil && at.Last.Scheduled.Due != nil {
			_, _ = fmt.Fprintf(out, "%s: the next run is due at %s\n", j.Name, at.Last.Scheduled.Due.UTC().Format("2006-01-02 15:04 UTC"))
		}
	}
	return err
}

// newScheduler returns a silent scheduler with the training of the command. Its metrics follow it.
func newScheduler(w system, c config.ScheduleFile, jobs []*config.ScheduledTask, m *scheduleMetrics) *schedule.Scheduler {
	return &schedule.Scheduler{
		Poll: c.Every(), Ended: m.ended, Seen: m.seen,
		Train: func(ctx context.Context, j *schedule.Job, job job.Job, rows dataset.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
			of := jobs[slices.IndexFunc(jobs, func(of *config.ScheduledTask) bool { return of.Job == j })]
			how.Observer.Progress = m.progress
			o, err := trainScheduled(ctx, w, of, job, rows, how)
			if err == nil {
				m.trained(j, o)
			}
			return o, err
		},
	}
}

// trainScheduled runs a job within the limits of its schedule.
func trainScheduled(ctx context.Context, w system, j *config.ScheduledTask, job job.Job, rows dataset.Rows, as pipeline.RunConfig) (*pipeline.Outcome, error) {
	within := ctx
	if j.Time > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, j.Time)
		defer cancel()
	}
	w.log = w.log.named(as.Run)
	show := newDisplay(w)
	defer show.end()
	p, out := j.Task.Into(job, rows, j.Output)
	how := howTo(w, show, p, out, as.Observer.Progress)
	late := func(err error) error {
		if err != nil && within.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("it has taken longer than the %v that the schedule gives it; tried again, it goes on from its checkpoint", j.Time)
		}
		return err
	}
	how.Publisher, how.Begun, how.Certified = p.Publisher(), as.Begun, as.Certified
	how.Conclude = func(ctx context.Context, r *pipeline.RunState, o *pipeline.Outcome, fault error) {
		as.Conclude(ctx, r, o, late(fault))
	}
	o, err := pipeline.Train(within, job, rows, out, how)
	err = late(err)
	if errors.Is(err, pipeline.ErrInterrupted) && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return o, err
}

// named returns the log with the name of another run.
func (l *logging) named(run string) *logging {
	return &logging{format: l.format, level: l.level, quiet: l.quiet, run: run}
}

// realClock is the machine's clock.
type realClock struct{}

// Now returns the time.
func (realClock) Now() time.Time { return time.Now() }

// After waits.
func (realClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// promote moves the pointer of a folder to the artifact with this beginning of an id.
func promote(ctx context.Context, w system, folder, id string, who pipeline.Required) (err error) {
	whole, err := config.CertificateIn(folder, id)
	if err != nil {
		return err
	}
	out := config.OutputIn(folder, w.fs)
	c, before, err := schedule.Promote(ctx, out, whole, who, time.Now())
	if err != nil {
		return err
	}
	return promoted(w, c, filepath.Join(folder, config.CurrentFile), whole, before)
}

// promoteOnTopics moves the pointer of a name on topics.
func promoteOnTopics(ctx context.Context, w system, from, id, name string, who pipeline.Required) error {
	s, err := artifactTopicsOf(ctx, w, from)
	if err != nil {
		return err
	}
	c, before, err := s.Promote(ctx, id, name, who)
	if err != nil {
		return err
	}
	return promoted(w, c, name, id, before)
}

// promoted prints which certificate is current.
func promoted(w system, c certify.Certificate, where, id, before string) error {
	show := newDisplay(w)
	defer show.end()
	for _, text := range report.ModelWarnings(c) {
		show.warning(text)
	}
	_, err := fmt.Fprintf(w.stdout, "%s: now %.12s, before %.12s\n", where, id, before)
	return err
}
