package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/bench/paper/mersenne"
	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/loss"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// publishedCentres returns the inducing points at which the published searches start. They are those of scipy's
// kmeans2 with its defaults: ten rounds from draws of a Gaussian with the mean and covariance of the rows, by
// numpy's generator with the seed of the published code. A centre without rows stays where it is; empty is the
// number of these. Rows with linearly dependent features are an error.
func publishedCentres(rows model.Rows, m int) (z []float64, empty int, err error) {
	d := rows.Dim
	x := mat.NewDense(rows.Len(), d, rows.X)
	var covariance mat.SymDense
	stat.CovarianceMatrix(&covariance, x, nil)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(&covariance) {
		return nil, 0, errors.New("the published start needs features that do not depend on each other, and none that is constant")
	}
	var lower mat.TriDense
	cholesky.LTo(&lower)
	centres := mat.NewDense(m, d, nil)
	centres.Mul(mat.NewDense(m, d, mersenne.Normals(m*d, uint64(math.Abs(rows.X[0])))), lower.T())
	for j := range d {
		mean := stat.Mean(mat.Col(nil, j, x), nil)
		for i := range m {
			centres.Set(i, j, centres.At(i, j)+mean)
		}
	}
	for range 10 {
		empty = recentre(rows, centres)
	}
	return centres.RawMatrix().Data, empty, nil
}

// recentre moves each centre to the mean of the rows that are nearest to it. It returns the number of centres
// without rows, which stay.
func recentre(rows model.Rows, centres *mat.Dense) (empty int) {
	m, d := centres.Dims()
	sums, counts := mat.NewDense(m, d, nil), make([]float64, m)
	for i := range rows.Len() {
		row, at, least := rows.Row(i), 0, math.Inf(1)
		for j := range m {
			if d := floats.Distance(row, centres.RawRowView(j), 2); d < least {
				at, least = j, d
			}
		}
		counts[at]++
		floats.Add(sums.RawRowView(at), row)
	}
	for j, n := range counts {
		if n == 0 {
			empty++
			continue
		}
		floats.ScaleTo(centres.RawRowView(j), 1/n, sums.RawRowView(j))
	}
	return empty
}

// A searched is the result of a search.
type searched struct {
	Theta, Z []float64
	LnNoise  float64
	Empty    int
	Steps    int
	Seconds  float64
}

// search minimises from the published start: hyper-parameters and noise of 1, and published centres. The result
// is stored in a folder, where other units find it.
func (u unit) search(ctx context.Context, dir string, c model.CollapsedConfig, rows model.Rows) (searched, error) {
	return cached(filepath.Join(dir, u.ofSearch().name()), func() (found searched, err error) {
		began := time.Now()
		if !c.Exact {
			if c.Z, found.Empty, err = publishedCentres(rows, u.Inducing); err != nil {
				return found, err
			}
		}
		c.Starts, c.Evaluations, c.Grids = []model.Start{{Theta: make([]float64, c.Parameters())}}, u.Most, u.searchGrids(c.Parameters())
		t, p, err := minimised(ctx, c, rows)
		if err != nil {
			return found, err
		}
		_, at, err := t.Result()
		if err != nil {
			return found, err
		}
		for i, g := range c.Grids {
			found.Theta = append(found.Theta, g.Value(at[i]))
		}
		if !c.Exact {
			found.Z = p.Z
		}
		found.LnNoise, found.Steps, found.Seconds = math.Log(t.Noise()), t.Progress().Step, time.Since(began).Seconds()
		return found, nil
	})
}

// end returns the result of the unit's search. With a limit on θ that is the search within the widest limit,
// unless its θ is beyond the unit's own limit.
func (u unit) end(ctx context.Context, dir string, c model.CollapsedConfig, rows model.Rows) (searched, error) {
	if u.Limit == 0 {
		return u.search(ctx, dir, c, rows)
	}
	widest := u
	widest.Limit = widestLimit
	found, err := widest.search(ctx, dir, c, rows)
	if err == nil && slices.ContainsFunc(found.Theta, func(v float64) bool { return math.Abs(v) > float64(u.Limit) }) {
		return u.search(ctx, dir, c, rows)
	}
	return found, err
}

