package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink/report"
)

// A system is the environment of the command. Tests have their own.
type system struct {
	stdout, stderr io.Writer
	lookup         func(string) (string, bool) // environment variables
	fs             durable.FS
	terminal       int          // columns of the terminal at stderr; 0 means no terminal
	style          report.Style // of standard output
	log            *logging
	demo           demoSize
	change         func(*job.Job) // changes a job in tests; otherwise nil

	// These are stdout and stderr without an [report.Escaper], for colours and the progress bar.
	// Their texts are the program's own, or already escaped.
	paper, screen io.Writer
}

// between checks that there are least to largest arguments. names describes them in the error.
func between(least, largest int, names string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > largest {
			return config.Argument(fmt.Errorf("got %d arguments, want %s", len(args), names))
		}
		return nil
	}
}

// printJSON prints JSON for machines: names in snake_case, times in seconds, empty lists as [].
func printJSON(w io.Writer, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", text)
	}
	return err
}

// A demoSize is the size of a demo with artificial data.
type demoSize struct {
	rows, fresh int64
	files       int
	inducing    int
}
