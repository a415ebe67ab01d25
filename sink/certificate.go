package sink

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/certify"
)

// A certificateRow is a certificate as one row: the numbers to select, sort and join by, and
// the whole document. docs/format.md has its columns. Null means that the certificate has no such
// value.
type certificateRow struct {
	Certificate string `parquet:"certificate"` // SHA-256 of the document
	Format      string `parquet:"format"`

	MeanGuarantee certify.GuaranteeID `parquet:"mean_guarantee"` // about the predictor, of the least bound
	MeanN         int64               `parquet:"mean_n"`
	MeanStatus    certify.Status      `parquet:"mean_status"`
	MeanBound     float64             `parquet:"mean_bound"`
	MeanHeadline  string              `parquet:"mean_headline"`
	MeanStatement string              `parquet:"mean_statement"`

	DrawStatus       certify.Status `parquet:"draw_status"` // about a draw of Q
	DrawBound        float64        `parquet:"draw_bound"`
	DrawBoundPinsker float64        `parquet:"draw_bound_pinsker"`
	DrawHeadline     string         `parquet:"draw_headline"`
	DrawStatement    string         `parquet:"draw_statement"`

	Target  string   `parquet:"target"`
	Loss    string   `parquet:"loss"`
	Epsilon *float64 `parquet:"epsilon,optional"`
	Below   *float64 `parquet:"below,optional"`
	Above   *float64 `parquet:"above,optional"`

	Delta           float64 `parquet:"delta"`
	SequenceName    *string `parquet:"sequence_name,optional"`
	SequenceNumber  *int64  `parquet:"sequence_number,optional"`
	N               int64   `parquet:"n"`
	EmpiricalRisk   float64 `parquet:"empirical_risk"`
	KL              float64 `parquet:"kl"`
	LnInverseWeight float64 `parquet:"ln_inverse_weight"`
	LnXi            float64 `parquet:"ln_xi"`
	LnInverseDelta  float64 `parquet:"ln_inverse_delta"`
	Exponent        float64 `parquet:"exponent"`
	Accuracy        float64 `parquet:"accuracy"`
	Unproven        int64   `parquet:"unproven"`

	BaselineConstant float64        `parquet:"baseline_constant"`
	BaselineOrigin   certify.Origin `parquet:"baseline_origin"`
	BaselineBound    float64        `parquet:"baseline_bound"`

	DependencePairs       int64   `parquet:"dependence_pairs"`
	DependenceCorrelation float64 `parquet:"dependence_correlation"`
	DependenceSuspicious  bool    `parquet:"dependence_suspicious"`

	CopiesPolicy   string `parquet:"duplicates_policy"`
	CopiesDistinct int64  `parquet:"duplicates_distinct"`
	CopiesRows     int64  `parquet:"duplicates_rows"`

	Rows      int64 `parquet:"rows"`
	Reference int64 `parquet:"reference"`
	Train     int64 `parquet:"train"`
	Holdout   int64 `parquet:"holdout"`
	Copies    int64 `parquet:"duplicates"`
	Bad       int64 `parquet:"bad"`
	Shards    int64 `parquet:"shards"`
	Features  int64 `parquet:"features"`

	Sample        string `parquet:"sample"` // digests
	Targets       string `parquet:"targets"`
	Model         string `parquet:"model"`
	Configuration string `parquet:"configuration"`

	Kernel            string `parquet:"kernel"`
	KernelFamilies    int64  `parquet:"kernel_families"` // number of declared families
	ARD               bool   `parquet:"ard"`
	RolesKey          string `parquet:"roles_key"`
	Seed              string `parquet:"seed"` // unsigned, 64 bits
	BrokenAssumptions int64  `parquet:"broken_assumptions"`

	DeclaredUnit          *string `parquet:"declared_unit,optional"` // the maker's word
	DeclaredSoftware      string  `parquet:"declared_software"`
	DeclaredAttemptOnRows int64   `parquet:"declared_attempt_on_these_rows"`
	DeclaredAttemptInLog  int64   `parquet:"declared_attempt_in_this_log"`

	Document string `parquet:"document"` // canonical JSON

	Guarantees []guaranteeRow `parquet:"guarantees,list"` // all of them, in the order of the document
}

type guaranteeRow struct {
	ID             certify.GuaranteeID `parquet:"id"`
	Predictor      certify.Predictor   `parquet:"predictor"`
	Role           certify.Role        `parquet:"role"`
	Status         certify.Status      `parquet:"status"`
	N              int64               `parquet:"n"`
	EmpiricalRisk  float64             `parquet:"empirical_risk"` // the bound, if the document shows no risk
	LnInverseDelta float64             `parquet:"ln_inverse_delta"`
	Bound          float64             `parquet:"bound"`
	Headline       string              `parquet:"headline"`
	Statement      string              `parquet:"statement"`
}

// ErrCertificateRow says that bytes are not a certificate as a row of Parquet, or a damaged one, or
// that its columns contradict its document. No retry helps.
var ErrCertificateRow = errors.New("not a valid certificate row")

