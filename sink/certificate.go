package sink

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
)

// A certificateRow is a certificate as one row of Parquet: the numbers to select, sort and join by, and the whole
// document. docs/reference/formats.md lists the columns. A value that the certificate does not have is null.
type certificateRow struct {
	Certificate string `parquet:"certificate"` // SHA-256 of the document
	Format      string `parquet:"format"`

	Status     certify.Status  `parquet:"status"` // of the claim about predictions with the smallest bound
	Bound      float64         `parquet:"bound"`
	Claim      certify.ClaimID `parquet:"claim"`
	DrawStatus certify.Status  `parquet:"draw_status"` // of the claim about a random draw
	DrawBound  float64         `parquet:"draw_bound"`
	Baseline   float64         `parquet:"baseline"`

	Target  string   `parquet:"target"`
	Loss    string   `parquet:"loss"`
	Epsilon *float64 `parquet:"epsilon,optional"`
	Below   *float64 `parquet:"below,optional"`
	Above   *float64 `parquet:"above,optional"`
	Unit    *string  `parquet:"unit,optional"`

	Delta          float64 `parquet:"delta"`
	SequenceName   *string `parquet:"sequence_name,optional"`
	SequenceNumber *int64  `parquet:"sequence_run,optional"`
	Accuracy       float64 `parquet:"accuracy"`
	KL             float64 `parquet:"kl"`
	Warnings       int64   `parquet:"warnings"` // number of warnings

	Rows       int64 `parquet:"rows"`
	Prior      int64 `parquet:"prior"`
	Training   int64 `parquet:"training"`
	Holdout    int64 `parquet:"holdout"`
	Duplicates int64 `parquet:"duplicates"`
	Rejected   int64 `parquet:"rejected"`
	Features   int64 `parquet:"features"`

	Dataset string `parquet:"dataset"` // SHA-256, as in Model and Job
	Model   string `parquet:"model"`
	Job     string `parquet:"job"`
	Kernel  string `parquet:"kernel"`

	Document string `parquet:"document"` // canonical JSON

	Claims []claimRow `parquet:"claims,list"` // in the order of the document
}

type claimRow struct {
	ID             certify.ClaimID   `parquet:"id"`
	Predictor      certify.Predictor `parquet:"predictor"`
	Subset         certify.Subset    `parquet:"subset"`
	Status         certify.Status    `parquet:"status"`
	Bound          float64           `parquet:"bound"`
	N              int64             `parquet:"n"`
	Risk           *float64          `parquet:"risk,optional"`
	Misses         *int64            `parquet:"misses,optional"`
	LnInverseDelta float64           `parquet:"ln_inverse_delta"`
}

// ErrCertificateRow means that bytes are not an intact certificate row, or that its columns
// contradict its document. A retry does not help.
var ErrCertificateRow = errors.New("not a valid certificate row")

// CertificateRow returns a Parquet file of one row with the main numbers of a certificate in
// flat columns, a list of its guarantees, and its canonical JSON, so that a folder of
// certificates is a table. The same certificate gives the same bytes.
func CertificateRow(c certify.Certificate) ([]byte, error) {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[certificateRow](&b,
		parquet.CreatedBy("pacsgp", "1", ""),
		parquet.Compression(&parquet.Uncompressed),
		parquet.DataPageVersion(1),
		parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain),
		// One row needs no statistics.
		parquet.DataPageStatistics(false),
		parquet.SkipPageBounds("document"),
		parquet.KeyValueMetadata(sealKey, strings.Repeat("0", sealDigits)),
	)
	row, err := newCertificateRow(c)
	if err == nil {
		_, err = w.Write([]certificateRow{row})
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = seal(b.Bytes())
	}
	if err != nil {
		return nil, fmt.Errorf("sink: certificate row: %w", err)
	}
	return b.Bytes(), nil
}

// IsCertificateRow reports whether data resembles a certificate row and not a model file: it starts
// as Parquet and contains a certificate's format. [DecodeCertificateRow] checks the content.
func IsCertificateRow(data []byte) bool {
	return isParquet(data) && bytes.Contains(data, []byte(`"format": "pacsgp-certificate/`))
}

