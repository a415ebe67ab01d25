package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// intervalSets are sets that are no series, with their targets.
var intervalSets = [][2]string{{"kin8nm", "y"}, {"powerplant", "y"}, {"pol", "y"}}

// intervalShares are shares of fresh rows that intervals are to cover.
var intervalShares = []float64{0.5, 0.9, 0.95}

// intervals compares certified intervals with split conformal ones by MAPIE, of the same models and of
// boosted trees, from the same hold-out rows.
func intervals(ctx context.Context, b *bench) (_ string, err error) {
	p, err := b.start(ctx, "MAPIE", []string{"OMP_NUM_THREADS=1"}, "intervals.py")
	if err != nil || p == nil {
		return "Left out: the peer is in Python.\n", err
	}
	defer func() { err = errors.Join(err, stop([]*peer{p})) }()
	t := newTable("set", "hold-out rows", "share", "certified: width", "covered", "conformal: width", "covered", "of trees: width", "covered")
	for _, set := range intervalSets {
		rows, err := measured.ReadDataset(ctx, filepath.Join(b.data, set[0]))
		if err != nil {
			return "", err
		}
		job, apart := split(rows)
		found, err := intervalsOf(ctx, job, apart, set[1])
		if err != nil {
			return "", fmt.Errorf("%s: %w", set[0], err)
		}
		b.logf("%s: %s", set[0], found.Headline)
		trees, err := found.trees(p, job, apart, set[1])
		if err != nil {
			return "", err
		}
		if err := t.intervals(p, set[0], found, trees); err != nil {
			return "", fmt.Errorf("%s: %w", set[0], err)
		}
	}
	return "Certified intervals, mean ± a tolerance of the curve (`loss: {tolerance: any}`, δ = 0.05, M = 200, a fifth of the rows held out), beside split conformal ones by MAPIE, of the same models and of scikit-learn's boosted trees (fitted on all other rows), from the same hold-out rows. " +
		"Widths are half ones, in standard deviations of the target; widths and coverage are on a quarter of all rows that was kept apart.\n\n" + t.String(), nil
}

// intervals adds the lines of a set.
func (t *table) intervals(p *peer, name string, ours intervalModel, trees intervalPeer) error {
	conformal, err := ours.conformal(p)
	if err != nil {
		return err
	}
	held := number(float64(ours.N), "%.0f")
	for i, share := range intervalShares {
		at, _ := ours.Curve.Within(share)
		cells := slices.Concat([]string{name, held, fmt.Sprintf("%.0f %%", 100*share)}, ours.cells(at), ours.cells(conformal[i]))
		t.row(append(cells, number(trees.Halves[i]*ours.scale, "%.3f"), number(100*trees.Covered[i], "%.1f %%"))...)
		name, held = "", ""
	}
	return nil
}

// An intervalModel is a curve and, of rows kept apart, errors in deviations of the target.
type intervalModel struct {
	certify.Guarantee

	off    []float64
	scale  float64   // of one tolerance
	held   []int64   // the hold-out rows of the job
	ranked []float64 // their errors, raw
}

// An intervalPeer is half-widths in raw units by MAPIE, and the shares of rows kept apart that they cover.
type intervalPeer struct {
	Halves  []float64 `json:"halves"`
	Covered []float64 `json:"covered"`
}

// conformal are MAPIE's tolerances from the hold-out rows. Each is the error of one row: the one that
// has as many rows below as the theorem of split conformal prediction asks for.
func (m intervalModel) conformal(p *peer) ([]float64, error) {
	var found intervalPeer
	if err := p.answer(map[string]any{"errors": m.ranked, "shares": intervalShares}, &found); err != nil {
		return nil, err
	}
	ordered := slices.Sorted(slices.Values(m.ranked))
	for i, share := range intervalShares {
		rank := int(math.Ceil(share * float64(len(ordered)+1)))
		if !(math.Abs(found.Halves[i]/ordered[rank-1]-1) < 1e-9) {
			return nil, fmt.Errorf("MAPIE's half-width for %v is %v, and error %d in order is %v", share, found.Halves[i], rank, ordered[rank-1])
		}
	}
	return found.Halves, nil
}