// CertificateRow returns a Parquet file of one row with the main numbers of a certificate in
// flat columns, a list of its guarantees, and its canonical JSON, so that a folder of
// certificates is a table. The same certificate gives the same bytes.
func CertificateRow(c certify.Certificate) ([]byte, error) {
	row, err := newCertificateRow(c)
	if err != nil {
		return nil, fmt.Errorf("sink: certificate row: %w", err)
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[certificateRow](&b,
		parquet.CreatedBy("pacsgp", "1", ""),
		parquet.Compression(&parquet.Uncompressed),
		parquet.DataPageVersion(1),
		parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain),
		// One row needs no statistics: they would repeat the texts four times.
		parquet.DataPageStatistics(false),
		parquet.SkipPageBounds("document"),
		parquet.SkipPageBounds("mean_headline"),
		parquet.SkipPageBounds("mean_statement"),
		parquet.SkipPageBounds("draw_headline"),
		parquet.SkipPageBounds("draw_statement"),
		parquet.SkipPageBounds("guarantees", "list", "element", "headline"),
		parquet.SkipPageBounds("guarantees", "list", "element", "statement"),
		parquet.KeyValueMetadata(sealKey, strings.Repeat("0", sealDigits)),
	)
	_, err = w.Write([]certificateRow{row})
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

// IsCertificateRow reports whether data are a Parquet file that looks like a certificate, not like
// a model. [DecodeCertificateRow] checks it.
func IsCertificateRow(data []byte) bool {
	return bytes.HasPrefix(data, []byte("PAR1")) && bytes.Contains(data, []byte(`"format": "pacsgp-certificate/`))
}

// DecodeCertificateRow reads the form of [CertificateRow]. A document that is not canonical, and
// flat columns that contradict it, are errors. Like certify.Parse it does not check that the
// numbers follow from each other.
func DecodeCertificateRow(data []byte) (certify.Certificate, error) {
	if err := checkSeal(data); err != nil {
		return certify.Certificate{}, fmt.Errorf("%w: %w (hint: the same certificate is beside it as JSON)", ErrCertificateRow, err)
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
		return certificateRow{}, fmt.Errorf("there are no guarantees about the %s and a %s", certify.PredictorMean, certify.PredictorDraw)
	}
	row := flatten(c, mean, draw)
	row.Certificate, row.Document = DigestOf(document), string(document)
	return row, nil
}

func flatten(c certify.Certificate, mean, draw certify.Guarantee) certificateRow {
	broken := int64(0)
	for _, a := range c.Assumptions {
		if a.Status == certify.AssumptionBroken {
			broken++
		}
	}
	row := certificateRow{
		Format:        c.Format,
		MeanGuarantee: mean.ID, MeanN: mean.N, MeanStatus: mean.Status, MeanBound: mean.Bound, MeanHeadline: mean.Headline, MeanStatement: mean.Statement,
		DrawStatus: draw.Status, DrawBound: draw.Bound, DrawBoundPinsker: draw.BoundPinsker,
		DrawHeadline: draw.Headline, DrawStatement: draw.Statement,
		Target: draw.Loss.Target, Loss: string(draw.Loss.Kind),
		Delta: c.Delta.Declared,
		N:     draw.N, EmpiricalRisk: draw.EmpiricalRisk.Upper, KL: draw.KL,
		LnInverseWeight: draw.LnInverseWeight, LnXi: draw.LnXi, LnInverseDelta: draw.LnInverseDelta,
		Exponent: draw.Exponent, Accuracy: c.Accuracy.Tau, Unproven: draw.Unproven,
		BaselineConstant: c.Baseline.Constant, BaselineOrigin: c.Baseline.Origin, BaselineBound: c.Baseline.Bound,
		DependencePairs: c.Dependence.Pairs, DependenceCorrelation: c.Dependence.Correlation, DependenceSuspicious: c.Dependence.Suspicious,
		CopiesPolicy: string(c.Copies.Policy), CopiesDistinct: c.Copies.Distinct, CopiesRows: c.Copies.Rows,
		Rows: c.Ledger.Rows, Reference: c.Ledger.Reference, Train: c.Ledger.Train, Holdout: c.Ledger.Holdout, Copies: c.Ledger.Copies, Bad: c.Ledger.Bad,
		Shards: c.Sample.Shards, Features: int64(len(c.Features())),
		Sample: c.Sample.Digest, Targets: c.Sample.Targets, Model: c.Model.Digest, Configuration: c.Configuration.Digest,
		Kernel: c.Kernel.Family, KernelFamilies: int64(len(c.Kernel.Families)), ARD: c.Kernel.ARD, RolesKey: c.Roles.Key, Seed: strconv.FormatUint(c.Optimiser.Seed, 10),
		BrokenAssumptions: broken, DeclaredSoftware: c.Declared.Software,
		DeclaredAttemptOnRows: c.Declared.Attempt.OnTheseRows, DeclaredAttemptInLog: c.Declared.Attempt.InThisLog,
	}
	for _, g := range c.Guarantees {
		risk := g.EmpiricalRisk.Upper
		if g.EmpiricalRisk == (certify.Risk{}) {
			risk = g.Bound
		}
		row.Guarantees = append(row.Guarantees, guaranteeRow{
			ID: g.ID, Predictor: g.Predictor, Role: g.Role, Status: g.Status, N: g.N, EmpiricalRisk: risk,
			LnInverseDelta: g.LnInverseDelta, Bound: g.Bound, Headline: g.Headline, Statement: g.Statement,
		})
	}
	if s := c.Delta.Sequence; s != nil {
		row.SequenceName, row.SequenceNumber = &s.Name, &s.Number
	}
	if c.Declared.Unit != "" {
		row.DeclaredUnit = &c.Declared.Unit
	}
	switch draw.Loss.Kind.Tolerances() {
	case certify.OneTolerance, certify.ShareTolerance:
		row.Epsilon = &draw.Loss.Epsilon
	case certify.TwoSided:
		row.Below, row.Above = &draw.Loss.Below, &draw.Loss.Above
	case certify.NoTolerance:
	}
	return row
}
