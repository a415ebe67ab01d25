package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/measured"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// intervalSets are sets that are no series, with their targets.
var intervalSets = [][2]string{{"kin8nm", "y"}, {"powerplant", "y"}, {"pol", "y"}}

// intervals compares certified intervals, of one width and as wide as the model is unsure, with split
// conformal ones of the same models from the same hold-out rows.
func intervals(ctx context.Context, b *bench) (string, error) {
	t := newTable("set", "hold-out rows", "share", "certified: width", "covered", "by deviation: width", "covered", "conformal: width", "covered", "by deviation: width", "covered")
	for _, set := range intervalSets {
		rows, err := measured.ReadDataset(ctx, filepath.Join(b.data, set[0]))
		if err != nil {
			return "", err
		}
		job, apart := split(rows)
		var found [2]intervalModel
		for i, width := range []certify.Width{certify.WidthUnit, certify.WidthDeviation} {
			if found[i], err = intervalsOf(ctx, job, apart, set[1], width); err != nil {
				return "", fmt.Errorf("%s: %w", set[0], err)
			}
			b.logf("%s, width %q: %s", set[0], width, found[i].Headline)
		}
		name, held := set[0], number(float64(found[0].N), "%.0f")
		for _, share := range []float64{0.5, 0.9, 0.95} {
			cells := []string{name, held, fmt.Sprintf("%.0f %%", 100*share)}
			for _, from := range []func(intervalModel, float64) float64{intervalModel.certified, intervalModel.conformal} {
				for _, m := range found {
					cells = append(cells, m.cells(from(m, share))...)
				}
			}
			t.row(cells...)
			name, held = "", ""
		}
	}
	return "Certified intervals, mean ± a tolerance of the curve (`loss: {tolerance: any}`, by deviation with `width: deviation`, δ = 0.05, M = 200, a fifth of the rows held out), beside split conformal ones of the same model from the same hold-out rows, both rounded up to the curve's tolerances. " +
		"Widths are half ones, in standard deviations of the target, by deviation their means; widths and coverage are on a quarter of all rows that was kept apart.\n\n" + t.String(), nil
}

// An intervalModel is a curve and, of rows kept apart, errors and deviations in those of the target;
// deviations are 1 of a curve of one width.
type intervalModel struct {
	certify.Guarantee

	off, deviations []float64
	scale           float64 // of one tolerance
}

// certified is the tolerance that the curve gives for a share.
func (m intervalModel) certified(share float64) float64 {
	at, _ := m.Curve.Within(share)
	return at
}

// conformal is the tolerance with enough hold-out rows within it: one more than their share.
func (m intervalModel) conformal(share float64) float64 {
	for _, s := range m.Curve.Steps {
		if float64(m.N-s.Misses) >= math.Ceil(share*float64(m.N+1)) {
			return s.Tolerance
		}
	}
	return math.Inf(1)
}

// cells are the mean width of intervals with a tolerance, and how much they cover.
func (m intervalModel) cells(tolerance float64) []string {
	width, covered := 0.0, 0
	for i, off := range m.off {
		half := tolerance * m.scale * m.deviations[i]
		if width += half; off <= half {
			covered++
		}
	}
	n := float64(len(m.off))
	return []string{number(width/n, "%.3f"), number(100*float64(covered)/n, "%.1f %%")}
}

// intervalsOf trains on rows of a job and predicts others.
func intervalsOf(ctx context.Context, rows, apart measured.Dataset, target string, width certify.Width) (m intervalModel, err error) {
	job, err := pipeline.Job{
		Target: target, Delta: 0.05, Inducing: []int{200}, Loss: pipeline.LossDecl{Tolerance: pipeline.AnyTolerance, Width: width},
		Roles: pipeline.RolesDecl{Holdout: 0.2}, Copies: pipeline.CopiesDecl{Policy: certify.CopiesIndependent},
	}.WithDefaults()
	if err != nil {
		return m, err
	}
	table, err := pipeline.Columns(rows.Names, rows.Columns)
	if err != nil {
		return m, err
	}
	out := &pipelinetest.Output{Store: &pipelinetest.Store{}}
	o, err := pipeline.Train(ctx, job, table, out, pipeline.RunConfig{Attempts: out, Software: "bench"})
	if err != nil {
		return m, err
	}
	m.Guarantee, _ = o.Result.Certificate.Guarantee(certify.GuaranteeCurve)
	tests, err := pipeline.Columns(apart.Names, apart.Columns)
	if err != nil {
		return m, err
	}
	src, err := tests.Data(ctx, pipeline.Choice{Features: o.Result.Model.Meta.Inputs()})
	if err != nil {
		return m, err
	}
	at := slices.Index(rows.Names, target)
	y := rows.Columns[at]
	sum, squares := 0.0, 0.0
	for _, v := range y {
		sum += v
		squares += v * v
	}
	n := float64(len(y))
	std := math.Sqrt(squares/n - sum/n*(sum/n))
	m.scale = 1 / std
	return m, pipeline.Predict(ctx, src, o.Result.Model, 1, func(batch []pipeline.Prediction) error {
		for _, p := range batch {
			deviation := 1.0
			if width == certify.WidthDeviation {
				deviation = p.PredictiveDeviation
			}
			m.off = append(m.off, math.Abs(apart.Columns[at][p.Ordinal]-p.Mean)/std)
			m.deviations = append(m.deviations, deviation)
		}
		return nil
	})
}

// split keeps a quarter of the rows apart.
func split(all measured.Dataset) (rest, apart measured.Dataset) {
	order := rand.New(rand.NewPCG(1, 1)).Perm(all.Rows()) //nolint:gosec // the same rows each time
	quarter := len(order) / 4
	return all.Pick(order[quarter:]), all.Pick(order[:quarter])
}
