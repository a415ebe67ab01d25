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
		Long: "Print the JSON Schema of a job, schedule, score or watch file. Editors use it to complete and check a " +
			"file while you write; pacsgp lint checks the rest.",
		Args: between(0, 1, "a kind of file"),
		RunE: func(_ *cobra.Command, args []string) error {
			kind := append(args, config.KindJob)[0]
			if !slices.Contains(kinds, kind) {
				return config.Argument(fmt.Errorf("%q: want one of %s", kind, strings.Join(kinds, ", ")))
			}
			return printJSON(w.stdout, config.Schema(kind))
		},
	}
}