// DecodeCertificateRow decodes the output of [CertificateRow]. It returns an error if the document
// is not canonical JSON, or if a flat column differs from it. Like certify.Parse it does not check
// that the numbers follow from each other.
func DecodeCertificateRow(data []byte) (certify.Certificate, error) {
	if err := checkSeal(data); err != nil {
		return certify.Certificate{}, fmt.Errorf("%w: %w (hint: the same certificate is next to it as JSON)", ErrCertificateRow, err)
	}
	c, err := decodeRow(data)
	if err != nil {
		return certify.Certificate{}, fmt.Errorf("%w: %w", ErrCertificateRow, err)
	}
	return c, nil
}

func decodeRow(data []byte) (c certify.Certificate, err error) {
	f, err := openTable[certificateRow](data)
	if err != nil {
		return c, err
	}
	if f.meta.Rows != 1 {
		return c, fmt.Errorf("it has %d rows, want one", f.meta.Rows)
	}
	var row certificateRow
	if err := eachRow(f, func(r certificateRow) error { row = r; return nil }); err != nil {
		return c, err
	}
	if c, err = certify.Parse([]byte(row.Document)); err != nil {
		return c, fmt.Errorf("its document: %w", err)
	}
	want, err := newCertificateRow(c)
	if err != nil {
		return c, err
	}
	schema := parquet.SchemaOf(row)
	var columns [][]parquet.Value
	schema.Deconstruct(nil, row).Range(func(_ int, values []parquet.Value) bool {
		columns = append(columns, slices.Clone(values))
		return true
	})
	schema.Deconstruct(nil, want).Range(func(i int, values []parquet.Value) bool {
		if f.values[i] != int64(len(values)) || !slices.EqualFunc(columns[i], values, parquet.DeepEqual) {
			err = fmt.Errorf("its column %q is %v, but its document gives %v", strings.Join(schema.Columns()[i], "."), columns[i], values)
		}
		return err == nil
	})
	return c, err
}

func newCertificateRow(c certify.Certificate) (certificateRow, error) {
	document, err := certify.Marshal(c)
	if err != nil {
		return certificateRow{}, err
	}
	draw, mean := c.About(certify.PredictorDraw), c.About(certify.PredictorMean)
	if draw.ID == "" || mean.ID == "" {
		return certificateRow{}, errors.New("there are no claims about predictions and a random draw")
	}
	l, loss := c.Counts, c.Loss
	row := certificateRow{
		Certificate: digest.Of(document), Format: c.Format, Document: string(document),
		Status: mean.Status, Bound: mean.Bound, Claim: mean.ID, DrawStatus: draw.Status, DrawBound: draw.Bound, Baseline: draw.Baseline,
		Target: loss.Target, Loss: string(loss.Kind), Delta: c.Delta.Declared, Accuracy: c.Model.Accuracy, KL: c.Model.KL, Warnings: int64(len(c.Warnings)),
		Rows: l.Rows, Prior: l.Prior, Training: l.Training, Holdout: l.Holdout, Duplicates: l.Duplicates, Rejected: l.Rejected, Features: int64(len(c.Features())),
		Dataset: c.Sample.Digest, Model: c.Model.Digest, Job: c.Job.Digest, Kernel: c.Model.Kernel.Family,
	}
	for _, g := range c.Claims {
		row.Claims = append(row.Claims, claimRow{g.ID, g.Predictor, g.Subset, g.Status, g.Bound, g.N, g.Risk, g.Misses, g.LnInverseDelta})
	}
	if s := c.Delta.Sequence; s != nil {
		row.SequenceName, row.SequenceNumber = &s.Name, &s.Number
	}
	if loss.Unit != "" {
		row.Unit = &loss.Unit
	}
	switch loss.Kind.Tolerances() {
	case certify.OneTolerance, certify.ShareTolerance:
		row.Epsilon = &loss.Epsilon
	case certify.TwoSided:
		row.Below, row.Above = &loss.Below, &loss.Above
	case certify.NoTolerance:
	}
	return row, nil
}
