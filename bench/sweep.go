package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A set is a data set whose rows have no order in time, with its target and the largest number of keys of a sweep.
type set struct {
	name, target string
	keys         int
}

// sets are all data sets, the slowest last.
var sets = []set{
	{"boston", "MEDV", 10},
	{"concrete", "y", 10},
	{"powerplant", "y", 10},
	{"kin8nm", "y", 10},
	{"pol", "y", 10},
	{"bike", "y", 10},
	{"keggdirected", "y", 4},
	{"kin40k", "y", 4},
}

// sweepObjectives are the objectives, each with its largest number of keys.
var sweepObjectives = []struct {
	name string
	keys int
}{{"bound", 10}, {"elbo", 3}}

// A swept is the result of one run: the bounds of its certificate, and what happens on test rows.
type swept struct {
	draw, held promise
	rmse       float64 // in standard deviations of the target over the job's rows
	coverage   float64 // share of test rows within 1.96 predictive deviations
	half       float64 // mean half-width of these intervals, in the unit of rmse
	missing    int     // test rows without a prediction or a deviation
}

// sweep trains default jobs with different keys, by both objectives.
func sweep(ctx context.Context, b *bench) (string, error) {
	t := measured.Table{{"set", "objective", "keys", "bound of a draw", "worst ÷ median", "draws miss", "bound of predictions", "predictions miss", "RMSE", "coverage of 95 % intervals", "half-width"}}
	var names []string
	var promises [][2]promise
	for _, set := range sets {
		rows, err := measured.ReadDataset(ctx, filepath.Join(b.data, set.name))
		if err != nil {
			return "", err
		}
		for _, objective := range sweepObjectives {
			var found []swept
			for key := range min(b.rounds, set.keys, objective.keys) {
				s, err := sweepRun(ctx, rows, set.target, objective.name, key)
				if err != nil {
					return "", fmt.Errorf("%s, %s, key %d: %w", set.name, objective.name, key, err)
				}
				b.logf("%s %s %d: %+v", set.name, objective.name, key, s)
				found = append(found, s)
			}
			cells, shown := line(set.name, objective.name, found)
			if t.Add(cells...); objective.name == "bound" {
				names, promises = append(names, set.name), append(promises, shown)
			}
		}
	}
	if err := save(promisePlot(names, promises), filepath.Join(b.docs, "promises.png")); err != nil {
		return "", err
	}
	return "Default jobs, ε = 0.6 standard deviations of the target, δ = 0.01, `duplicates: keep`: medians over keys, each of which keeps another fifth of the rows apart.\n\n" + t.String(), nil
}

// line returns a line of the table, and the promises about a draw and about predictions.
func line(set, objective string, found []swept) (cells []string, shown [2]promise) {
	middle := func(value func(swept) float64) float64 {
		values := make([]float64, len(found))
		for i, s := range found {
			values[i] = value(s)
		}
		return median(values)
	}
	draw := promise{middle(func(s swept) float64 { return s.draw.bound }), middle(func(s swept) float64 { return s.draw.risk })}
	held := promise{middle(func(s swept) float64 { return s.held.bound }), middle(func(s swept) float64 { return s.held.risk })}
	worst := 0.0
	for _, s := range found {
		worst = max(worst, s.draw.bound)
	}
	return []string{
		set, objective, strconv.Itoa(len(found)), number(draw.bound, "%.4f"), number(worst/draw.bound, "%.2f"), number(draw.risk, "%.4f"), number(held.bound, "%.4f"), fmt.Sprintf("%.4f", held.risk),
		number(middle(func(s swept) float64 { return s.rmse }), "%.3f"), number(100*middle(func(s swept) float64 { return s.coverage }), "%.1f %%"), number(middle(func(s swept) float64 { return s.half }), "%.3f"),
	}, [2]promise{draw, held}
}

// sweepRun trains on four fifths of the rows, and predicts the others, which are the test rows.
func sweepRun(ctx context.Context, rows measured.Dataset, target, objective string, key int) (s swept, err error) {
	order := rand.New(rand.NewPCG(uint64(key), 2)).Perm(rows.Rows()) //nolint:gosec // the same rows each time
	fifth := len(order) / 5
	own, apart := rows.Pick(order[fifth:]), rows.Pick(order[:fifth])
	at := slices.Index(rows.Names, target)
	scale := stat.PopStdDev(own.Columns[at], nil)
	job, err := job.Job{
		Target: target, Delta: 0.01, Loss: job.LossDecl{Epsilon: 0.6 * scale}, Split: job.SplitDecl{Key: strconv.Itoa(key)},
		Duplicates: job.DuplicatesDecl{Policy: certify.DuplicatesKept}, Train: job.TrainDecl{Objective: objective},
	}.WithDefaults()
	if err != nil {
		return s, err
	}
	table, err := dataset.Columns(own.Names, own.Columns)
	if err != nil {
		return s, err
	}
	o, err := pipeline.Train(ctx, job, table, &pipelinetest.Output{Store: &pipelinetest.Store{}}, pipeline.RunConfig{Software: "bench"})
	if err != nil {
		return s, err
	}
	m, c := o.Result.Model, o.Result.Certificate
	s.draw.bound, s.held.bound = c.About(certify.PredictorDraw).Bound, c.About(certify.PredictorMean).Bound
	if table, err = dataset.Columns(apart.Names, apart.Columns); err != nil {
		return s, err
	}
	src, err := table.Data(ctx, dataset.Choice{Features: m.Meta.Inputs(), Target: target})
	if err != nil {
		return s, err
	}
	draw, mean, squared, err := pipeline.Evaluate(ctx, src, m, 2)
	if err != nil {
		return s, err
	}
	s.draw.risk, s.held.risk, s.rmse = draw, mean, math.Sqrt(squared)/scale
	return s, pipeline.Predict(ctx, src, m, 2, func(batch []pipeline.Prediction) error {
		for _, p := range batch {
			half := 1.96 * p.PredictiveDeviation
			if p.Reason != "" || !(half > 0) {
				s.missing++
				continue
			}
			s.half += half / scale / float64(fifth)
			if math.Abs(apart.Columns[at][p.Ordinal]-p.Mean) <= half {
				s.coverage += 1 / float64(fifth)
			}
		}
		return nil
	})
}
