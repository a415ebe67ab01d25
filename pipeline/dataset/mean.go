package dataset

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Open opens the job's columns of rows: features, other columns and the target. If features is nil, they are the
// job's own, and rows that do not suit the job are an error. spooled may be nil.
func Open(ctx context.Context, j job.Job, rows Rows, features []string, res job.Resources, spooled func(int64)) (Opened, error) {
	c := ChoiceOf(j, features, res)
	c.Spooled = spooled
	src, err := rows.Open(ctx, c)
	if err == nil && features == nil {
		err = j.CheckRows(src.Columns(), RowsOf(src))
		at, means := slices.Index(src.Columns(), j.Groups.Column), src.Meanings()
		if err == nil && at >= 0 && at < len(means) && means[at] == job.MeansText && j.Groups.Texts == nil {
			err = fmt.Errorf("%w: groups: %q is text, and a feature, which has numbers: leave it out of encode and features, and list its values", job.ErrConfig, j.Groups.Column)
		}
	}
	return src, err
}

// KnowsTarget returns an error if the column of the mean equals the target in more than half of the rows. The two
// are the last columns of rows.
func KnowsTarget(d job.MeanDecl, rows RawRows) error {
	if !d.Given() {
		return nil
	}
	equal := 0
	for i := range rows.Len() {
		if row := rows.Row(i); row[rows.columns-2] == row[rows.columns-1] {
			equal++
		}
	}
	if 2*equal <= rows.Len() {
		return nil
	}
	return fmt.Errorf("%w: the column %q of the mean equals the target in %d of %d rows checked: if it was made from the target, it says nothing about rows with an unknown one; if the target is nearly constant, no mean is needed (leave mean out)", job.ErrData, d.Column, equal, rows.Len())
}

// farthest is the largest allowed median distance between the column of the mean and the target, in standard
// deviations of the target. At about a thousand, training loses all digits.
const farthest = 100

// NearMean returns an error if the column of the mean is far from the target in half of the rows. The two are the last
// columns of rows. scale is the target's standard deviation.
func NearMean(d job.MeanDecl, rows RawRows, scale float64) error {
	if !d.Given() {
		return nil
	}
	off := make([]float64, rows.Len())
	for i := range off {
		row := rows.Row(i)
		off[i] = math.Abs(row[rows.columns-1]-row[rows.columns-2]) / scale
	}
	slices.Sort(off)
	if half := off[len(off)/2]; !(half <= farthest) {
		return fmt.Errorf("%w: the column %q of the mean is off by more than %.3g deviations of the target in half of the rows checked: name a column of predictions of the target, in its unit", job.ErrData, d.Column, half)
	}
	return nil
}

// Misfit returns the distance between the column of the mean and the target, divided by scale, and at most 1.
func Misfit(target, column, scale float64) float64 {
	return min(1, math.Abs(target-column)/scale)
}

// MeanDistances returns a certificate's facts about the column of the mean, or nil if the job has none.
func MeanDistances(d job.MeanDecl, prior RawRows, train certify.RiskSum, scale float64) (*certify.Mean, error) {
	if !d.Given() {
		return nil, nil
	}
	found := certify.Mean{Column: d.Column, Train: train}
	for i := range prior.Len() {
		row := prior.Row(i)
		if err := found.Prior.Add(Misfit(row[len(row)-1], row[len(row)-2], scale)); err != nil {
			return nil, err
		}
	}
	return &found, nil
}
