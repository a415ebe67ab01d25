package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/sink/report"
)

func planCommand(w system) *cobra.Command {
	var asJSON bool
	cmd := onJob(w, &cobra.Command{
		Use:   "plan job.yaml",
		Short: "Say what a job reads and could certify, before it trains",
	}, &config.Overrides{}, func(ctx context.Context, p config.Task) error { return plan(ctx, p, w, asJSON) })
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// A planned job is the JSON output of plan.
type planned struct {
	Files    int             `json:"files"`
	Columns  []plannedColumn `json:"columns"` // features, then the target
	Warnings []string        `json:"warnings"`
	pipeline.Plan
	Delta float64 `json:"delta"`
}

// A plannedColumn is a column of the job, as the footers describe it.
type plannedColumn struct {
	Name      string `json:"name"`
	Nulls     int64  `json:"nulls"`
	Uncounted int64  `json:"rows_with_uncounted_nulls"`
	Filled    bool   `json:"filled,omitempty"`
}

// plan prints what a job can certify, and returns faults that would stop train. It reads rows only of topics and units.
func plan(ctx context.Context, p config.Task, w system, asJSON bool) (err error) {
	config.MakeTemporary(p.Source, false)
	defer func() { err = errors.Join(err, p.Source.Release(false)) }()
	show := newDisplay(w)
	defer show.end()
	src, err := p.Open(ctx, show.spooled)
	if err != nil {
		return err
	}
	out := planned{Files: len(src.Files()), Delta: p.Job.Delta, Warnings: append([]string{}, src.Warnings()...)}
	apart := len(p.Job.NotAFeature()) + len(p.Job.Labels()) + 1 // number of columns that are not features
	sample := fit.Sample{Rows: dataset.RowsOf(src), Features: len(src.Columns()) - apart}
	var columns []config.ColumnStatistics
	if footers, ok := src.(interface {
		Statistics(ctx context.Context) ([]config.ColumnStatistics, error)
	}); ok {
		if columns, err = footers.Statistics(ctx); err != nil {
			return err
		}
	} else {
		for _, name := range src.Columns() {
			columns = append(columns, config.ColumnStatistics{Column: name, UncountedRows: sample.Rows, Least: math.NaN()})
		}
	}
	var nulls, all int64 // a lower and an upper bound of rows with a null
	for _, c := range columns {
		filled := p.Job.Encode.Fills(c.Column)
		if p.Job.Features == nil && p.Job.Encode.Of(c.Column) == nil && c.Column != p.Job.Target && pass.IDName.MatchString(c.Column) {
			out.Warnings = append(out.Warnings, fmt.Sprintf("column %q has the name of an identifier: train leaves it out if its values are whole numbers, all different; exclude: [%[1]s] does so in any case", c.Column))
		}
		out.Columns = append(out.Columns, plannedColumn{c.Column, c.Nulls, c.UncountedRows, filled})
		if !filled {
			nulls, all = max(nulls, c.Nulls), all+c.Nulls
		}
	}
	faults := faultsOf(p.Job, columns, sample.Rows, all)
	if faults == nil {
		sample.Bad = nulls
	}
	if sample.Units, err = pass.CountUnits(ctx, p.Job, src, p.Resources); err == nil {
		out.Plan, err = pipeline.NewPlan(p.Job, sample, p.Resources)
	}
	if err != nil {
		return cmp.Or(faults, err)
	}
	if asJSON {
		err = printJSON(w.stdout, out)
	} else {
		err = out.print(w.paper, w.style, p.Job.Loss.Kind.Counts())
	}
	return errors.Join(err, faults)
}

const (
	hintNull     = "hint: give it a value, as in fill: {COLUMN: 0}; leave it out, as in exclude: [COLUMN]; or "
	hintNoTarget = "hint: a target cannot be filled: remove rows without one from the files, or "
	hintTooLong  = "hint: store the column as text if it names units or groups, as a double if it is a quantity, or leave it out, as in exclude: [COLUMN]"
)

// faultsOf returns, with hints, the faults of columns in the footers that would stop train.
func faultsOf(j job.Job, columns []config.ColumnStatistics, rows, nulls int64) error {
	var faults, hints []error
	fault := func(hint, column, text string) {
		faults = append(faults, fmt.Errorf("%w: column %q %s", job.ErrData, column, text))
		if !slices.ContainsFunc(hints, func(err error) bool { return err.Error() == hint }) {
			hints = append(hints, errors.New(hint))
		}
	}
	for _, c := range columns {
		if j.Encode.Fills(c.Column) {
			continue
		}
		if c.Nulls > 0 && !(float64(c.Nulls) <= j.Rejected.Limit*float64(rows)) {
			hint, allow := map[bool]string{true: hintNoTarget, false: hintNull}[c.Column == j.Target], fmt.Sprintf("allow some rejected rows, as in rejected: {limit: %d %%}", min(99, 1+100*nulls/max(1, rows)))
			text := "has " + words.Count(c.Nulls, "null")
			if j.Rejected.Some() {
				allow = "raise rejected.limit, if a promise about the other rows alone is enough"
				text += fmt.Sprintf(", and rejected.limit allows %s in %s", words.Number(int64(j.Rejected.Limit*float64(rows))), words.Count(rows, "row"))
			}
			fault(hint+allow, c.Column, text)
		}
		if c.TooLong != "" && !j.Rejected.Some() {
			fault(hintTooLong, c.Column, "has numbers of more digits than a float64 holds (beyond 2^53), in "+c.TooLong)
		}
		if c.Column == j.Target {
			if err := j.CheckTargetRange(c.Least, c.Most); err != nil {
				faults = append(faults, err)
			}
		}
	}
	return errors.Join(append(faults, hints...)...)
}

func (p planned) print(w io.Writer, style report.Style, missed bool) error {
	line := func(head, text string) { report.WriteWrapped(w, head, text, style) }
	var features, nulls []string
	for _, c := range p.Columns {
		features = append(features, c.Name)
		switch {
		case c.Nulls > 0:
			nulls = append(nulls, words.Number(c.Nulls)+" in "+words.Name(c.Name)+words.If(c.Filled, " (filled)"))
		case c.Uncounted > 0:
			nulls = append(nulls, "not counted in "+words.Name(c.Name))
		}
	}
	if nulls == nil {
		nulls = []string{"none in the used columns"}
	}
	line("files      ", words.Number(int64(p.Files)))
	line("target     ", features[len(features)-1])
	line("features   ", fmt.Sprintf("%d: %s", p.Features, strings.Join(features[:p.Features], ", ")))
	line("nulls      ", strings.Join(nulls, ", "))
	for _, text := range p.Warnings {
		line("note       ", text)
	}
	line("rows       ", fmt.Sprintf("%s: about %s prior, %s training, %s held out", words.Number(p.Rows), words.Number(p.Prior), words.Number(p.Train), words.Number(p.Holdout)))
	if u := p.Units; u != nil {
		line("units      ", fmt.Sprintf("%s by %s: %s prior, %s training, %s held out", words.Number(u.Prior+u.Train+u.Holdout), strings.Join(u.Columns, ", "), words.Number(u.Prior), words.Number(u.Train), words.Number(u.Holdout)))
	}
	line("time       ", fmt.Sprintf("at most %s with %d inducing points, plus the time to read the rows", inTime(p.Seconds), p.Inducing))
	_, _ = fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 2, 4, 2, ' ', 0)
	predictions := slices.ContainsFunc(p.Bounds, func(b pipeline.PlanBound) bool { return b.Holdout > 0 })
	line("", "Bounds that these rows allow at their first use, with "+words.Confidence(p.Delta)+" confidence:")
	header, more := "  share missed\ta random draw misses at most", "\tpredictions miss at most"
	if !missed {
		header, more = "  mean loss\ta random draw loses at most", "\tpredictions lose at most"
	}
	if predictions {
		header += more
	}
	_, _ = fmt.Fprintln(table, header)
	for _, b := range p.Bounds {
		line := fmt.Sprintf("  %.0f %%\t%s", 100*b.Missed, words.PercentUp(b.Draw))
		if predictions {
			line += "\t" + words.PercentUp(b.Holdout)
		}
		_, _ = fmt.Fprintln(table, line)
	}
	return table.Flush()
}

// inTime formats a time in seconds as words, with two digits.
func inTime(s float64) string {
	switch d := time.Duration(s * float64(time.Second)); {
	case d < 100*time.Second:
		return words.Count(int64(max(1, math.Round(s))), "second")
	case d < 100*time.Minute:
		return words.Count(int64(math.Round(d.Minutes())), "minute")
	default:
		return words.Count(int64(math.Round(d.Hours())), "hour")
	}
}
