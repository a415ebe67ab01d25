package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/report"
)

// A Predictor is a model with a certificate. They were checked, but without the rows.
type Predictor struct {
	score.Artifact

	Carries     string       // id of the certificate in the column of predictions; "" if they carry none
	Draws       bool         // whether a row's prediction is a draw from its law, by its ordinal
	Interval    *Interval    // nil if no interval is requested
	Passthrough *Passthrough // columns to copy from the predicted files; nil for none
}

// ReadPredictor reads and checks a model and its certificate. trusted has public keys, or is "" for
// no signature. share is the share of new rows that an interval must cover, or 0 for no interval.
func ReadPredictor(ctx context.Context, model, certificate, trusted string, share float64, res job.Resources) (p Predictor, err error) {
	if p.Artifact, err = ReadArtifacts(ctx, model, certificate); err != nil {
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

// Open opens the rows to predict.
func (p Predictor) Open(ctx context.Context, from Origin, res job.Resources) (dataset.Opened, error) {
	meta := p.Model.Meta
	src, err := from.Open(ctx, dataset.Choice{Features: meta.Inputs(), Encoded: meta.Encode, Mark: true, Decoders: res.Workers, Pages: res.PageMemory()})
	return src, meta.Lacks(err)
}

// Write writes the predictions of some shards of a source, or of all if shards is nil, as a Parquet
// file. ready is the model.
func (p Predictor) Write(ctx context.Context, ready *pipeline.Ready, src dataset.Source, shards []int, file io.Writer) (n RowCounts, err error) {
	var columns []sink.Kept
	if p.Interval != nil {
		columns = sink.EndColumns()
	}
	if p.Passthrough != nil {
		columns = append(columns, p.Passthrough.columns...)
	}
	out := sink.NewPredictions(file, p.Carries, columns...)
	err = ready.Predict(ctx, src, shards, func(batch []pipeline.Prediction) error {
		n.add(batch)
		for i := 0; i < len(batch) && p.Draws; i++ {
			batch[i].Mean += batch[i].Deviation * rand.New(rand.NewPCG(0, uint64(batch[i].Ordinal))).NormFloat64() //nolint:gosec // reproducible by intent
		}
		var extra ingestlake.StoredColumns
		if p.Interval != nil {
			extra.Values = sink.Ends(batch, p.Interval.Below, p.Interval.Above, p.Interval.Deviations)
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

// RowCounts counts rows: all, those without a prediction, without a deviation, without a predictive
// deviation, and those far from the prior rows.
type RowCounts struct {
	Rows    int64 `json:"rows"`
	Refused int64 `json:"rows_without_prediction"`
	Vague   int64 `json:"rows_without_deviation"`
	Unknown int64 `json:"rows_without_predictive_deviation"`
	Far     int64 `json:"rows_extrapolated"`

	Other map[string]int64 `json:"rows_of_other,omitempty"` // by feature: rows whose value is none of its levels
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
			n.Add(RowCounts{Other: map[string]int64{p.Other: 1}})
		}
		if p.Far {
			n.Far++
		}
	}
}

// Add adds the counts of other rows.
func (n *RowCounts) Add(other RowCounts) {
	n.Rows, n.Refused, n.Vague, n.Unknown, n.Far = n.Rows+other.Rows, n.Refused+other.Refused, n.Vague+other.Vague, n.Unknown+other.Unknown, n.Far+other.Far
	for feature, rows := range other.Other {
		if n.Other == nil {
			n.Other = map[string]int64{}
		}
		n.Other[feature] += rows
	}
}

// Warnings returns what users of the predictions need to know.
func (p Predictor) Warnings(n RowCounts) (said []string) {
	if n.Vague > 0 {
		said = append(said, words.Count(n.Vague, "prediction")+" without a deviation, which is too small to be computed with two digits")
	}
	for _, name := range slices.Sorted(maps.Keys(n.Other)) {
		words := fmt.Sprintf("%s of %d with a value of %q that is new or rare: it counts as other", words.Count(n.Other[name], "row"), n.Rows, name)
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

// Words returns a summary: where the predictions are, and what the interval is.
func (p Predictor) Words(output string, n RowCounts) string {
	said := fmt.Sprintf("%s: predictions of %s%s\n", output, words.Count(n.Rows, "row"), Without(n.Refused, "column"))
	if p.Interval != nil {
		said += p.Interval.Statement + "\n"
	}
	return said
}

// Without says how many rows have no prediction and where the reason is. It returns "" for 0.
func Without(refused int64, column string) string {
	if refused == 0 {
		return ""
	}
	return fmt.Sprintf(", %s without one (%s reason says why)", words.Number(refused), column)
}

// An Interval around predictions covers a share of new rows: by a claim of the certificate or, if
// no claim covers that share, by each row's predictive deviation, which certifies nothing.
type Interval struct {
	Share      float64 `json:"covers"`
	Certified  bool    `json:"certified"`
	Below      float64 `json:"below,omitempty"`      // below the prediction, in raw units of the target, if certified
	Above      float64 `json:"above,omitempty"`      // above the prediction, likewise
	Deviations float64 `json:"deviations,omitempty"` // number of predictive deviations, if not certified
	Statement  string  `json:"statement"`            // what the interval promises, for people
}

// newInterval returns the interval for a share, or nil if share is 0.
func newInterval(c certify.Certificate, share float64) (*Interval, error) {
	if share == 0 {
		return nil, nil
	}
	if !(0 < share && share < 1) {
		return nil, Argument(fmt.Errorf("--interval: %v is no share of new rows between 0 and 1, such as 0.9", share))
	}
	below, above, by, ok := c.Interval(share)
	if !ok {
		z, remedy := math.Sqrt2*math.Erfinv(share), "train with loss: {tolerance: any}"
		switch {
		case c.Counts.Units != nil:
			remedy = "train with a larger epsilon"
		case slices.ContainsFunc(c.Claims, func(g certify.Claim) bool { return g.Curve != nil }):
			remedy = "train on more rows"
		}
		for most := math.Floor(1000 * share); most > 0 && !ok; most-- {
			if _, _, _, ok = c.Interval(most / 1000); ok {
				remedy = fmt.Sprintf("%g is certified; for more, %s", most/1000, remedy)
			}
		}
		return &Interval{Share: share, Deviations: z, Statement: fmt.Sprintf("lower and upper are not certified: they are the prediction ± %.3f predictive deviations, "+
			"for no claim in units of the target covers %s of %s (hint: %s)", z, words.PercentDeclared(share), report.NewRows(c), remedy)}, nil
	}
	ends := "± " + words.AtMostDigits(below)
	if below != above {
		ends = "− " + words.AtMostDigits(below) + " and the prediction + " + words.AtMostDigits(above)
	}
	return &Interval{share, true, below, above, 0, fmt.Sprintf("lower and upper are the prediction %s: they cover at least %s of %s (%s confidence)",
		ends, words.PercentDeclared(share), report.NewRows(c), words.Confidence(by.Delta))}, nil
}

// A Passthrough reads columns of the predicted files, which are copied next to the predictions.
type Passthrough struct {
	columns []sink.Kept
	names   []string
	files   []dataset.File // files that are not opened yet
	pages   int64
	open    *ingestlake.Stored
	left    int64 // unread rows of the open file
}

// OpenPassthrough opens the columns called names. It returns nil if there are no names.
func OpenPassthrough(ctx context.Context, from Origin, src dataset.Opened, names []string, res job.Resources) (*Passthrough, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if _, ok := from.(Lake); !ok {
		return nil, Argument(errors.New("--passthrough: the rows are of a topic; pacsgp score has passthrough for these"))
	}
	for i, name := range names {
		if err := sink.CanKeep(name, names[:i]...); err != nil {
			return nil, Argument(fmt.Errorf("--passthrough: %w", err))
		}
	}
	p := &Passthrough{names: names, files: src.Files(), pages: res.PageMemory() / int64(len(names))}
	return p, p.next(ctx)
}

// next opens the next file. Its columns must have the same types as before.
func (p *Passthrough) next(ctx context.Context) (err error) {
	if err := p.Close(); err != nil || len(p.files) == 0 {
		return err
	}
	f := p.files[0]
	p.files, p.left = p.files[1:], f.Rows
	if p.open, err = ingestlake.OpenStored(ctx, f.Path, p.names, p.pages); err != nil {
		return err
	}
	for i, c := range p.open.Columns() {
		if i == len(p.columns) {
			p.columns = append(p.columns, sink.Kept{Name: c.Name, Node: c.Node})
		} else if was := p.columns[i].Node.String(); c.Node.String() != was {
			return fmt.Errorf("--passthrough: %s: %q is of type %s, and %s in the files before", f.Path, c.Name, c.Node, was)
		}
	}
	return nil
}

// add adds the values of the next rows to to.
func (p *Passthrough) add(ctx context.Context, to *ingestlake.StoredColumns, rows int) error {
	for p.left == 0 && len(p.files) > 0 {
		if err := p.next(ctx); err != nil {
			return err
		}
	}
	p.left -= int64(rows)
	values, err := p.open.Next(ctx, rows)
	to.Values = append(to.Values, values...)
	return err
}

// Close closes the open file.
func (p *Passthrough) Close() error {
	if p == nil || p.open == nil {
		return nil
	}
	err := p.open.Close()
	p.open = nil
	return err
}
