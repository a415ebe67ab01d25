package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

func planCommand(w system) *cobra.Command {
	var path string
	var asJSON bool
	var o config.Overrides
	cmd := &cobra.Command{
		Use:   "plan job.yaml",
		Short: "Say what a job would read and what so many rows can certify, from footers alone",
		Args:  orFile(&path, "the job file"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := loadJob(cmd.Context(), path, w, o)
			if err != nil {
				return err
			}
			return plan(cmd.Context(), p, w, asJSON)
		},
	}
	jobFlags(cmd, &path, &o)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// A planned job is the output of plan.
type planned struct {
	Files   []plannedFile   `json:"files"`
	Columns []plannedColumn `json:"columns"` // features, then the target
	Notices []string        `json:"notices"`
	pipeline.Plan
	Delta float64 `json:"delta"`

	faults columnFaults

	leastNull, mostNull int64 // rows with a null in a column that is not filled
}

// A plannedFile is a file by its footer.
type plannedFile struct {
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes"`
	Rows      int64  `json:"rows"`
	RowGroups int    `json:"row_groups"`
}

// A plannedColumn is a used column by the footers.
type plannedColumn struct {
	Name      string   `json:"name"`
	Nulls     int64    `json:"nulls"`
	Uncounted int64    `json:"rows_with_uncounted_nulls"`
	Least     *float64 `json:"least"` // null if a footer does not tell
	Most      *float64 `json:"most"`
	Filled    bool     `json:"filled,omitempty"`
}

func plan(ctx context.Context, p config.Task, w system, asJSON bool) (err error) {
	config.MakeTemporary(p.Source, false)
	defer func() { err = errors.Join(err, p.Source.Release(false)) }()
	show := newDisplay(w)
	defer show.end()
	out, err := planOne(ctx, p, p.Job, show.spooled)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(w.stdout, out)
	} else {
		err = out.print(w.stdout)
	}
	return errors.Join(err, out.faults.error())
}

// planOne plans a job by footers.
func planOne(ctx context.Context, p config.Task, job pipeline.Job, spooled func(rows int64)) (planned, error) {
	p.Job = job
	src, err := p.Open(ctx, spooled)
	if err != nil {
		return planned{}, err
	}
	out := planned{Delta: p.Job.Delta, Files: []plannedFile{}, Notices: append(append([]string{}, src.Notices()...), job.Noticed()...)}
	for _, f := range src.Files() {
		out.Files = append(out.Files, plannedFile{f.Path, f.Bytes, f.Rows, f.RowGroups})
	}
	sample := pipeline.SampleOf(src)
	if err := p.Job.Suits(src.Columns(), sample.Rows); err != nil {
		return planned{}, err
	}
	sample.Features -= len(job.Beside()) + len(job.Unit.Columns)
	if wrapped, ok := src.(interface{ Unwrap() pipeline.Opened }); ok {
		src = wrapped.Unwrap()
	}
	var columns []config.Told
	if src, tells := src.(config.Source); tells {
		if columns, err = src.Told(ctx); err != nil {
			return planned{}, err
		}
	}
	for _, c := range columns {
		out.Columns = append(out.Columns, plannedColumn{c.Column, c.Nulls, c.UncountedRows, known(c.Least), known(c.Most), p.Job.Encode.Fills(c.Column)})
	}
	for _, c := range columns {
		if !p.Job.Encode.Fills(c.Column) {
			out.leastNull, out.mostNull = max(out.leastNull, c.Nulls), min(out.mostNull+c.Nulls, sample.Rows)
		}
	}
	out.faults = faultsOf(p.Job, columns, sample.Rows)
	if out.faults == nil {
		sample.Bad = out.leastNull
	}
	if sample.Units, err = p.Job.CountUnits(ctx, src, p.Resources); err != nil {
		return planned{}, err
	}
	if out.Plan, err = pipeline.NewPlan(p.Job, sample, p.Resources); err != nil {
		return planned{}, err
	}
	for _, c := range columns {
		if c.Ordered && out.Holdout > 0 && out.Units == nil && !p.Job.Roles.Last {
			out.Notices = append(out.Notices, fmt.Sprintf("row groups follow each other in the order of %q: if rows came in this order, they may depend on each other or change with time, and roles.holdout: {last: 10 %%} holds out the latest, which are most like those to come", c.Column))
		}
	}
	return out, nil
}

