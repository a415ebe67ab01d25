package job

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
)

// These checks need no rows. A run and a plan make them first.

// CheckRows returns an error if the job cannot use n rows with these columns, the last of which is the target.
func (j Job) CheckRows(columns []string, n int64) error {
	if n < 2 {
		return fmt.Errorf("%w: the source has %s: want 2 at the least, and some thousands for a bound that says something", ErrData, words.Count(n, "row"))
	}
	j = j.ForRows(n)
	if rows := int64(float64(n) * (1 - j.Split.Holdout)); j.Train.Method.Exact() && rows > certify.MaxInducing {
		return TooManyForExact(j.Train.Method, rows)
	}
	for _, name := range columns {
		if err := certify.ColumnName(name); err != nil {
			return fmt.Errorf("%w: %w: rename it, or leave it out", ErrData, err)
		}
	}
	for _, e := range j.Encode {
		if !slices.Contains(columns[:len(columns)-1], e.Column) {
			return fmt.Errorf("%w: %s: the rows have no column %q; they have %s", ErrConfig, e.Key(), e.Column, strings.Join(columns, ", "))
		}
	}
	if _, err := j.GroupColumn(columns); err != nil {
		return err
	}
	if j.Scaling == ScalingNone {
		return j.CheckTarget(Affine{Scale: 1})
	}
	return j.Scalable(n, PriorCount(n))
}

// Scalable returns an error if the job scales by prior rows and fewer than 2 of the rows are prior rows.
func (j Job) Scalable(rows, prior int64) error {
	if j.Scaling != ScalingPrior || prior >= 2 {
		return nil
	}
	return fmt.Errorf("%w: %s leave %s, and scaling needs 2: give 20 different rows or more, or scaling: none",
		ErrData, words.Count(rows, "row"), words.Count(prior, "prior row"))
}

// CheckTarget returns an error if float64 is too coarse for the job's tolerance at values of the target with this scaling.
func (j Job) CheckTarget(target Affine) error {
	l := j.LossSpec(target)
	if fineEnough(target, l) {
		return nil
	}
	advice := "its values are spread too far for so small a tolerance: declare a larger one"
	if fineEnough(Affine{Scale: target.Scale}, l) {
		advice = "subtract a constant near to it where the column is made"
	}
	if l.Kind.Tolerances() == certify.ShareTolerance {
		advice = "loss: {kind: zero-one, epsilon: …} takes a tolerance in units of the target"
	}
	return fmt.Errorf("%w: the target %q lies around %.6g, give or take %.3g: float64 numbers of that size are too coarse for the declared tolerance: %s",
		ErrData, j.Target, target.Centre, target.Scale, advice)
}

// CheckTargetRange is [Job.CheckTarget] for a target of which only the least and the largest value are known. It returns an
// error only if float64 is too coarse whatever the distribution of the values between them.
func (j Job) CheckTargetRange(least, largest float64) error {
	if !(least <= largest) || j.Scaling == ScalingNone {
		return nil
	}
	if least == largest {
		return fmt.Errorf("%w: the target %q has one value, %v, on all rows: there is nothing to learn", ErrData, j.Target, least)
	}
	// The mean is at least as far from 0 as the nearest value. The standard deviation, of which the tolerance may be
	// a multiple, is at most half the range.
	nearest := max(least, -largest, 0)
	widest := Affine{Centre: least + (largest-least)/2, Scale: (largest - least) / 2}
	if writable(nearest, j.LossSpec(widest), widest) {
		return nil
	}
	return j.CheckTarget(widest)
}

// fineEnough reports whether float64 represents raw predictions with a rounding error of at most 2⁻²³ of the
// tolerance, so that it hardly changes a loss (docs/explanation/theory.md, section 10).
func fineEnough(target Affine, l certify.Loss) bool {
	return writable(math.Abs(target.Centre)+10*target.Scale, l, target)
}

// writable is fineEnough for predictions of magnitude size.
func writable(size float64, l certify.Loss, target Affine) bool {
	rounding := math.Nextafter(size, math.Inf(1)) - size
	tolerance := math.Inf(1) // remains for a loss without a tolerance
	for _, t := range []float64{l.Epsilon, l.Below, l.Above} {
		if t > 0 {
			tolerance = min(tolerance, t)
		}
	}
	if l.Kind.Tolerances() == certify.ShareTolerance {
		tolerance *= target.Scale
	}
	return rounding <= 0x1p-23*tolerance
}
