package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

func lintCommand(w system) *cobra.Command {
	var format string
	var offline bool
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "List all faults of job, schedule, score and watch files",
		Long: "Check files as train, schedule, score and watch do. The files that jobs name are opened, but no rows are " +
			"read. All faults are listed at once, each with file, line and column. Exit status: 0 without faults, 1 if " +
			"only files that a job names are at fault, and 78 otherwise.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return config.Argument(errors.New("FILE...: name the job files; examples/ has some"))
			}
			if format != formatText && format != formatJSON {
				return config.Argument(fmt.Errorf("--format: %q is neither text nor json", format))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return lint(cmd.Context(), w, args, format == formatJSON, offline)
		},
	}
	cmd.Flags().StringVar(&format, "format", formatText, "format of the report: text or json")
	cmd.Flags().BoolVar(&offline, "offline", false, "do not open the source")
	return cmd
}

// A linted document is the JSON output of lint. A fault in a missing key has the position of the
// innermost existing section around it, or 1:1 if there is none.
type linted struct {
	Files  []string         `json:"files"`
	Faults []yamlfile.Fault `json:"faults"`
}

func lint(ctx context.Context, w system, paths []string, asJSON, offline bool) error {
	out := linted{Files: paths, Faults: []yamlfile.Fault{}}
	var cause error // job.ErrConfig if a file itself has a fault
	bad, env := 0, w.environment()
	env.Offline = offline
	for _, path := range paths {
		err := config.Check(ctx, path, env)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			bad++
		} else if !asJSON {
			_, _ = fmt.Fprintf(w.stdout, "%s: ok\n", path)
		}
		for _, each := range yamlfile.Separate(err) {
			f, ok := errors.AsType[yamlfile.Fault](each)
			if !ok {
				return err
			}
			if errors.Is(each, job.ErrConfig) {
				cause = job.ErrConfig
			}
			f.File, f.Line, f.Column, f.Text = cmp.Or(f.File, path), max(f.Line, 1), max(f.Column, 1), job.Shortened(inPlainWords(f.Text))
			out.Faults = append(out.Faults, f)
		}
	}
	if asJSON {
		if err := printJSON(w.stdout, out); err != nil {
			return err
		}
	} else {
		for _, f := range out.Faults {
			printMessage(w.stdout, w.style.Width, "", fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, strings.ReplaceAll(f.Text, "\n", " ")))
		}
	}
	if bad == 0 {
		return nil
	}
	return reworded{cause, fmt.Sprintf("%s in %s", words.Count(int64(len(out.Faults)), "fault"), words.Count(int64(bad), "file"))}
}
