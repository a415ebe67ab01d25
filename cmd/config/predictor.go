package config

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/sink"
)

// A Predictor is a model with a certificate that was checked without rows.
type Predictor struct {
	Model       pass.Model
	Digest      string // SHA-256 of its bytes
	Certificate certify.Certificate
	ID          string    // of the certificate
	Carries     string    // certificate of predictions, as their column has it; "": none
	Interval    *Interval // nil: none is asked for

	Passthrough *Passthrough // of all rows, which are predicted once; nil: none
}

// ReadPredictor reads model and certificate, and checks them. Trusted are public keys, "" for none; share
// is that of an interval, 0 for none.
func ReadPredictor(ctx context.Context, model, certificate, trusted string, share float64, res job.Resources) (p Predictor, err error) {
	if p.Model, p.Digest, err = ReadModel(ctx, model); err != nil {
		return p, err
	}
	if p.Certificate, p.ID, err = ReadCertificate(ctx, certificate); err != nil {
		return p, err
	}
	if _, err := SignedBy(ctx, certificate, p.ID, p.Certificate, trusted); err != nil {
		return p, err
	}
	if _, err := pipeline.Verify(ctx, p.Certificate, p.Model, p.Digest, nil, res); err != nil {
		return p, err
	}
	p.Carries = pipeline.CarriedID(p.Certificate, p.ID, certify.PredictorMean)
	p.Interval, err = newInterval(p.Certificate, share)
	return p, err
}

// Open opens rows to predict.
func (p Predictor) Open(ctx context.Context, from Origin, res job.Resources) (dataset.Opened, error) {
	meta := p.Model.Meta
	src, err := from.Open(ctx, dataset.Choice{Features: meta.Inputs(), Encoded: meta.Encode, Mark: true, Decoders: res.Workers, Pages: res.PageMemory()})
	if err != nil {
		return nil, meta.Lacks(err)
	}
	return src, nil
}

// Write writes the predictions of some shards of a source, nil for all, as a Parquet file. ready is
// the model.
func (p Predictor) Write(ctx context.Context, ready *pipeline.Ready, src dataset.Source, shards []int, file io.Writer) (n RowCounts, err error) {
	var columns []sink.Kept
	if p.Interval != nil {
		columns = sink.EndColumns()
	}
	if p.Passthrough != nil {
		columns = append(columns, p.Passthrough.columns...)
	}
	out := sink.NewPredictions(file, p.Carries, columns...)
	err = ready.Shards(ctx, src, shards, func(batch []pipeline.Prediction) error {
		n.add(batch)
		var extra ingestlake.StoredColumns
		if p.Interval != nil {
			extra.Values = sink.Ends(batch, p.Interval.Tolerance)
		}
		if p.Passthrough != nil {
			if err := p.Passthrough.add(ctx, &extra, len(batch)); err != nil {
				return err
			}
		}
		return out.Write(batch, extra.Values...)
	})
	if err == nil {
		err = out.Close()
	}
	return n, err
}

// RowCounts counts all rows, rows without a prediction, and predictions without a deviation, without a
// predictive one, and far from the prior rows.
type RowCounts struct {
	Rows    int64 `json:"rows"`
	Refused int64 `json:"rows_without_prediction"`
	Vague   int64 `json:"rows_without_deviation"`
	Unknown int64 `json:"rows_without_predictive_deviation"`
	Far     int64 `json:"rows_extrapolated"`

	Other map[string]int64 `json:"rows_of_other,omitempty"` // by feature, rows with a value of it that is no level
}

func (n *RowCounts) add(batch []pipeline.Prediction) {
	for _, p := range batch {
		n.Rows++
		switch {
		case p.Reason != "":
			n.Refused++
		case math.IsNaN(p.Deviation):
			n.Vague++
		}
		if p.Reason == "" && math.IsNaN(p.PredictiveDeviation) {
			n.Unknown++
		}
		if p.Other != "" {
			n.others(p.Other, 1)
		}
		if p.Far {
			n.Far++
		}
	}
}

