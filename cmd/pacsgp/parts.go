package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

func passCommand(w system) *cobra.Command {
	var job, part, output, from string
	var o config.Overrides
	cmd := &cobra.Command{
		Use:   "pass -c job.yaml --part 1/2 -o FILE",
		Short: "Make a part of the last pass, for pacsgp certify",
		Long: "Read a share of the row groups for the last pass, and write the result to a file. It continues what " +
			"train --no-pass left in the job's output directory. Several machines may make parts at the same time.",
		Args: between(0, 0, "none, for the job file is given by -c"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			number, err := parsePart(part)
			if err != nil {
				return config.Argument(err)
			}
			o.Output = from
			p, err := loadJob(cmd.Context(), job, w, o)
			if err != nil {
				return err
			}
			return testPass(cmd.Context(), w, p, number, output)
		},
	}
	f := cmd.Flags()
	overrideFlags(cmd, &job, &o)
	f.StringVar(&part, "part", "1/1", "which part of how many, as in 1/2")
	outputFlag(cmd, &output, "file")
	f.StringVar(&from, "from", "", "output directory of train, if not the job's")
	return cmd
}

func certifyCommand(w system) *cobra.Command {
	var job string
	var asJSON bool
	var o config.Overrides
	cmd := &cobra.Command{
		Use:   "certify -c job.yaml PART ...",
		Short: "Certify a model from all parts of its last pass",
		Long: "Merge the parts of the last pass that pacsgp pass made, in any order, and publish model and certificate " +
			"with the same bytes that train would have written.",
		Args: between(1, 1<<20, "PART ..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := loadJob(cmd.Context(), job, w, o)
			if err != nil {
				return err
			}
			outcome, err := certifyParts(cmd.Context(), w, p, args)
			if err != nil {
				return err
			}
			return outcome.end(w, asJSON)
		},
	}
	jobFlags(cmd, &job, &o)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the run record instead of the report")
	return cmd
}

// parsePart parses a part, as in 1/2. For tasks that count from 0, part 0/2 is the last one.
func parsePart(text string) (pass.Part, error) {
	number, of, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(number)
	k, err2 := strconv.Atoi(of)
	if err != nil || err2 != nil || n < 0 || n > k || k < 1 || k > 1e6 {
		return pass.Part{}, fmt.Errorf("--part: %q: want the number of a part and how many there are, as in 1/2", text)
	}
	return pass.Part{Number: cmp.Or(n, k), Of: k}, nil
}

func testPass(ctx context.Context, w system, p config.Task, part pass.Part, output string) (err error) {
	show := newDisplay(w)
	defer show.end()
	if err := config.MayCreate(output, p.Source); err != nil {
		return config.Argument(fmt.Errorf("-o: %w", err))
	}
	h, err := p.TrainingState()
	if err == nil && h.First() { // pacsgp-beam makes the parts of a first pass
		_, err = h.Trained(ctx)
	}
	if err != nil {
		return err
	}
	if err := config.MayReplace(output, h.Files()); err != nil {
		return err
	}
	prepared, err := config.Prepare(ctx, p, h)
	if err != nil {
		return err
	}
	defer prepared.Close()
	found, err := prepared.Pass(ctx, part)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	if err := config.WriteFile(w.fs, output, h.Files(), func(to io.Writer) error { return found.Write(ctx, to) }); err != nil {
		return err
	}
	shards, rows := found.Size()
	_, err = fmt.Fprintf(w.stdout, "%s: part %s of the last pass, %s in %s\n", output, part, words.Count(rows, "row"), words.Count(int64(shards), "row group"))
	return err
}

func certifyParts(ctx context.Context, w system, p config.Task, parts []string) (*outcome, error) {
	show := newDisplay(w)
	defer show.end()
	h, err := p.TrainingState()
	if err != nil {
		return nil, err
	}
	out := p.Destination(w.fs)
	found, err := config.Certify(ctx, p, h, parts, out, howTo(w, show, p, out, nil))
	if err != nil {
		return nil, err
	}
	return &outcome{found, p}, nil
}
