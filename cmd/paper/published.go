package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/measured"
	"github.com/pacsgp/pacsgp/internal/mersenne"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/loss"
)

// publishedCentres are the inducing points at which the published searches start: scipy's
// kmeans2 with its defaults, ten rounds from draws of a Gaussian with the mean and covariance of
// the rows, by numpy's generator with the seed of the published code. A centre without rows stays
// where it is: empty is their number. Rows whose features depend on each other are an error.
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

// recentre moves each centre to the mean of the rows that it is nearest to, and counts those of
// none.
func recentre(rows model.Rows, centres *mat.Dense) (empty int) {
	m, d := centres.Dims()
	sums, counts := mat.NewDense(m, d, nil), make([]float64, m)
	for i := range rows.Len() {
		row, at, least := rows.Row(i), 0, math.Inf(1)
		for j := range m {
			square := 0.0
			for k, v := range centres.RawRowView(j) {
				square += (row[k] - v) * (row[k] - v)
			}
			if square < least {
				at, least = j, square
			}
		}
		counts[at]++
		for k, v := range row {
			sums.RawRowView(at)[k] += v
		}
	}
	for j, n := range counts {
		if n == 0 {
			empty++
			continue
		}
		for k, v := range sums.RawRowView(j) {
			centres.Set(j, k, v/n)
		}
	}
	return empty
}

// A searched is the end of a search. Those of an evidence know no loss: their rows share it.
type searched struct {
	theta, z     []float64
	lnNoise      float64
	empty, steps int
	seconds      float64
}

// A fitter fits units, and keeps the ends of searches by an evidence.
type fitter map[string]searched

// search minimises from the published start: hyper-parameters and noise of 1, published centres.
func (f fitter) search(ctx context.Context, u unit, c model.CollapsedConfig, rows model.Rows) (searched, error) {
	key := fmt.Sprint(u.Dataset, u.Method, u.ARD, u.Inducing, u.Most, u.Step, u.Seed)
	if found, ok := f[key]; ok && u.byEvidence() {
		return found, nil
	}
	began := time.Now()
	var found searched
	var err error
	if found.z, found.empty, err = publishedCentres(rows, u.Inducing); err != nil {
		return found, err
	}
	c.Z, c.Starts, c.Evaluations = found.z, []model.Start{{Theta: make([]float64, c.Parameters())}}, u.Most
	t, p, err := minimised(ctx, c, rows)
	if err != nil {
		return found, err
	}
	_, at, err := t.Result()
	for i, g := range c.Grids {
		found.theta = append(found.theta, g.Value(at[i]))
	}
	noise, _ := t.Noise()
	found.z, found.lnNoise, found.steps, found.seconds = p.Z, math.Log(noise), t.Evaluations(), time.Since(began).Seconds()
	f[key] = found
	return found, err
}

// published fits a sparse method from the published start.
func (f fitter) published(ctx context.Context, u unit, train, test measured.Dataset) (finding, error) {
	rows := matrix(train)
	kind := loss.ZeroOne
	if u.Loss == "exp" {
		kind = loss.Exponential
	}
	l, err := loss.New(kind, u.Epsilon, 0, 0, 0)
	if err != nil {
		return finding{}, err
	}
	c := model.CollapsedConfig{Alpha: 1}
	c.Config = model.Config{
		Dim: rows.Dim, N: int64(rows.Len()), Delta: delta, Loss: l, Scales: model.Scales{ARD: u.ARD}, Seed: uint64(u.Seed), //nolint:gosec // not negative
		Workers: runtime.NumCPU(),
	}
	grid := u.grid()
	for range c.Parameters() {
		c.Grids = append(c.Grids, model.Grid{Min: grid.Min, Step: grid.Step, Count: 1 + int(math.Round((grid.Max-grid.Min)/grid.Step))})
	}
	switch u.Method {
	case "sqrt-PAC-SGP":
		c.Objective = model.BoundPinsker
	case "FITC":
		c.Objective = model.Evidence
	case "VFE":
		c.Objective, c.Alpha = model.EvidenceBound, 0
	}
	end, err := f.search(ctx, u, c, rows)
	if err != nil {
		return finding{}, fmt.Errorf("%s: %w", u.name(), err)
	}
	began := time.Now()
	c.Z, c.Starts, c.Evaluations = end.z, []model.Start{{Theta: end.theta, LnNoise: end.lnNoise}}, 1
	if u.Alpha >= 0 {
		c.PosteriorAlpha = &u.Alpha
	}
	t, p, err := minimised(ctx, c, rows)
	if err != nil {
		return finding{}, fmt.Errorf("%s: %w", u.name(), err)
	}
	at := t.Progress()
	n := float64(c.N)
	found := finding{
		unit: u, N: c.N, Train: at.Risk, KL: at.KL / n, Weight: at.LnInverseWeight, Noise: math.Exp(end.lnNoise),
		Points: u.Inducing, Empty: end.empty, Steps: end.steps, Instructions: runtime.GOARCH + "/" + model.InstructionSet(),
	}
	found.Bound = certify.KLInverse(found.Train, found.exponent(certify.LnXi(c.N)))
	found.Seconds = end.seconds + time.Since(began).Seconds()
	return found, found.look(p, matrix(test))
}

// minimised runs a search to its end.
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

// look looks at the test rows: the 0-1 risk of a draw, and the squared error of the mean.
func (f *finding) look(p *model.Posterior, rows model.Rows) error {
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

// matrix has the rows of a data set whose last column is the target.
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
