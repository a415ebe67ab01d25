package sink

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/certify"
)

// A certificateRow is a certificate as one row: the numbers that one selects,
// sorts and joins by, and the whole document. Its columns stand in
// docs/format.md. What a certificate does not have is null.
type certificateRow struct {
	Certificate string `parquet:"certificate"` // SHA-256 of the document
	Format      string `parquet:"format"`

	Status       string  `parquet:"status"` // of a draw of Q
	Bound        float64 `parquet:"bound"`
	BoundPinsker float64 `parquet:"bound_pinsker"`
	LowerBound   float64 `parquet:"lower_bound"`
	Statement    string  `parquet:"statement"`

	MeanStatus    *string  `parquet:"mean_status,optional"` // of the mean of Q
	MeanBound     *float64 `parquet:"mean_bound,optional"`
	MeanStatement *string  `parquet:"mean_statement,optional"`

	Target  string   `parquet:"target"`
	Unit    *string  `parquet:"unit,optional"`
	Loss    string   `parquet:"loss"`
	Epsilon *float64 `parquet:"epsilon,optional"`
	Below   *float64 `parquet:"below,optional"`
	Above   *float64 `parquet:"above,optional"`

	Delta           float64 `parquet:"delta"`
	N               int64   `parquet:"n"`
	EmpiricalRisk   float64 `parquet:"empirical_risk"`
	KL              float64 `parquet:"kl"`
	LnInverseWeight float64 `parquet:"ln_inverse_weight"`
	LnXi            float64 `parquet:"ln_xi"`
	LnInverseDelta  float64 `parquet:"ln_inverse_delta"`
	Exponent        float64 `parquet:"exponent"`
	Slack           float64 `parquet:"slack"`

	BaselineConstant float64 `parquet:"baseline_constant"`
	BaselineBound    float64 `parquet:"baseline_bound"`

	Rows      int64 `parquet:"rows"`
	Reference int64 `parquet:"reference"`
	Train     int64 `parquet:"train"`
	Holdout   int64 `parquet:"holdout"`
	Bad       int64 `parquet:"bad"`
	Shards    int64 `parquet:"shards"`
	Features  int64 `parquet:"features"`

	Sample        string `parquet:"sample"` // digests
	Model         string `parquet:"model"`
	Configuration string `parquet:"configuration"`

	Kernel             string `parquet:"kernel"`
	ARD                bool   `parquet:"ard"`
	RolesKey           string `parquet:"roles_key"`
	Seed               string `parquet:"seed"` // 64 bits, without a sign
	BrokenAssumptions  int64  `parquet:"broken_assumptions"`
	AttemptOnSample    int64  `parquet:"attempt_on_this_sample"`
	AttemptInDirectory int64  `parquet:"attempt_in_this_directory"`
	Software           string `parquet:"software"`

	Document string `parquet:"document"` // canonical JSON
}

// CertificateRow returns a Parquet file of one row with the main numbers of a
// certificate in flat columns and its canonical JSON beside them, so that a
// folder of certificates is a table. The same certificate gives the same bytes.
func CertificateRow(c certify.Certificate) ([]byte, error) {
	document, err := certify.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("sink: certificate row: %w", err)
	}
	draw, ok := c.Guarantee(certify.GuaranteeDraw)
	if !ok {
		return nil, fmt.Errorf("sink: certificate row: there is no guarantee %q", certify.GuaranteeDraw)
	}
	row := flatten(c, draw)
	id := sha256.Sum256(document)
	row.Certificate, row.Document = hex.EncodeToString(id[:]), string(document)
	if mean, ok := c.Guarantee(certify.GuaranteeMean); ok {
		row.MeanStatus, row.MeanBound, row.MeanStatement = &mean.Status, &mean.Bound, &mean.Statement
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[certificateRow](&b,
		parquet.CreatedBy("pacsgp", "1", ""),
		parquet.Compression(&parquet.Uncompressed),
		parquet.DataPageVersion(1),
		// A row of one needs no statistics, and the texts would stand in the
		// file four times more.
		parquet.DataPageStatistics(false),
		parquet.SkipPageBounds("document"),
		parquet.SkipPageBounds("statement"),
		parquet.SkipPageBounds("mean_statement"),
	)
	if _, err := w.Write([]certificateRow{row}); err != nil {
		return nil, fmt.Errorf("sink: certificate row: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("sink: certificate row: %w", err)
	}
	return b.Bytes(), nil
}

func flatten(c certify.Certificate, draw certify.Guarantee) certificateRow {
	broken := int64(0)
	for _, a := range c.Assumptions {
		if a.Status == certify.AssumptionBroken {
			broken++
		}
	}
	row := certificateRow{
		Format: c.Format,
		Status: draw.Status, Bound: draw.Bound, BoundPinsker: draw.BoundPinsker, LowerBound: draw.LowerBound, Statement: draw.Statement,
		Target: draw.Loss.Target, Loss: draw.Loss.Kind,
		Delta: draw.Delta, N: draw.N, EmpiricalRisk: draw.EmpiricalRisk.Upper, KL: draw.KL,
		LnInverseWeight: draw.LnInverseWeight, LnXi: draw.LnXi, LnInverseDelta: draw.LnInverseDelta,
		Exponent: draw.Exponent, Slack: draw.Slack,
		BaselineConstant: c.Baseline.Constant, BaselineBound: c.Baseline.Bound,
		Rows: c.Ledger.Rows, Reference: c.Ledger.Reference, Train: c.Ledger.Train, Holdout: c.Ledger.Holdout, Bad: c.Ledger.Bad,
		Shards: c.Sample.Shards, Features: int64(max(0, len(c.Sample.Columns)-1)),
		Sample: c.Sample.Digest, Model: c.Model.Digest, Configuration: c.Configuration.Digest,
		Kernel: c.Kernel.Family, ARD: c.Kernel.ARD, RolesKey: c.Roles.Key, Seed: strconv.FormatUint(c.Optimiser.Seed, 10),
		BrokenAssumptions: broken, AttemptOnSample: c.Attempt.OnThisSample, AttemptInDirectory: c.Attempt.InThisDirectory,
		Software: c.Software,
	}
	if draw.Loss.Unit != "" {
		row.Unit = &draw.Loss.Unit
	}
	switch draw.Loss.Kind {
	case certify.LossZeroOne, certify.LossSquared, certify.LossExponential:
		row.Epsilon = &draw.Loss.Epsilon
	case certify.LossBand:
		row.Below, row.Above = &draw.Loss.Below, &draw.Loss.Above
	}
	return row
}
