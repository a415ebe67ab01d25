package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// amendCommand takes a changed job on.
func amendCommand(w system, path *string) *cobra.Command {
	return &cobra.Command{
		Use:   "amend JOB",
		Short: "Take a changed job of a schedule on, with the next number of its sequence",
		Long: "Take a job on as its file has it now, from the next number of its sequence on; without this a\n" +
			"changed job is refused. It keeps delta. Its looks at hold-out rows pay for those of\n" +
			"the numbers before, and its certificates say that the job was changed. The record is needed:\n" +
			"end a scheduler that has it. docs/schedule.md says what it costs.",
		Args: exactly(1, "JOB, a name in the schedule file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJob(cmd.Context(), w, *path, args[0], func(_ config.ScheduleFile, jobs []*config.ScheduledTask, _ schedule.Record) error {
				from, err := jobs[0].Job.Amend(cmd.Context(), time.Now())
				switch {
				case err != nil:
					return err
				case from == 0:
					_, err = fmt.Fprintf(w.stdout, "%s: its sequence has no other job: nothing was changed\n", args[0])
				default:
					_, err = fmt.Fprintf(w.stdout, "%s: its sequence has the job as it is now, from number %d on\n", args[0], from)
				}
				return err
			})
		},
	}
}

// withJob calls do with one job of a schedule, and holds the schedule's record meanwhile.
func withJob(ctx context.Context, w system, path, name string, do func(config.ScheduleFile, []*config.ScheduledTask, schedule.Record) error) error {
	c, jobs, err := loadSchedule(ctx, path, w)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(jobs, func(j *config.ScheduledTask) bool { return j.Name == name })
	if i < 0 {
		return config.Argument(fmt.Errorf("JOB: %q is no job of %s", name, path))
	}
	record, err := c.OpenRecord(w.fs)
	if err != nil {
		return err
	}
	return errors.Join(do(c, jobs[i:i+1], record), record.Close())
}
