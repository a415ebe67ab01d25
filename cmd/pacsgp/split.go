package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink"
)

func splitCommand(w system) *cobra.Command {
	var output string
	cmd := onJob(w, &cobra.Command{
		Use:   "split job.yaml -o split.parquet",
		Short: "Write the subset of each row, to fit another model elsewhere",
		Long: "Write one row for each row of the job's files: file, row in the file, ordinal in the dataset, and subset " +
			"(prior, training, holdout, outside or rejected). The column that mean names may still be missing; keep " +
			"the order of rows in the files when you add it. Rows are read only if the job names a unit: all usable " +
			"rows of a unit are in the same subset.",
	}, nil, func(ctx context.Context, p config.Task) error {
		return split(ctx, w, p, output)
	})
	outputFlag(cmd, &output, "file")
	return cmd
}

func split(ctx context.Context, w system, p config.Task, output string) error {
	if _, files := p.Source.(config.Lake); !files {
		return config.Argument(errors.New("split: the job's rows come from no files that stay"))
	}
	if err := config.MayCreate(output, p.Source); err != nil {
		return config.Argument(fmt.Errorf("-o: %w", err))
	}
	p.Job.Mean = job.MeanDecl{}
	src, err := p.Open(ctx, nil)
	if err != nil {
		return err
	}
	rows := int64(0)
	if err := config.WriteFile(w.fs, output, config.Paths(src), func(to io.Writer) error {
		out := sink.NewSplit(to)
		if err := pipeline.Split(ctx, p.Job, src, p.Resources, func(at dataset.Position, ordinal int64, subset string) error {
			rows++
			return out.Write(at, ordinal, subset)
		}); err != nil {
			return err
		}
		return out.Close()
	}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.stdout, "%s: the split of %s\n", output, words.Count(rows, "row"))
	return err
}
