// Results makes the table of docs/results.md: the command, at its default
// settings, on real data. Of each set 80 % of the rows are the job's; the other
// 20 % are read only after the certificate has been written.
//
//	go run ./cmd/results [-data ../shared/data] [-sets pol,kin40k] [-seeds 3]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/pacsgp/pacsgp/internal/measured"
)

// A set is one data set and how the job declares it.
type set struct {
	name   string
	path   string // below the data folder
	target string
	seeds  int    // splits 0..seeds-1
	copies string // what equal rows are, if the default does not do
	spoilt bool   // has nulls: the job is expected to be refused
}

func sets(seeds int) []set {
	return []set{
		{name: "pol", path: "pol", target: "y", seeds: seeds},
		{name: "kin40k", path: "kin40k", target: "y", seeds: seeds},
		{name: "flights", path: "flights", target: "delay", seeds: 1, copies: "independent"}, // whole minutes: some flights are equal
		{name: "beijing_air, one station", path: "beijing_air/Aotizhongxin.parquet", target: "PM2.5", spoilt: true},
	}
}

func main() {
	data := flag.String("data", measured.Data(), "folder of the data sets")
	out := flag.String("out", "docs/results.md", "the page whose section is replaced")
	work := flag.String("work", "out/results", "folder for lakes and artifacts")
	only := flag.String("sets", "", "comma-separated names of sets; empty means all")
	seeds := flag.Int("seeds", 3, "splits of pol and kin40k")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *data, *out, *work, *only, *seeds); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, data, out, work, only string, seeds int) error {
	binary, err := measured.Build(ctx, work, os.Stderr)
	if err != nil {
		return err
	}
	var t table
	for _, s := range sets(seeds) {
		if only != "" && !slices.Contains(strings.Split(only, ","), s.name) {
			continue
		}
		path := filepath.Join(data, s.path)
		if s.spoilt {
			message, err := refusal(ctx, binary, path, work, s)
			if err != nil {
				return err
			}
			t.Refusals = append(t.Refusals, refused{s.name, message})
			continue
		}
		for seed := range s.seeds {
			r, err := measure(ctx, binary, path, work, s, seed)
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", s.name, seed, err)
			}
			fmt.Fprintf(os.Stderr, "%s seed %d: bound %.4f, fresh risk %.4f, %.1f s, %d MiB\n", s.name, seed, r.Bound, r.Fresh, r.Seconds, r.PeakMiB)
			t.add(s.name, r)
		}
	}
	return t.write(out)
}

// write replaces the section of a page.
func (t *table) write(path string) error {
	var section strings.Builder
	if err := template.Must(template.New("section").Parse(sectionText)).Execute(&section, t); err != nil {
		return err
	}
	return measured.ReplaceSection(path, "results", strings.TrimSuffix(section.String(), "\n"))
}
