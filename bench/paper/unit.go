package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A unit is one method on one split, which is computed as a whole. All fields except Seed are those of a row of
// the paper's tables.
type unit struct {
	Table    string  `json:"table"`
	Dataset  string  `json:"dataset"`
	Loss     string  `json:"loss"` // 01 or exp
	Epsilon  float64 `json:"epsilon"`
	Method   string  `json:"method"`
	ARD      bool    `json:"ard"`
	Alpha    float64 `json:"alpha"`       // α of the posterior if it is not the method's own; else −1
	Inducing int     `json:"inducing"`    // 0 means the exact process or, for free-form, a number that the job chooses
	Most     int     `json:"evaluations"` // greatest number of gradients
	Seed     int     `json:"seed"`
	Start    string  `json:"start,omitempty"` // one of the starts below; empty for free-form

	// For the experiment on discretisation: ln θ is rounded to so many digits within ±Limit. A Limit of 0 means
	// the paper's grid.
	Limit  int `json:"limit,omitempty"`
	Digits int `json:"digits,omitempty"`
}

// The starts: the published one; the better one of that and of the result of pre-training; and a search by
// mini-batches from there.
const (
	published  = "published"
	pretrained = "pre-trained"
	minibatch  = "mini-batch"
)

const (
	delta = 0.01 // the paper's
	batch = 4096 // rows of a mini-batch
)

func (u unit) name() string {
	ard := "iso"
	if u.ARD {
		ard = "ard"
	}
	grid := ""
	if u.Limit > 0 {
		grid = fmt.Sprintf("-l%d-r%d", u.Limit, u.Digits)
	}
	if u.Start != "" {
		grid += "-" + u.Start
	}
	return fmt.Sprintf("%s-%s-%s-%g-%s-%s-a%g-m%d-e%d%s-%d.json", u.Table, u.Dataset, u.Loss, u.Epsilon, u.Method, ard, u.Alpha, u.Inducing, u.Most, grid, u.Seed)
}

// ofSearch returns the unit under which the result of a search is stored. An evidence does not depend on the
// loss, and grids within the same limits share a search.
func (u unit) ofSearch() unit {
	u.Table, u.Digits = "search", 0
	if u.byEvidence() {
		u.Loss, u.Epsilon, u.Alpha = "any", 0, -1
	}
	return u
}

func (u unit) grid() job.GridDecl {
	g := job.PaperGrid
	if u.Limit > 0 {
		g.Min, g.Max, g.Step = -float64(u.Limit), float64(u.Limit), math.Pow10(-u.Digits)
	}
	return g
}

// byEvidence reports whether the method maximises an evidence.
func (u unit) byEvidence() bool {
	return u.Method == "VFE" || u.Method == "FITC" || u.Method == "full-GP"
}

// A result has the numbers of a unit.
type result struct {
	unit
	N            int64   `json:"n"`
	Bound        float64 `json:"bound"`
	Train        float64 `json:"risk_train"`
	Test         float64 `json:"risk_test"` // 0-1 risk of a draw, as in all tables of the paper
	MSE          float64 `json:"mse"`
	KL           float64 `json:"kl_per_n"`
	Weight       float64 `json:"ln_inverse_weight"` // ln 1/p_θ
	Noise        float64 `json:"noise_variance"`
	Points       int     `json:"points"` // M, the number of inducing points
	Empty        int     `json:"empty"`  // start centres without rows
	Steps        int     `json:"steps"`
	Seconds      float64 `json:"seconds"`
	Instructions string  `json:"instruction_set"`
}

// exponent returns that of a bound, (KL + ln 1/p_θ + ln ξ/δ)/N.
func (f result) exponent(lnXi float64) float64 {
	return f.KL + (f.Weight+lnXi-math.Log(delta))/float64(f.N)
}

// printed returns the exponent by the paper's formula, which has 2√N instead of ξ(N).
func (f result) printed() float64 { return f.exponent(math.Log(4*float64(f.N)) / 2) }

// cut reports whether the limit of gradients has ended a search that would have ended by itself.
func (f result) cut() bool { return f.ends() && f.Steps >= f.Most }

// ends reports whether the unit's search can end by itself.
func (u unit) ends() bool { return u.Method != freeForm && u.Start != minibatch }