// known is a finite number, or nil.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// holdoutWords gives the number of hold-out rows.
func (p planned) holdoutWords() string {
	if p.Holdout == 0 {
		return ""
	}
	return fmt.Sprintf(", about %d hold-out", p.Holdout)
}

// about begins a number of rows that depends on a hash, or on nulls.
func (p planned) about() string {
	if p.Holdout > 0 || p.leastNull > 0 {
		return "about "
	}
	return ""
}

// filesShown is the largest number of listed files.
const filesShown = 20

func (p planned) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 2, 4, 2, ' ', 0)
	if len(p.Files) > 0 { // rows of a stream or a topic are in none
		_, _ = fmt.Fprintln(table, "file\trows\trow groups\tsize")
	}
	for i, f := range p.Files {
		if i == filesShown {
			_, _ = fmt.Fprintf(table, "… and %d more\t\t\t\n", len(p.Files)-i)
			break
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", report.Escape(f.Path), f.Rows, f.RowGroups, inBytes(f.Bytes))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	last := len(p.Columns) - 1
	var features []string
	for _, c := range p.Columns[:p.Features] {
		features = append(features, c.Name)
	}
	_, _ = fmt.Fprintf(w, "\ntarget     %s\nfeatures   %d: %s\n", p.Columns[last].Name, p.Features, strings.Join(features, ", "))
	for _, text := range p.Notices {
		_, _ = fmt.Fprintln(w, "note      ", text)
	}
	_, _ = fmt.Fprintf(w, "nulls      %s\n", p.nullsWords())
	_, _ = fmt.Fprintf(w, "rows       %d: %d reference (scaling, start values), %s%d train (fitting and certifying%s)%s\n",
		p.Rows, p.Reference, p.about(), p.Train, map[bool]string{true: ": the N of the bound"}[p.Units == nil], p.holdoutWords())
	if u := p.Units; u != nil {
		_, _ = fmt.Fprintf(w, "units      %s: %d reference, %d train (the N of the bound), %d hold-out\n", u.Counted(u.Reference+u.Train+u.Holdout), u.Reference, u.Train, u.Holdout)
	}
	_, _ = fmt.Fprintf(w, "time       about %s with M = %d, by the speed of this machine just now, without reading\n\n", inTime(p.Seconds), p.Inducing)
	_, _ = fmt.Fprintf(w, "What so many can certify, with delta %v:\n", p.Delta)
	header := "  missed\tbound for a draw of Q\t"
	if p.Holdout > 0 {
		header += "for predictions, by the first look at the hold-out\t"
	}
	_, _ = fmt.Fprintln(table, header)
	for _, b := range p.Bounds {
		line := fmt.Sprintf("  %.0f %%\t%s\t", 100*b.Missed, certify.PercentUp(b.Draw))
		if b.Holdout > 0 {
			line += certify.PercentUp(b.Holdout) + "\t"
		}
		_, _ = fmt.Fprintln(table, line)
	}
	return table.Flush()
}

// inBytes is a size in words.
func inBytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, suffix := float64(n)/unit, 0
	for value >= unit && suffix < 3 {
		value /= unit
		suffix++
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[suffix])
}

// inTime is a time in words, to two digits.
func inTime(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d < time.Second:
		return "1s"
	case d < 100*time.Second:
		return d.Round(time.Second).String()
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0fm", d.Minutes())
	default:
		return fmt.Sprintf("%.0fh", d.Hours())
	}
}