func (u unit) collapsed(rows model.Rows) (model.CollapsedConfig, error) {
	kind := loss.ZeroOne
	if u.Loss == "exp" {
		kind = loss.Exponential
	}
	l, err := loss.New(kind, u.Epsilon, 0, 0, 0)
	c := model.CollapsedConfig{Alpha: 1, Exact: u.Inducing == 0}
	c.Config = model.Config{
		Dim: rows.Dim, N: int64(rows.Len()), Delta: delta, Loss: l, Scales: model.Scales{ARD: u.ARD}, Seed: uint64(u.Seed), //nolint:gosec // not negative
		Workers: runtime.NumCPU(),
	}
	switch u.Method {
	case "sqrt-PAC-SGP", "sqrt-PAC-GP":
		c.Objective = model.BoundPinsker
	case "FITC", "full-GP":
		c.Objective = model.Evidence
	case "VFE":
		c.Objective, c.Alpha = model.EvidenceBound, 0
	}
	return c, err
}

// published fits a method from the published start.
func (u unit) published(ctx context.Context, dir string, train, test measured.Dataset) (result, error) {
	rows := matrix(train)
	c, err := u.collapsed(rows)
	if err != nil {
		return result{}, err
	}
	end, err := u.end(ctx, dir, c, rows)
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", u.name(), err)
	}
	grid := flat(u.grid())
	c.Grids = slices.Repeat([]model.Grid{grid}, c.Parameters())
	found, err := u.posterior(ctx, c, end, rows, matrix(test))
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", u.name(), err)
	}
	found.Weight = float64(c.Parameters()) * math.Log(float64(grid.Count))
	found.Bound = certify.KLInverse(found.Train, found.exponent(certify.LnXi(c.N)))
	return found, nil
}

// posterior computes and measures the posterior at the end of a search, with θ rounded to the grid of the
// configuration.
func (u unit) posterior(ctx context.Context, c model.CollapsedConfig, end searched, rows, test model.Rows) (result, error) {
	began := time.Now()
	c.Z, c.Starts, c.Evaluations = end.Z, []model.Start{{Theta: end.Theta, LnNoise: end.LnNoise}}, 1
	if u.Alpha >= 0 {
		c.PosteriorAlpha = &u.Alpha
	}
	t, p, err := minimised(ctx, c, rows)
	if err != nil {
		return result{}, err
	}
	at := t.Progress()
	found := result{
		unit: u, N: c.N, Train: at.Risk, KL: at.KL / float64(c.N), Noise: math.Exp(end.LnNoise),
		Points: t.Inducing(), Empty: end.Empty, Steps: end.Steps, Instructions: runtime.GOARCH + "/" + model.InstructionSet(),
	}
	err = found.measure(p, test)
	found.Seconds = end.Seconds + time.Since(began).Seconds()
	return found, err
}

// flat returns a grid of equal weights.
func flat(g job.GridDecl) model.Grid {
	return model.Grid{Min: g.Min, Step: g.Step, Count: 1 + int(math.Round((g.Max-g.Min)/g.Step))}
}

func minimised(ctx context.Context, c model.CollapsedConfig, rows model.Rows) (*model.Collapsed, *model.Posterior, error) {
	t, err := model.NewCollapsed(c, rows)
	if err != nil {
		return nil, nil, err
	}
	defer t.Close()
	for !t.Done() {
		if err := errors.Join(ctx.Err(), t.Begin()); err != nil {
			return nil, nil, err
		}
		if err := errors.Join(t.Add(rows.X, rows.Y), t.End()); err != nil {
			return nil, nil, err
		}
	}
	p, _, err := t.Result()
	return t, p, err
}

// measure sets the 0-1 risk of a draw and the squared error of the mean on the test rows.
func (f *result) measure(p *model.Posterior, rows model.Rows) error {
	r, err := model.NewPredictor(p, runtime.NumCPU())
	if err != nil {
		return err
	}
	defer r.Close()
	mean, variance := make([]float64, rows.Len()), make([]float64, rows.Len())
	if err := r.Predict(rows.X, mean, variance); err != nil {
		return err
	}
	l, err := loss.New(loss.ZeroOne, f.Epsilon, 0, 0, 0)
	if err != nil {
		return err
	}
	n := float64(rows.Len())
	for i, y := range rows.Y {
		f.Test += l.Expected(y, mean[i], variance[i]) / n
		f.MSE += (y - mean[i]) * (y - mean[i]) / n
	}
	return nil
}

// matrix returns the rows of a data set whose last column is the target.
func matrix(t measured.Dataset) model.Rows {
	d := len(t.Columns) - 1
	rows := model.Rows{Dim: d, Y: t.Columns[d]}
	for i := range t.Rows() {
		for _, column := range t.Columns[:d] {
			rows.X = append(rows.X, column[i])
		}
	}
	return rows
}
