package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
)

func schemaCommand(w system) *cobra.Command {
	kinds := []string{config.KindJob, config.KindSchedule, config.KindScore, config.KindWatch}
	return &cobra.Command{
		Use:   "schema [job|schedule|score|watch]",
		Short: "Print the JSON Schema of a job or other file, for editors",
		Long: "Print the JSON Schema of a job, schedule, score or watch file. Editors complete and check a file by it " +
			"while you write; pacsgp lint checks the rest.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && !slices.Contains(kinds, args[0]) {
				return config.Argument(fmt.Errorf("%q: want one of %s", strings.Join(args, " "), strings.Join(kinds, ", ")))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			kind := config.KindJob
			if len(args) > 0 {
				kind = args[0]
			}
			return printJSON(w.stdout, config.Schema(kind))
		},
	}
}