// trees are intervals of boosted trees, which see all rows of the job but the hold-out rows.
func (m intervalModel) trees(p *peer, job, apart measured.Dataset, target string) (found intervalPeer, err error) {
	err = p.answer(map[string]any{"names": job.Names, "target": target, "rows": job.Columns, "apart": apart.Columns, "held": m.held, "shares": intervalShares}, &found)
	return found, err
}

// cells are the width of intervals with a tolerance, and how much they cover.
func (m intervalModel) cells(tolerance float64) []string {
	covered := 0
	for _, off := range m.off {
		if off <= tolerance*m.scale {
			covered++
		}
	}
	return []string{number(tolerance*m.scale, "%.3f"), number(100*float64(covered)/float64(len(m.off)), "%.1f %%")}
}

// intervalsOf trains on rows of a job and predicts others.
func intervalsOf(ctx context.Context, rows, apart measured.Dataset, target string) (m intervalModel, err error) {
	job, err := pipeline.Job{
		Target: target, Delta: 0.05, Inducing: []int{200}, Loss: pipeline.LossDecl{Tolerance: pipeline.AnyTolerance},
		Roles: pipeline.RolesDecl{Holdout: 0.2}, Copies: pipeline.CopiesDecl{Policy: certify.CopiesKept},
	}.WithDefaults()
	if err != nil {
		return m, err
	}
	table, err := pipeline.Columns(rows.Names, rows.Columns)
	if err != nil {
		return m, err
	}
	out := &pipelinetest.Output{Store: &pipelinetest.Store{}}
	o, err := pipeline.Train(ctx, job, table, out, pipeline.RunConfig{Software: "bench"})
	if err != nil {
		return m, err
	}
	m.Guarantee, _ = o.Result.Certificate.Guarantee(certify.GuaranteeCurve)
	src, err := table.Data(ctx, pipeline.Choice{Features: o.Result.Model.Meta.Inputs()})
	if err != nil {
		return m, err
	}
	err = job.Split(ctx, src, pipeline.Resources{Workers: 1}, func(r pipeline.PlacedRole) error {
		if r.Role == string(certify.RoleHoldout) {
			m.held = append(m.held, r.Ordinal)
		}
		return nil
	})
	if err != nil {
		return m, err
	}
	m.scale = 1 / deviation(rows.Columns[slices.Index(rows.Names, target)])
	own, err := errorsOf(ctx, o.Result.Model, rows, target)
	if err != nil {
		return m, err
	}
	for _, at := range m.held {
		m.ranked = append(m.ranked, own[at])
	}
	m.off, err = errorsOf(ctx, o.Result.Model, apart, target)
	for i := range m.off {
		m.off[i] *= m.scale
	}
	return m, err
}

func deviation(y []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range y {
		sum += v
		squares += v * v
	}
	n := float64(len(y))
	return math.Sqrt(squares/n - sum/n*(sum/n))
}

// errorsOf predicts rows: the errors, in raw units.
func errorsOf(ctx context.Context, m pipeline.Model, rows measured.Dataset, target string) (off []float64, err error) {
	table, err := pipeline.Columns(rows.Names, rows.Columns)
	if err != nil {
		return nil, err
	}
	src, err := table.Data(ctx, pipeline.Choice{Features: m.Meta.Inputs()})
	if err != nil {
		return nil, err
	}
	y := rows.Columns[slices.Index(rows.Names, target)]
	err = pipeline.Predict(ctx, src, m, 1, func(batch []pipeline.Prediction) error {
		for _, p := range batch {
			off = append(off, math.Abs(y[p.Ordinal]-p.Mean))
		}
		return nil
	})
	return off, err
}

// split keeps a quarter of the rows apart.
func split(all measured.Dataset) (rest, apart measured.Dataset) {
	order := rand.New(rand.NewPCG(1, 1)).Perm(all.Rows()) //nolint:gosec // the same rows each time
	quarter := len(order) / 4
	return all.Pick(order[quarter:]), all.Pick(order[:quarter])
}
