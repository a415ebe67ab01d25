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

// A system is the environment of the command. Tests have one of their own.
type system struct {
	stdout, stderr io.Writer
	lookup         func(string) (string, bool) // environment variables
	fs             durable.FS
	terminal       int          // columns of the terminal behind stderr; 0: no terminal
	style          report.Style // of standard output
	log            *logging
	demo           demoSize
	change         func(*job.Job) // of a test; or nil

	// stdout and stderr without an [report.Escaper], for colours and the progress bar: their
	// words are the program's own or escaped already.
	paper, screen io.Writer
}

// between wraps cobra's check of the number of arguments.
func between(least, most int, names string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return config.Argument(fmt.Errorf("got %d arguments, want %s", len(args), names))
		}
		return nil
	}
}

// printJSON prints a document for machines: snake_case, times in seconds, lists that are empty as [].
func printJSON(w io.Writer, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", text)
	}
	return err
}

// A demoSize is the size of a demo with the paper's artificial data.
type demoSize struct {
	rows, fresh int64
	files       int
	inducing    int
}
