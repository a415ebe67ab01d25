package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
)

func scheduleCommand(w system) *cobra.Command {
	var path string
	var once, list bool
	cmd := &cobra.Command{
		Use:   "schedule -c schedule.yaml",
		Short: "Train jobs on a schedule, and keep the pointer on the certified one",
		Long: "Run jobs when they are due (by time, by new rows or files, by the lag of a topic) and move\n" +
			"the pointer of their outputs by the declared rule. What has run stands in the record, from\n" +
			"which missed runs are told; one scheduler at a time has it. docs/schedule.md explains the\n" +
			"schedule file.\n\n" +
			"With --once what is due now is run, and the command ends: for another scheduler that\n" +
			"calls it again and again. Its exit status is the worst of the runs: 78\n" +
			"(bad configuration) before 1, and 1 before 3.",
		Args: exactly(0, "none, for the schedule file is given by -c"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, jobs, err := loadSchedule(cmd.Context(), path, w)
			if err != nil {
				return err
			}
			if once && list {
				return usageError{errors.New("--once and --runs: want one of them")}
			}
			if list {
				record, err := readRecord(c.Record)
				if err != nil {
					return err
				}
				return errors.Join(listRuns(w, record), record.Close())
			}
			record, err := openRecord(c.Record)
			if err != nil {
				return err
			}
			return errors.Join(schedule(cmd.Context(), w, c, jobs, record, realClock{}, once), record.Close())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&path, "config", "c", "", "the schedule file (YAML)")
	f.BoolVar(&once, "once", false, "run what is due now, and end")
	f.BoolVar(&list, "runs", false, "print the record of runs as JSON, and end")
	return cmd
}

func promoteCommand(w system) *cobra.Command {
	who := pipeline.JudgeMean
	cmd := &cobra.Command{
		Use:   "promote ID DIR",
		Short: "Make a certified model of an output directory the current one",
		Long: "Move the pointer of an output directory to a certificate in it, as to roll back. The\n" +
			"certificate must be what follows from its model, and certify something.",
		Args: exactly(2, "ID DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := config.Local(args[1]); err != nil {
				return err
			}
			if who != pipeline.JudgeMean && who != pipeline.JudgeDraw {
				return usageError{fmt.Errorf("--judge: %q is neither %s nor %s", who, pipeline.JudgeMean, pipeline.JudgeDraw)}
			}
			return promoted(cmd.Context(), w, args[1], args[0], who)
		},
	}
	cmd.Flags().StringVar((*string)(&who), "judge", string(pipeline.JudgeMean), "which guarantee is to be certified: mean or draw")
	return cmd
}

// listRuns prints the record.
func listRuns(w system, record *scheduleRecord) error {
	all, err := record.runs()
	if err != nil {
		return err
	}
	return printJSON(w.stdout, all)
}

// schedule looks again and again what is due, or with once a single time. Runs follow one
// another: a machine that trains two models at a time trains each at half the speed.
func schedule(ctx context.Context, w system, c config.ScheduleFile, jobs []*scheduled, record *scheduleRecord, clock clock, once bool) (err error) {
	show := newDisplay(w)
	m := newScheduleMetrics(jobs)
	var outputs []string
	for _, j := range jobs {
		outputs = append(outputs, j.prepared.Output)
	}
	unserve, err := serve(ctx, c.Serve, asked{m.registry, func() error { return nil }, outputs, m.live.live}, show.event)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unserve()) }()
	s := &scheduler{
		record: record, fs: w.fs, poll: c.Every(),
		say: func(text string) {
			show.event(text)
			m.live.fact("last event", text)
		},
		warn: func(text string) {
			if once {
				show.event(text) // the error at the end says it again
			} else {
				show.notice(text)
			}
			m.live.fact("last event", text)
		},
		train: func(ctx context.Context, j *scheduled, p prepared) (*outcome, error) {
			p.watch = m.began(j, p)
			o, err := limited(ctx, j, p, w)
			m.ended(j, o, err)
			return o, err
		},
	}
	if c.Serve.Declared() {
		s.lagged = m.lagged
	}
	return s.serve(ctx, jobs, clock, once)
}

func (s *scheduler) serve(ctx context.Context, jobs []*scheduled, clock clock, once bool) error {
	for _, j := range jobs { // no run begins if one of them was changed
		known, err := s.record.job(j.Name)
		if err != nil {
			return err
		}
		if err := s.agree(ctx, j, known, clock.Now()); errors.Is(err, pipeline.ErrConfig) {
			return err // any other is told when the job is looked at
		}
	}
	for _, j := range jobs {
		if err := s.recover(j, clock.Now()); err != nil {
			return err
		}
	}
	if once {
		return s.round(ctx, jobs, clock)
	}
	for {
		began := clock.Now()
		for _, j := range jobs {
			if _, err := s.look(ctx, j, clock.Now()); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if s.looked != nil {
			s.looked(began)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-clock.After(s.poll):
		}
	}
}

// A clock tells the time, and when so much of it is over.
type clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// realClock is that of the machine.
type realClock struct{}

// Now is the time.
func (realClock) Now() time.Time { return time.Now() }

// After waits.
func (realClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// round looks once at each job. Its error is of each run that failed or was not certified,
// and of each source that cannot be seen.
func (s *scheduler) round(ctx context.Context, jobs []*scheduled, clock clock) error {
	var said []error
	var exits []int
	failed := func(exit int, err error) { exits, said = append(exits, exit), append(said, err) }
	for _, j := range jobs {
		s.unlisted = nil
		run, err := s.look(ctx, j, clock.Now())
		if err != nil {
			return errors.Join(append(said, err)...)
		}
		if s.unlisted != nil {
			failed(exitFailure, s.unlisted)
		}
		if run != nil && run.Exit != nil && *run.Exit != 0 {
			failed(*run.Exit, errors.New(run.words()))
		}
	}
	if said == nil {
		return nil
	}
	return roundError{errors.Join(said...), worst(exits)}
}

// A roundError says what failed of several runs.
type roundError struct {
	error

	exit int // of the worst
}

// worst is the worst of exit statuses that are not 0: what no repetition mends is worse than
// a failure, and a failure worse than a run that was not certified.
func worst(exits []int) int {
	switch {
	case slices.Contains(exits, exitConfig):
		return exitConfig
	case slices.ContainsFunc(exits, func(exit int) bool { return exit != exitNotCertified }):
		return exitFailure
	default:
		return exitNotCertified
	}
}
