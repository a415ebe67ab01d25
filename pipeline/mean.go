package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
)

// A MeanDecl declares the mean function of the prior. The process models the difference of the
// target from it, and predictions add it back. Its zero value is a constant, the centre
// of the target's scaling.
type MeanDecl struct {
	Column string `json:"column"` // predictions of another model; it is no feature
}

// given reports whether the mean function is a column.
func (d MeanDecl) given() bool { return d.Column != "" }

// Columns is the column of the mean, or nothing.
func (d MeanDecl) Columns() []string {
	if d.given() {
		return []string{d.Column}
	}
	return nil
}

// centre is the centre of the target's scaling: 0 with a column of the mean, which replaces it.
func (d MeanDecl) centre(centre float64) float64 {
	if d.given() {
		return 0
	}
	return centre
}

// outside reports whether the column was fitted on outside rows alone: then train rows can certify.
func (j Job) outside() bool { return j.Roles.Outside > 0 }

// sets is the number of sets of rows that take a bit a row.
func (d RolesDecl) sets() (n int64) {
	for _, share := range []float64{d.Holdout, d.Outside} {
		if share > 0 {
			n++
		}
	}
	return n
}

// checkMean finds faults of the column, and of the rows that it was fitted on.
func (j Job) checkMean(fault func(string, ...any)) {
	share := j.Roles.Outside
	switch {
	case !j.Mean.given() && share != 0:
		fault("roles.outside: these rows are for fitting the column of mean, which the job does not name")
	case share != 0 && !(0.05 <= share && share <= 0.6 && share+j.Roles.Holdout <= 0.9):
		fault("roles.outside: %v is no share of the rows from 0.05 to 0.6 that makes at most 0.9 with the hold-out rows", share)
	}
	if !j.Mean.given() {
		return
	}
	if err := certify.ColumnName(j.Mean.Column); err != nil {
		fault("mean: %w", err)
	}
	if j.Mean.Column == j.Target || slices.Contains(j.Features, j.Mean.Column) {
		fault("mean: %q is the target or a feature; name a column of predictions that is neither", j.Mean.Column)
	}
	if j.Loss.Kind.Relative() {
		fault("mean: the loss %s is relative to the whole target, and the process models its difference from the column; take %s, with a tolerance in the target's units", j.Loss.Kind, certify.LossZeroOne)
	}
}

// withInside completes the methods of a job whose column may have been fitted on train rows, which
// certify nothing then. It may name the method of hold-out rows alone.
func (j Job) withInside(fault func(string, ...any)) Job {
	switch methods := j.Guarantees; {
	case len(methods) == 0:
		j.Guarantees = both(j.Loss.heldOut())
	case !(certify.Delta{Methods: methods}).Uses(certify.RoleHoldout):
		fault("guarantees: the column of mean may have been fitted on the train rows, so that they certify nothing: name %s, or set rows apart for the column (roles.outside)", certify.MethodHoldout)
	case len(methods) == 1:
		j.Guarantees = both(methods[0])
	}
	return j
}

// Open opens the rows of a job with these features (nil: the job's own), then the columns beside
// them and the target. spooled may be nil.
func (j Job) Open(ctx context.Context, rows Rows, features []string, res Resources, spooled func(int64)) (Opened, error) {
	c := j.choice(features, res)
	c.Spooled = spooled
	return j.open(ctx, rows, c)
}

// open opens rows by a choice, and the columns beside the features behind them.
func (j Job) open(ctx context.Context, rows Rows, c Choice) (Opened, error) {
	if j.Beside() == nil {
		return rows.Open(ctx, c)
	}
	if c.Features != nil {
		c.Features = slices.Concat(c.Features, j.Beside())
		return rows.Open(ctx, c)
	}
	all, err := rows.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Features, err = j.withBeside(all.Columns()); err != nil {
		return nil, err
	}
	c.Exclude = nil
	src, err := rows.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return withNotices{src, all.Notices()}, nil
}

