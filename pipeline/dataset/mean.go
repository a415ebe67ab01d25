package dataset

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Open opens the rows of a job with these features (nil: the job's own), then the columns next to
// them and the target. Rows that do not suit the job are an error. Its warnings are those of the job's own features. spooled may be nil.
func Open(ctx context.Context, j job.Job, rows Rows, features []string, res job.Resources, spooled func(int64)) (Opened, error) {
	c := ChoiceOf(j, features, res)
	c.Spooled = spooled
	src, all, err := withColumns(ctx, j, rows.Open, c)
	if err == nil && features == nil {
		err = j.Suits(src.Columns(), RowsOf(src))
	}
	if err != nil || all == nil {
		return src, err
	}
	return withWarnings{src, all.Warnings()}, nil
}

// withColumns opens a source by a choice, and the columns next to the features behind them. Where the choice
// names no features but there are such columns, all is the source of the default choice.
func withColumns[S Source](ctx context.Context, j job.Job, open func(context.Context, Choice) (S, error), c Choice) (src, all S, err error) {
	switch {
	case j.NotAFeature() == nil:
	case c.Features != nil:
		c.Features = slices.Concat(c.Features, j.NotAFeature())
	default:
		if all, err = open(ctx, c); err != nil {
			return src, all, err
		}
		columns := all.Columns()
		features := slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return name == j.Target || name == j.Mean.Column })
		if j.Mean.Given() && len(features) == len(columns)-1 && !slices.Contains(j.Exclude, j.Mean.Column) {
			return src, all, fmt.Errorf("%w: mean: the rows have no numeric column %q; they have %s", job.ErrConfig, j.Mean.Column, strings.Join(columns, ", "))
		}
		c.Features, c.Exclude = append(features, j.NotAFeature()...), nil
	}
	src, err = open(ctx, c)
	return src, all, err
}

// withWarnings are opened rows with the warnings of another opening.
type withWarnings struct {
	Opened

	warnings []string
}

func (w withWarnings) Warnings() []string { return w.warnings }

// Unwrap returns the rows, which may tell more than their interface.
func (w withWarnings) Unwrap() Opened { return w.Opened }

// OpenRows is an [OpenData] that adds the columns next to the features.
func OpenRows(j job.Job, open OpenData) OpenData {
	return func(ctx context.Context, want Choice) (Source, error) {
		src, _, err := withColumns(ctx, j, open, want)
		return src, err
	}
}

// KnowsTarget returns an error if the column of the mean equals the target in most rows. They are the
// last two columns.
func KnowsTarget(d job.MeanDecl, rows RawRows) error {
	if !d.Given() {
		return nil
	}
	equal := 0
	for i := range rows.N {
		if row := rows.Row(i); row[rows.Columns-2] == row[rows.Columns-1] {
			equal++
		}
	}
	if 2*equal <= rows.N {
		return nil
	}
	return fmt.Errorf("%w: the column %q of the mean equals the target in %d of %d rows checked: it was made from the target, and says nothing about rows with an unknown target", job.ErrData, d.Column, equal, rows.N)
}

// farthest is the largest median distance of the column of the mean from the target, in deviations of
// the target. From about a thousand on, training loses all digits.
const farthest = 100

// NearMean returns an error if the column is far from the target in half of the rows. They are the last two
// columns; scale is the target's.
func NearMean(d job.MeanDecl, rows RawRows, scale float64) error {
	if !d.Given() {
		return nil
	}
	off := make([]float64, rows.N)
	for i := range off {
		row := rows.Row(i)
		off[i] = math.Abs(row[rows.Columns-1]-row[rows.Columns-2]) / scale
	}
	slices.Sort(off)
	if half := off[len(off)/2]; !(half <= farthest) {
		return fmt.Errorf("%w: the column %q of the mean is off by more than %.3g deviations of the target in half of the rows checked: name a column of predictions of the target, in its unit", job.ErrData, d.Column, half)
	}
	return nil
}

// Misfit is the distance of the column from the target, in deviations of the target, at most 1.
func Misfit(target, column, scale float64) float64 {
	if off := math.Abs(target-column) / scale; off < 1 {
		return off
	}
	return 1
}

// MeanDistances are a certificate's facts about the column of the mean; nil if there is none.
func MeanDistances(d job.MeanDecl, reference RawRows, train certify.RiskSum, scale float64) (*certify.Mean, error) {
	if !d.Given() {
		return nil, nil
	}
	found := certify.Mean{Column: d.Column, Train: train}
	for i := range reference.N {
		row := reference.Row(i)
		if err := found.Reference.Add(Misfit(row[len(row)-1], row[len(row)-2], scale)); err != nil {
			return nil, err
		}
	}
	return &found, nil
}
