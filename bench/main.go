// Bench compares this program with its best alternatives, in one run on one machine. Candidates are measured
// one after another, in several rounds. It makes the tables of docs/explanation/results.md, section "Side by
// side". README.md lists the measures.
//
//	go -C bench run . [-only lastpass,accuracy,svgp,gradient,parquet,scale,sweep] [-rounds 5] [-write]
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

// A measure makes one section of the page.
type measure struct {
	name string
	run  func(context.Context, *bench) (string, error)
}

var measures = []measure{
	{"lastpass", lastPass},
	{"accuracy", accuracy},
	{"svgp", svgp},
	{"gradient", gradient},
	{"parquet", parquet},
	{"scale", scale},
	{"sweep", sweep},
}

func main() {
	only := flag.String("only", "", "comma-separated measures of README.md; empty means all, which takes an hour and more")
	rounds := flag.Int("rounds", 5, "interleaved runs of each; medians are shown")
	write := flag.Bool("write", false, "put the tables into the page")
	page := flag.String("page", filepath.Join("docs", "explanation", "results.md"), "the page")
	data := flag.String("data", measured.Data(), "folder of the data sets")
	flag.Parse()
	b := &bench{rounds: max(1, *rounds), work: filepath.Join("out", "bench"), data: *data, log: os.Stderr}
	if b.docs = b.work; *write {
		b.docs = filepath.Dir(*page)
	}
	measured.Main("bench", func(ctx context.Context) error { return b.run(ctx, *only, *page, *write) })
}

func (b *bench) run(ctx context.Context, only, page string, write bool) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.work, 0o755); err != nil {
		return err
	}
	about, err := b.prepare(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, m := range chosen {
		b.logf("== %s", m.name)
		text, err := m.run(ctx, b)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", m.name, err))
			continue
		}
		text += "\n" + about
		fmt.Fprintf(os.Stdout, "%s\n", text)
		if write {
			failed = errors.Join(failed, measured.ReplaceSection(page, "bench "+m.name, text))
		}
	}
	return failed
}

// choose returns the measures of a list of names; all for an empty list.
func choose(only string) ([]measure, error) {
	if only == "" {
		return measures, nil
	}
	var chosen []measure
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(measures, func(m measure) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown measure %q: README.md lists them", name)
		}
		chosen = append(chosen, measures[i])
	}
	return chosen, nil
}
