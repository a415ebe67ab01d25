// Paper repeats the experiments of Reeb et al. 2018 (NeurIPS): the same splits and protocol, all rows of its
// tables, and its figures.
//
//	go -C bench run ./paper NAME [flags]
//
// NAME is boston, sparse, inducing, exp-loss, snelson, overfit, discretisation or all. Results that are in -out
// already are not computed again, so that an interrupted run resumes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/bench/measured"
)

// An experiment is one table or figure of the paper.
type experiment struct {
	name string
	run  func(context.Context, options) error
}

func experiments() []experiment {
	table := func(paper string) func(context.Context, options) error {
		return func(ctx context.Context, o options) error { return runTable(ctx, paper, o) }
	}
	return []experiment{
		{"boston", table("boston")},
		{"sparse", table("sparse")},
		{"inducing", runInducing},
		{"exp-loss", table("exp")},
		{"snelson", runSnelson},
		{"overfit", runOverfit},
		{"discretisation", runDiscretisation},
	}
}

func main() {
	var names []string
	for _, e := range experiments() {
		names = append(names, e.name)
	}
	var o options
	flags := flag.NewFlagSet("paper", flag.ExitOnError)
	flags.StringVar(&o.data, "data", measured.Data(), "folder of the data sets")
	flags.StringVar(&o.out, "out", filepath.Join("out", "paper"), "folder for results")
	flags.StringVar(&o.only, "only", "", "only rows of a table whose name this regular expression finds, as in 'pol.*VFE'")
	flags.IntVar(&o.reps, "reps", 10, "splits; starts of overfit are ten times as many")
	flags.IntVar(&o.evaluations, "evaluations", defaultEvaluations, "gradients of a minimisation, at most; of an evidence or of mini-batches, which are cheaper, up to three times as many")
	flags.IntVar(&o.inducing, "inducing", defaultInducing, "inducing points of the sparse methods")
	flags.StringVar(&o.start, "start", "", "only rows with this start of the search: published, pre-trained or mini-batch")
	flags.BoolVar(&o.write, "write", false, "put the results into the page and paper-results.csv next to it, over the same rows; all does so")
	flags.StringVar(&o.page, "page", filepath.Join("docs", "explanation", "paper.md"), "the page")
	usage := "usage: paper " + strings.Join(append(names, "all"), "|") + " [flags]"
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
		flags.Usage()
		os.Exit(2)
	}
	_ = flags.Parse(os.Args[2:]) // it exits
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "paper: %q is neither a flag nor its value: one NAME, and flags after it\n", flags.Arg(0))
		os.Exit(2)
	}
	o.command = "go -C bench run ./paper"
	for _, word := range os.Args[1:] {
		if strings.ContainsAny(word, " *?()[]|") {
			word = "'" + word + "'"
		}
		o.command += " " + word
	}
	measured.Main("paper", func(ctx context.Context) error {
		err := run(ctx, os.Args[1], o)
		if ctx.Err() != nil {
			err = errors.New("interrupted; units that are finished stay in -out, and are not computed again")
		} else if err == nil {
			fmt.Fprintln(os.Stdout, "written to "+o.out)
		}
		return err
	})
}

func run(ctx context.Context, name string, o options) error {
	all := experiments()
	i := slices.IndexFunc(all, func(e experiment) bool { return e.name == name })
	if i < 0 && name != "all" {
		return fmt.Errorf("there is no experiment %q", name)
	}
	if err := o.check(name); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil { //nolint:gosec // results are for everybody to read
		return err
	}
	if i >= 0 {
		return all[i].run(ctx, o)
	}
	o.write = true
	for _, e := range all {
		if err := e.run(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}
