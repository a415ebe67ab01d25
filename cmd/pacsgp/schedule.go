package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/sink/report"
)

func scheduleCommand(w system) *cobra.Command {
	var path, metrics string
	var once, list, asJSON bool
	cmd := &cobra.Command{
		Use:   "schedule schedule.yaml",
		Short: "Train jobs on a schedule; a certified model becomes current",
		Long: "Run jobs when they are due (by time, by new rows or files, by the lag of a topic), and make a new model " +
			"current if the declared rule allows it. Each output stores the state of its job, so a killed scheduler " +
			"can resume. docs/howto/retrain.md explains the schedule file.\n\n" +
			"With --once the command runs the jobs that are due and exits, for another scheduler such as cron. Its " +
			"exit status is the worst among these runs and the jobs whose latest run failed: 78 (bad configuration) " +
			"before 1, and 1 before 3.",
		Args: orFile(&path, "the schedule file"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, jobs, err := loadSchedule(cmd.Context(), path, w)
			if err != nil {
				return err
			}
			switch {
			case once && list:
				return config.Argument(errors.New("--once and --runs: want one of them"))
			case asJSON && !list:
				return config.Argument(errors.New("--json: it belongs to --runs"))
			case metrics != "" && !once:
				return config.Argument(errors.New("--metrics: it belongs to --once; a service answers at serve"))
			case list:
				return listRuns(cmd.Context(), w, jobs, asJSON)
			}
			return runSchedule(cmd.Context(), w, c, jobs, rounds{file: path, once: once, metrics: metrics})
		},
	}
	cmd.PersistentFlags().StringVarP(&path, "config", "c", "", "the schedule file (YAML)")
	cmd.AddCommand(scheduleRunCommand(w, &path))
	f := cmd.Flags()
	f.StringVar(&metrics, "metrics", "", "with --once: write metrics here, for node_exporter")
	f.BoolVar(&once, "once", false, "run the jobs that are due, and exit")
	f.BoolVar(&list, "runs", false, "print the runs, and exit; JSON unless on a terminal")
	f.BoolVar(&asJSON, "json", false, "with --runs: print JSON, one line per run")
	return cmd
}

func scheduleRunCommand(w system, path *string) *cobra.Command {
	return &cobra.Command{
		Use:   "run JOB -c FILE",
		Short: "Run a job of a schedule now",
		Long: "Run a job of a schedule now, due or not, under the next number of its sequence. Do not let values in the " +
			"rows decide when: the certificate would then be worth less than it says.",
		Args: between(1, 1, "JOB, a name in the schedule file"),
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

// A listedRun is a run in the output of --runs.
type listedRun struct {
	pipeline.Scheduled

	State       pipeline.State `json:"state"`
	Began       time.Time      `json:"began"`
	Ended       *time.Time     `json:"ended,omitempty"`
	Exit        *int           `json:"exit_status,omitempty"`
	Fault       string         `json:"fault,omitempty"`
	Certificate string         `json:"certificate,omitempty"`
}

// listRuns prints the runs of the jobs by their beginning: as a table on a terminal, else as JSON, one line a run.
func listRuns(ctx context.Context, w system, jobs []*config.ScheduledTask, asJSON bool) error {
	var all []*pipeline.RunState
	for _, j := range jobs {
		runs, err := j.Runs()
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		all = slices.AppendSeq(all, runs)
	}
	slices.SortStableFunc(all, func(a, b *pipeline.RunState) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Scheduled.Number, b.Scheduled.Number))
	})
	if w.style.Width > 0 && !asJSON {
		return tabulate(w, all)
	}
	lines := json.NewEncoder(w.stdout)
	for _, r := range all {
		if err := lines.Encode(listedRun{*r.Scheduled, r.State, r.Began, r.Ended, r.Exit, r.Fault, schedule.Certificate(r)}); err != nil {
			return err
		}
	}
	return nil
}