// withBeside returns the features and then the columns beside them, from the columns of a default
// choice.
func (j Job) withBeside(columns []string) ([]string, error) {
	features := slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return name == j.Target || name == j.Mean.Column })
	if j.Mean.given() && len(features) == len(columns)-1 && !slices.Contains(j.Exclude, j.Mean.Column) {
		return nil, fmt.Errorf("%w: mean: the rows have no numeric column %q; they have %s", ErrConfig, j.Mean.Column, strings.Join(columns, ", "))
	}
	return append(features, j.Beside()...), nil
}

// withNotices are opened rows with the notices of another opening.
type withNotices struct {
	Opened

	notices []string
}

func (w withNotices) Notices() []string { return w.notices }

// Unwrap returns the rows, which may tell more than their interface.
func (w withNotices) Unwrap() Opened { return w.Opened }

// openData is an [OpenData] that adds the columns beside the features.
func (j Job) openData(open OpenData) OpenData {
	if j.Beside() == nil {
		return open
	}
	return func(ctx context.Context, want Choice) (Source, error) {
		if want.Features == nil {
			all, err := open(ctx, want)
			if err != nil {
				return nil, err
			}
			if want.Features, err = j.withBeside(all.Columns()); err != nil {
				return nil, err
			}
			want.Exclude = nil
		} else {
			want.Features = slices.Concat(want.Features, j.Beside())
		}
		return open(ctx, want)
	}
}

// knowsTarget returns an error if the column of the mean equals the target in most rows. They are the
// last two columns.
func (d MeanDecl) knowsTarget(rows rawRows) error {
	if !d.given() {
		return nil
	}
	equal := 0
	for i := range rows.n {
		if row := rows.row(i); row[rows.columns-2] == row[rows.columns-1] {
			equal++
		}
	}
	if 2*equal <= rows.n {
		return nil
	}
	return fmt.Errorf("%w: the column %q of the mean equals the target in %d of %d rows looked at: it was made from the target, and says nothing about rows with an unknown target", ErrData, d.Column, equal, rows.n)
}

// farthest is the largest median distance of the column of the mean from the target, in deviations of
// the target. From about a thousand on, training loses all digits.
const farthest = 100

// near returns an error if the column is far from the target in half of the rows. They are the last two
// columns; scale is the target's.
func (d MeanDecl) near(rows rawRows, scale float64) error {
	if !d.given() {
		return nil
	}
	off := make([]float64, rows.n)
	for i := range off {
		row := rows.row(i)
		off[i] = math.Abs(row[rows.columns-1]-row[rows.columns-2]) / scale
	}
	slices.Sort(off)
	if half := off[len(off)/2]; !(half <= farthest) {
		return fmt.Errorf("%w: the column %q of the mean is off by more than %.3g deviations of the target in half of the rows looked at: name a column of predictions of the target, in its unit", ErrData, d.Column, half)
	}
	return nil
}

// Lacks explains an error of rows without the column of the mean.
func (m ModelMeta) Lacks(err error) error {
	if err == nil || m.Mean == "" || !strings.Contains(err.Error(), strconv.Quote(m.Mean)) {
		return err
	}
	return fmt.Errorf("%w (the model corrects the column %q, predictions of another model: rows need it too)", err, m.Mean)
}

// misfit is the distance of the column from the target, in deviations of the target, at most 1.
func misfit(target, column, scale float64) float64 {
	if off := math.Abs(target-column) / scale; off < 1 {
		return off
	}
	return 1
}

// distances are a certificate's facts about the column of the mean; nil if there is none.
func (d MeanDecl) distances(reference rawRows, train certify.RiskSum, scale float64) (*certify.Mean, error) {
	if !d.given() {
		return nil, nil
	}
	found := certify.Mean{Column: d.Column, Train: train}
	for i := range reference.n {
		row := reference.row(i)
		if err := found.Reference.Add(misfit(row[len(row)-1], row[len(row)-2], scale)); err != nil {
			return nil, err
		}
	}
	return &found, nil
}