// cached returns the value stored in a file. If there is no file, it computes the value and stores it.
func cached[T any](path string, value func() (T, error)) (v T, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // below the folder that the user named
	if err == nil {
		if err = json.Unmarshal(text, &v); err != nil {
			err = fmt.Errorf("%s: %w; without the file it is computed again", path, err)
		}
		return v, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return v, err
	}
	if v, err = value(); err != nil {
		return v, err
	}
	if text, err = json.MarshalIndent(v, "", "  "); err != nil {
		return v, err
	}
	return v, durable.WriteFile(durable.OS{}, path, append(text, '\n'))
}

// job returns a job with the paper's protocol, without scaling of its own and with a flat prior.
func (u unit) job(names []string, n int) job.Job {
	target := names[len(names)-1]
	j := job.Job{
		Target: target, Delta: delta, Loss: job.LossDecl{Kind: certify.LossZeroOne, Epsilon: u.Epsilon},
		Kernel: job.KernelDecl{Isotropic: !u.ARD}, Grid: u.grid(),
		Scaling:    job.ScalingNone,
		Duplicates: job.DuplicatesDecl{Policy: job.DuplicatesKept},
		Guarantees: []certify.MethodID{certify.MethodPACBayes},
		Train:      job.TrainDecl{Method: job.NamedMethod(u.Method), Seed: uint64(u.Seed)}, //nolint:gosec // not negative
	}
	if u.Loss == "exp" {
		j.Loss.Kind = certify.LossExponential
	}
	if u.Inducing > 0 {
		j.Inducing = []int{u.Inducing}
	}
	switch u.Start {
	case pretrained:
		j.Train.Passes = float64(u.Most)
	case minibatch:
		j.Train.Mode, j.Train.Passes = job.TrainMiniBatch, float64(u.Most*min(batch, n))/float64(n)
	}
	return j
}

// fit trains and certifies the unit, and measures it on the test rows. Units with the published start are no
// jobs, because no job can have that start.
func (u unit) fit(ctx context.Context, dir string, train, test measured.Dataset) (result, error) {
	if u.Start == published {
		return u.published(ctx, dir, train, test)
	}
	return u.certified(ctx, train, test)
}

func (u unit) certified(ctx context.Context, train, test measured.Dataset) (result, error) {
	j, err := u.job(train.Names, train.Rows()).WithDefaults()
	if err != nil {
		return result{}, err
	}
	rows := pipelinetest.NewMemory(train.Names, train.Columns)
	var store pipelinetest.Store
	began := time.Now()
	r, err := pipeline.Run(ctx, j, fit.Environment{
		Open: func(context.Context, []string) (dataset.Source, error) {
			return rows.Choose(dataset.Choice{Features: train.Names}), nil // in their order, the target last
		},
		Sink: &store, Log: &store, Checkpoints: &store, Software: "paper",
		Resources: job.Resources{Workers: runtime.NumCPU()},
	})
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", u.name(), err)
	}
	draw := r.Certificate.About(certify.PredictorDraw)
	f := result{
		unit: u, N: draw.N, Bound: draw.Bound, Train: *draw.Risk, KL: r.Certificate.Model.KL / float64(draw.N), Weight: draw.LnInverseWeight,
		Points: r.Training.Inducing, Noise: r.Training.Noise, Steps: r.Training.Steps, Seconds: time.Since(began).Seconds(), Instructions: r.Training.Machine,
	}
	// The paper's test column is the 0-1 risk of a draw, whatever the loss was.
	r.Model.Meta.Loss = certify.Loss{Kind: certify.LossZeroOne, Epsilon: u.Epsilon}
	f.Test, _, f.MSE, err = pipeline.Evaluate(ctx, pipelinetest.NewMemory(test.Names, test.Columns), r.Model, runtime.NumCPU())
	return f, err
}

// widestLimit is the greatest limit of the sizes of ln θ.
const widestLimit = 8

// searchGrids returns the grids of a search. A search that serves several grids has close values, and the ln
// |Θ| of two digits.
func (u unit) searchGrids(parameters int) []model.Grid {
	g := flat(u.grid())
	if u.Limit > 0 {
		step := 1e-4 * max(1, float64(u.Limit)/4)
		g = model.Grid{Min: g.Min, Step: step, Count: 1 + int(math.Round(2*float64(u.Limit)/step))}
		g.LnInverseWeights = slices.Repeat([]float64{math.Log1p(200 * float64(u.Limit))}, g.Count)
	}
	return slices.Repeat([]model.Grid{g}, parameters)
}