// tabulate prints a line for each run, and its reason below where the terminal is too narrow for both.
func tabulate(w system, runs []*pipeline.RunState) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(w.stdout, "no run yet")
		return err
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "run\tbegan (UTC)\tjob\tstate\tpromise\t")
	reasons := []string{"reason"}
	for _, r := range runs {
		promise := ""
		if r.Record != nil && r.Record.Status == certify.StatusCertified && r.Record.Bound < 1 { // else an interval is certified
			promise = "≤ " + words.PercentUp(r.Record.Bound)
		} else if r.Record != nil {
			promise = string(r.Record.Status)
		}
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t\n", r.Scheduled.Number, r.Began.UTC().Format("2006-01-02 15:04"), r.Scheduled.Job, r.State, promise)
		reasons = append(reasons, report.Escape(strings.ReplaceAll(r.Reason(), "\n", "; ")))
	}
	_ = table.Flush() // into memory
	for i, row := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		if utf8.RuneCountInString(row+reasons[i]) > w.style.Width {
			row = strings.TrimRight(row, " ") + "\n     "
		}
		_, _ = fmt.Fprintln(w.stdout, strings.TrimRight(row+reasons[i], " \n"))
	}
	return nil
}

// rounds are the settings of one call of the scheduler.
type rounds struct {
	file    string // of the schedule
	once    bool   // end after one round
	now     bool   // run jobs whether or not they are due
	metrics string // file for the metrics of the round; "" for none
}

// runSchedule runs the scheduler until ctx is done, or for one round.
func runSchedule(ctx context.Context, w system, c config.ScheduleFile, jobs []*config.ScheduledTask, how rounds) error {
	show := newDisplay(w)
	m := newScheduleMetrics(jobs)
	var outputs []string
	var all []*schedule.Job
	for _, j := range jobs {
		outputs, all = append(outputs, j.Task.Output), append(all, j.Job)
	}
	s := newScheduler(w, c, jobs, m)
	quiet := true
	s.Now = how.now
	s.Observer.Event = func(text string) {
		quiet = false
		show.event(text)
	}
	var warned []string // warnings of the round
	s.Observer.Warning = func(text string) {
		if how.once {
			warned = append(warned, text)
		} else {
			show.warning(text)
		}
	}
	if c.Serve.Declared() {
		s.Lagged = func(j *schedule.Job, offsets int64) { m.set("pacsgp_scheduled_lag_offsets", float64(offsets), j.Name) }
	}
	return operate(ctx, show, c.Serve, m.registry, m.ready, outputs, !how.once, func() error {
		if !how.once {
			return s.Serve(ctx, all, realClock{})
		}
		err := s.Once(ctx, all, realClock{})
		for _, text := range warned {
			if err == nil || !strings.Contains(err.Error(), text) {
				show.warning(text)
			}
		}
		if err == nil && quiet && warned == nil {
			err = nothingDue(ctx, w.stdout, how.file, all)
		}
		if how.metrics != "" {
			err = errors.Join(err, m.write(how.metrics))
		}
		return err
	})
}

// nothingDue prints that no job was run, and when the next runs are due.
func nothingDue(ctx context.Context, out io.Writer, file string, jobs []*schedule.Job) error {
	_, err := fmt.Fprintln(out, "nothing is due: no job was run")
	for _, j := range jobs {
		at, fault := j.Due(ctx, time.Now())
		when := "when enough new data has come"
		if at != nil {
			when = at.Format("at 2006-01-02 15:04 UTC")
		}
		_, _ = fmt.Fprintf(out, "%s: the next run is due %s; pacsgp schedule run %[1]s -c %[3]s runs it now\n", j.Name, when, report.Shell(file))
		err = cmp.Or(err, fault)
	}
	return err
}

// newScheduler returns a scheduler that trains as the command does and updates m. It shows nothing.
func newScheduler(w system, c config.ScheduleFile, jobs []*config.ScheduledTask, m *scheduleMetrics) *schedule.Scheduler {
	task := func(j *schedule.Job) *config.ScheduledTask {
		return jobs[slices.IndexFunc(jobs, func(t *config.ScheduledTask) bool { return t.Job == j })]
	}
	return &schedule.Scheduler{
		Poll: c.Every(), Seen: m.seen, Damaged: func(j *schedule.Job) error { return config.Damaged(task(j).Task.Output) },
		Ended: func(j *schedule.Job, r *pipeline.RunState) {
			m.add("pacsgp_scheduled_runs_total", 1, j.Name, string(r.State), schedule.Cause(r))
		},
		Train: func(ctx context.Context, j *schedule.Job, one job.Job, rows dataset.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
			of := task(j)
			how.Observer.Progress = func(step job.Progress) {
				if step.Steps > 0 {
					m.set("pacsgp_training_bound_estimate", step.Bound)
				}
			}
			return trainScheduled(ctx, w, of, one, rows, how)
		},
	}
}

