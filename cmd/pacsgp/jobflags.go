package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
)

func (w system) environment() config.Environment {
	return config.Environment{Lookup: w.lookup, Warning: newDisplay(w).warning}
}

// budgetFlags declares the flags of a budget. memory describes what the memory is for.
func budgetFlags(cmd *cobra.Command, b *config.Budget, memory string) {
	cmd.Flags().Func("memory", "most memory "+memory+"\n(a `size` such as 512MiB)", b.Memory.Set)
	cmd.Flags().Func("workers", "`number` of processors to use (default: all)", b.Workers.Set)
}

// onJob completes a command on a job file. With overrides, it has flags that override the file.
func onJob(w system, cmd *cobra.Command, o *config.Overrides, run func(ctx context.Context, p config.Task) error) *cobra.Command {
	var path string
	if o != nil {
		jobFlags(cmd, &path, o)
	} else {
		o = &config.Overrides{}
		cmd.Flags().StringVarP(&path, "config", "c", "", "the job file (YAML)")
	}
	cmd.Args = orFile(&path, "the job file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p, err := loadJob(cmd.Context(), path, w, *o)
		if err != nil {
			return err
		}
		return run(cmd.Context(), p)
	}
	return cmd
}

// jobFlags declares the flags that name a job file and override its keys.
func jobFlags(cmd *cobra.Command, path *string, o *config.Overrides) {
	overrideFlags(cmd, path, o)
	cmd.Flags().StringVarP(&o.Output, "output", "o", "", "output directory")
}

// overrideFlags is jobFlags without output.
func overrideFlags(cmd *cobra.Command, path *string, o *config.Overrides) {
	cmd.Flags().StringVarP(path, "config", "c", "", "the job file (YAML)")
	budgetFlags(cmd, &o.Budget, "for rows kept between passes")
}

// orFile accepts the file of -c as an argument too.
func orFile(path *string, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		most := 1
		if *path != "" {
			most = 0
		}
		if err := between(0, most, what+", once")(cmd, args); err != nil {
			return err
		}
		if *path = cmp.Or(*path, strings.Join(args, "")); *path == "" {
			return config.Argument(fmt.Errorf("name %s; examples/ has some", what))
		}
		return nil
	}
}

// loadJob reads a job file, applies the overrides, and returns all faults.
func loadJob(ctx context.Context, path string, w system, o config.Overrides) (config.Task, error) {
	if path == "" {
		return config.Task{}, config.Argument(errors.New("name the job file; examples/ has some"))
	}
	p, err := config.ReadJob(ctx, path, w.environment(), o)
	if err == nil && w.change != nil {
		w.change(&p.Job)
	}
	return p, err
}

// loadSchedule reads a schedule file and its jobs, and returns all faults.
func loadSchedule(ctx context.Context, path string, w system) (config.ScheduleFile, []*config.ScheduledTask, error) {
	if path == "" {
		return config.ScheduleFile{}, nil, config.Argument(errors.New("name the schedule file with -c; examples/schedule/ has one"))
	}
	return config.ReadSchedule(ctx, path, w.environment(), w.fs, versionLine())
}

// outputFlag declares -o, which the command needs.
func outputFlag(cmd *cobra.Command, output *string, what string) {
	cmd.Flags().StringVarP(output, "output", "o", "", "the "+what+" to write")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *output == "" {
			return config.Argument(fmt.Errorf("-o: name the %s to write", what))
		}
		return nil
	}
}

// dataOf returns the origin of a command's rows: its arguments, the source of a job file, or nil.
func dataOf(ctx context.Context, w system, arguments []string, job string) (config.Origin, error) {
	switch {
	case job != "" && len(arguments) > 0:
		return nil, config.Argument(errors.New("--source: DATA are given too; want one of them"))
	case job != "":
		p, err := loadJob(ctx, job, w, config.Overrides{})
		config.MakeTemporary(p.Source, true) // the command must not use the job's own spool
		return p.Source, err
	case len(arguments) > 0:
		return config.OriginOf(arguments)
	default:
		return nil, nil
	}
}