func (n *RowCounts) others(feature string, rows int64) {
	if n.Other == nil {
		n.Other = map[string]int64{}
	}
	n.Other[feature] += rows
}

// Add adds other rows.
func (n *RowCounts) Add(other RowCounts) {
	n.Rows, n.Refused, n.Vague, n.Unknown, n.Far = n.Rows+other.Rows, n.Refused+other.Refused, n.Vague+other.Vague, n.Unknown+other.Unknown, n.Far+other.Far
	for feature, rows := range other.Other {
		n.others(feature, rows)
	}
}

// Warnings are what a reader of the predictions should know.
func (p Predictor) Warnings(n RowCounts) (said []string) {
	if n.Vague > 0 {
		said = append(said, words.Count(n.Vague, "prediction")+" without a deviation, which is too small to be computed with two digits")
	}
	for _, name := range slices.Sorted(maps.Keys(n.Other)) {
		words := fmt.Sprintf("%s of %d with a value of %q that is in no prior row: it counts as other", words.Count(n.Other[name], "row"), n.Rows, name)
		if n.Other[name] == n.Rows {
			words += " (hint: is it text in the one, and numbers in the other?)"
		}
		said = append(said, words)
	}
	if n.Far > 0 {
		said = append(said, fmt.Sprintf("extrapolation: %s, where a feature lies more than %d of its scales from its centre; the certificate may not be about such rows", words.Count(n.Far, "prediction"), pipeline.FarScales))
	}
	return said
}

// Words say where predictions are, and what they are.
func (p Predictor) Words(output string, n RowCounts) string {
	return fmt.Sprintf("%s: predictions of %s%s\n%s", output, words.Count(n.Rows, "row"), Without(n.Refused, "column"), p.Interval.words())
}

// Without says how many rows have no prediction, and where the reason is; "" without one.
func Without(refused int64, column string) string {
	if refused == 0 {
		return ""
	}
	return fmt.Sprintf(", %s without one (%s reason says why)", words.Number(refused), column)
}

// An Interval is what the curve of a certificate promises: predictions ± tolerance cover a share of
// fresh rows. nil: none is asked for.
type Interval struct {
	Share     float64 `json:"covers"`
	Tolerance float64 `json:"tolerance"` // raw units of the target
	Statement string  `json:"statement"` // with what confidence, and on which conditions
}

// newInterval is that for a share; nil for 0.
func newInterval(c certify.Certificate, share float64) (*Interval, error) {
	if share == 0 {
		return nil, nil
	}
	if !(0 < share && share < 1) {
		return nil, Argument(fmt.Errorf("--interval: %v is no share of new rows between 0 and 1, such as 0.9", share))
	}
	g, ok := c.Claim(certify.ClaimCurve)
	switch {
	case !ok:
		return nil, pipeline.NotCertified("--interval: the certificate has no curve (hint: guarantees: [pac-bayes, curve], or loss: {tolerance: any})")
	case g.Status == certify.StatusVoid: // a vacuous one is no better than a constant at ε, and holds
		return nil, pipeline.NotCertified("--interval: the curve is %s (hint: pacsgp inspect says why)", g.Status)
	}
	tolerance, ok := g.Curve.Within(share)
	if !ok {
		return nil, pipeline.NotCertified("--interval: the curve of %s covers no share of %v at any tolerance (hint: a smaller share, or more held-out rows)", words.Count(g.N, "held-out row"), share)
	}
	return &Interval{share, tolerance, fmt.Sprintf("lower and upper are the prediction ± %s: they cover at least %s of new rows (%s confidence)",
		words.AtMostDigits(tolerance), words.PercentDeclared(share), words.Confidence(g.Delta))}, nil
}

// words say what the columns are.
func (v *Interval) words() string {
	if v == nil {
		return ""
	}
	return v.Statement + "\n"
}