// trainScheduled runs a job within the time limit of its schedule.
func trainScheduled(ctx context.Context, w system, j *config.ScheduledTask, job job.Job, rows dataset.Rows, as pipeline.RunConfig) (*pipeline.Outcome, error) {
	within, cancel := context.WithTimeout(ctx, cmp.Or(j.Time, math.MaxInt64))
	defer cancel()
	log := *w.log
	log.run, w.log = as.Run, &log
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
	if o != nil {
		c, reuse := o.Result.Certificate, ""
		if l := c.Delta.Reuse; l != nil && !l.Ended {
			reuse = " These held-out rows were used before, which makes the bound larger; a run with new rows has new ones."
		}
		show.event(j.Name + ": " + report.Headline(c, c.About(p.Require.Of)) + reuse)
	}
	return o, err
}

// realClock is the machine's clock.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// scheduleMetrics are the metrics of a scheduler.
type scheduleMetrics struct {
	meters

	mu     sync.Mutex
	faults map[string]string // by job: why its last check or run has failed
}

func newScheduleMetrics(jobs []*config.ScheduledTask) *scheduleMetrics {
	m := &scheduleMetrics{meters: newMeters(), faults: map[string]string{}}
	m.counter("pacsgp_scheduled_runs_total", "Runs that have ended, by job, state and cause.", "job", "state", "cause")
	m.gauge("pacsgp_training_bound_estimate", "Estimate of the bound at the last step of training.")
	m.gauge("pacsgp_scheduled_bound", "Bound of the last certificate of a job, of the predictor that it requires, whatever its status.", "job")
	m.gauge("pacsgp_scheduled_lag_offsets", "Committed offsets of the topic of a job that are in no window yet, at the last check.", "job")
	m.gauge("pacsgp_scheduled_failing", "1 if the last run of a job has failed, or it is unknown whether it is due, else 0.", "job")
	m.gauge("pacsgp_scheduled_last_success_timestamp_seconds", "End of the last run of a job with status 0.", "job")
	m.gauge("pacsgp_scheduled_current_timestamp_seconds", "When the current certificate of a job became current.", "job")
	m.gauge("pacsgp_scheduled_current_unmoved_runs", "Finished runs of a job since then that could not have replaced it: without the required certificate, or about something else.", "job")
	m.gauge("pacsgp_scheduled_future_files", "Files that the last run of a job left out because they are dated after it.", "job")
	m.gauge("pacsgp_scheduled_replaced_files", "Files of the last run of a job that were written again since the run before.", "job")
	for _, j := range jobs {
		m.seen(j.Job, nil)
	}
	return m
}

// seen updates the metrics of a job after a check: how its runs have ended, and which model is current. fault, if not
// nil, is why it is unknown if the job is due.
func (m *scheduleMetrics) seen(j *schedule.Job, fault error) {
	at, err := j.Standing()
	if err = cmp.Or(fault, err); err != nil {
		m.fails(j.Name, err.Error())
		return
	}
	if !at.Succeeded.IsZero() {
		m.set("pacsgp_scheduled_last_success_timestamp_seconds", unixSeconds(at.Succeeded), j.Name)
	}
	m.set("pacsgp_scheduled_current_unmoved_runs", float64(at.Unmoved), j.Name)
	if at.Last != nil {
		m.set("pacsgp_scheduled_replaced_files", float64(len(at.Last.Scheduled.Replaced)), j.Name)
		m.set("pacsgp_scheduled_future_files", float64(len(at.Last.Scheduled.Future)), j.Name)
	}
	if c := at.Certified; c != nil && c.Record != nil {
		m.set("pacsgp_scheduled_bound", c.Record.Bound, j.Name)
	}
	if c := at.Current; c != nil {
		m.set("pacsgp_scheduled_current_timestamp_seconds", unixSeconds(c.Since), j.Name)
	}
	m.fails(j.Name, at.Fault())
}

// fails records why a job has failed, or why it is unknown if it is due; "" means neither.
func (m *scheduleMetrics) fails(job, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.faults[job] = why; why == "" {
		delete(m.faults, job)
	}
	m.set("pacsgp_scheduled_failing", float64(min(len(why), 1)), job)
}

// ready returns why jobs fail, or nil if none does.
func (m *scheduleMetrics) ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(slices.Sorted(maps.Values(m.faults)), "\n"))
}
