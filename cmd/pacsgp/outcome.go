package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

// An outcome is a finished run of a task.
type outcome struct {
	*pipeline.Outcome

	task config.Task
}

// verdict is the reason for an exit status other than 0, or nil.
func (o *outcome) verdict() error { return o.task.RunConfig().Verdict(o.Result.Certificate) }

// end prints the outcome, and returns the verdict.
func (o *outcome) end(w system, asJSON bool) error {
	show := func() error { return o.report(w) }
	if asJSON {
		show = func() error { return printJSON(w.stdout, o.Record) }
	}
	if err := show(); err != nil {
		return err
	}
	return o.verdict()
}

// report prints what the run came to, and where everything is.
func (o *outcome) report(w system) error {
	c, r := o.Result.Certificate, o.Record
	report.WriteSummary(w.paper, c, w.style)
	path := func(name string) string { return completed(objects.Join(o.task.Output, name)) }
	retrain := ""
	if c.Counts.Holdout > 0 && c.Publisher.Training.Parent == nil {
		retrain = " --retrain"
	}
	which := report.Shell(o.task.Output)
	if r.Exit != 0 { // it did not become the current model
		which = path(r.Model) + " " + path(r.Certificate)
	}
	_, err := fmt.Fprintf(w.stdout, "\nfit        %s\nmodel      %s\n           %s, %s\nreport     %s\nrecord     %s\nnext       pacsgp verify %s %s%s\n",
		r.Diagnostics.Residuals, path(r.Model), words.Count(r.Training.Inducing, "inducing point"), words.Count(r.Training.Steps, "step"),
		path(config.PlotFile), path(config.RunFile), which, report.Shells(o.task.Source.Arguments(), " "), retrain)
	return err
}

var digest = regexp.MustCompile("([0-9a-f]{12})[0-9a-f]{52}")

// completed is a path with 12 digits of each digest, and a star by which a shell completes it; an address is whole.
func completed(path string) string {
	if objects.IsAddress(path) {
		return report.Shell(path)
	}
	return report.Shells(strings.Split(digest.ReplaceAllString(path, "$1\x00"), "\x00"), "*")
}

// printJSON prints a document for machines: snake_case, times in seconds, lists
// that are empty as [].
func printJSON(w io.Writer, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", text)
	}
	return err
}
