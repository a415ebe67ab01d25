package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A Result holds what a finished run has published, and diagnostics of the run.
type Result struct {
	ArtifactRef

	Certificate certify.Certificate
	Model       pass.Model
	Training    pass.Training
	PlotRows    rowsToPlot
	diagnostics diagnostics
	shards      []job.Digest // digests of the shards, in order, as the last pass has read them
}

// diagnostics holds facts for the run record, on which no claim depends.
type diagnostics struct {
	Residuals          residuals `json:"residuals"`
	Unproven           int64     `json:"unproven_rows"`   // training rows whose loss counts as 1 for lack of a proof
	Instructions       string    `json:"instruction_set"` // of the linear algebra
	Warnings           []string  `json:"warnings"`
	FirstPassSeconds   float64   `json:"first_pass_seconds"`
	TrainSeconds       float64   `json:"train_seconds"`       // of this process; a resumed run counts from its resumption
	LastPassSeconds    float64   `json:"last_pass_seconds"`   // reading all rows again, their digest and risk
	CertificateSeconds float64   `json:"certificate_seconds"` // KL and bound in high precision, storing both files
}

// residuals holds the errors of predictions on [Result.PlotRows], in raw units.
type residuals struct {
	Rows   int     `json:"rows"`
	Fitted bool    `json:"fitted,omitempty"` // the rows are training rows, because there are no prior rows
	RMSE   float64 `json:"rmse"`
	MAE    float64 `json:"mae"`
	R2     float64 `json:"r2"` // 0 if all targets are equal
	// Column is the RMSE of the column of the mean alone, without Q's correction. It is 0 if there is no such column.
	Column float64 `json:"column_rmse,omitempty"`
	// Known is true if the column of the mean may have been fitted on these rows, so that all errors may be too small.
	Known bool `json:"column_may_know,omitempty"`
}

// leastForR2 is the least number of rows whose R² is reported.
const leastForR2 = 10

// String describes the errors in words.
func (f residuals) String() string {
	on := "prior rows"
	if f.Fitted {
		on = "training rows, to which the model is fitted"
	}
	share := fmt.Sprintf("R² %.3f", f.R2)
	if f.Rows < leastForR2 {
		share = "too few rows for R²"
	}
	alone := words.If(f.Column > 0, fmt.Sprintf("; the column of the mean alone has RMSE %.4g", f.Column))
	if f.Known {
		alone += " (it may have been fitted on them)"
	}
	return fmt.Sprintf("RMSE %.4g, MAE %.4g, %s on %s %s%s", f.RMSE, f.MAE, share, words.Number(int64(f.Rows)), on, alone)
}

// residuals returns the errors of the predictions.
func (p rowsToPlot) residuals(fitted bool) residuals {
	f := residuals{Rows: len(p.Observed), Fitted: fitted}
	n := float64(f.Rows)
	var middle, squares, total float64
	for _, y := range p.Observed {
		middle += y / n
	}
	for i, y := range p.Observed {
		off := y - p.Mean[i]
		squares += off * off / n
		total += (y - middle) * (y - middle) / n
		f.MAE += math.Abs(off) / n
	}
	f.RMSE = math.Sqrt(squares)
	for i, c := range p.column {
		off := p.Observed[i] - c
		f.Column += off * off / n
	}
	f.Column = math.Sqrt(f.Column)
	if total > 0x1p-80*middle*middle { // more than rounding errors of the mean
		f.R2 = 1 - squares/total
	}
	return f
}

// rowsToPlot holds targets and predictions of the prior rows, or of the start rows if there are none, in raw units.
type rowsToPlot struct {
	Observed, Mean []float64
	column         []float64 // the column of the mean; nil if there is none
}

// Run trains, makes the last pass and publishes. The job must have its defaults filled in. Faults of job and environment
// are found before anything is read, and joined in one error. If a run is killed and Run is called again with the same
// arguments, it resumes from its last checkpoint and gives the same bytes. When Run returns without an error, the result
// is durable in the sink. The caller clears the checkpoint.
func Run(ctx context.Context, j job.Job, env fit.Environment) (*Result, error) {
	began := time.Now()
	env.Resources = env.Resources.WithDefaults()
	h, err := fit.Fit(ctx, j, env)
	if err != nil {
		return nil, err
	}
	env.Observer.ReportProgress(job.Progress{Phase: job.PhaseLastPass, Elapsed: job.Seconds(time.Since(began))})
	read := time.Now()
	again := *h
	again.Order = nil // so that the last pass computes the split again
	prepared, err := Prepare(ctx, &again, env)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	pass, err := prepared.Pass(ctx, pass.Whole)
	if err != nil {
		return nil, err
	}
	took := time.Since(read)
	r, err := certifyPass(ctx, &again, pass, env, began)
	if err = errors.Join(err, pass.Close()); err != nil {
		return nil, err
	}
	r.diagnostics.LastPassSeconds = took.Seconds()
	r.diagnostics.CertificateSeconds = (time.Since(read) - took).Seconds()
	return r, nil
}

// plotRows predicts the rows of the baseline: prior rows, or start rows if there are none.
func plotRows(rows dataset.RawRows, m pass.Model, workers int) (rowsToPlot, error) {
	s, err := pass.NewScorer(m, workers)
	if err != nil {
		return rowsToPlot{}, err
	}
	defer s.Close()
	w := s.Workspace()
	w.GatherRaw(rows)
	if err := w.Predict(); err != nil {
		return rowsToPlot{}, err
	}
	var o rowsToPlot
	for i := range rows.Len() {
		row := rows.Row(i)
		mean, _ := w.Raw(i)
		o.Observed, o.Mean = append(o.Observed, row[len(row)-1]), append(o.Mean, mean)
		if m.Meta.Mean != "" {
			o.column = append(o.column, row[len(m.Meta.Features)])
		}
	}
	return o, nil
}
