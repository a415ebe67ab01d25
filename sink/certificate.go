package sink

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/certify"
)

// A certificateRow is a certificate as one row: the numbers that one selects,
// sorts and joins by, and the whole document. Its columns stand in
// docs/format.md. What a certificate does not have is null.
type certificateRow struct {
	Certificate string `parquet:"certificate"` // SHA-256 of the document
	Format      string `parquet:"format"`

	MeanStatus    string  `parquet:"mean_status"` // of the mean of Q, which is what predict writes
	MeanBound     float64 `parquet:"mean_bound"`
	MeanHeadline  string  `parquet:"mean_headline"`
	MeanStatement string  `parquet:"mean_statement"`

	DrawStatus       string  `parquet:"draw_status"` // of a draw of Q
	DrawBound        float64 `parquet:"draw_bound"`
	DrawBoundPinsker float64 `parquet:"draw_bound_pinsker"`
	DrawLowerBound   float64 `parquet:"draw_lower_bound"`
	DrawHeadline     string  `parquet:"draw_headline"`
	DrawStatement    string  `parquet:"draw_statement"`

	Target  string   `parquet:"target"`
	Loss    string   `parquet:"loss"`
	Epsilon *float64 `parquet:"epsilon,optional"`
	Below   *float64 `parquet:"below,optional"`
	Above   *float64 `parquet:"above,optional"`

	Delta           float64 `parquet:"delta"`
	Alternatives    int64   `parquet:"alternatives"`
	Alternative     int64   `parquet:"alternative"`
	N               int64   `parquet:"n"`
	EmpiricalRisk   float64 `parquet:"empirical_risk"`
	LowerRisk       float64 `parquet:"lower_risk"`
	KL              float64 `parquet:"kl"`
	LnInverseWeight float64 `parquet:"ln_inverse_weight"`
	LnXi            float64 `parquet:"ln_xi"`
	LnInverseDelta  float64 `parquet:"ln_inverse_delta"`
	Exponent        float64 `parquet:"exponent"`
	Accuracy        float64 `parquet:"accuracy"`
	Unproven        int64   `parquet:"unproven"`

	BaselineConstant float64 `parquet:"baseline_constant"`
	BaselineOrigin   string  `parquet:"baseline_origin"`
	BaselineBound    float64 `parquet:"baseline_bound"`

	DependencePairs       int64   `parquet:"dependence_pairs"`
	DependenceCorrelation float64 `parquet:"dependence_correlation"`
	DependenceSuspicious  bool    `parquet:"dependence_suspicious"`

	CopiesPolicy   string `parquet:"copies_policy"`
	CopiesDistinct int64  `parquet:"copies_distinct"`
	CopiesRows     int64  `parquet:"copies_rows"`
	CopiesFeatures int64  `parquet:"copies_features"`

	Rows      int64 `parquet:"rows"`
	Reference int64 `parquet:"reference"`
	Train     int64 `parquet:"train"`
	Holdout   int64 `parquet:"holdout"`
	Copies    int64 `parquet:"copies"`
	Bad       int64 `parquet:"bad"`
	Shards    int64 `parquet:"shards"`
	Features  int64 `parquet:"features"`

	Sample        string `parquet:"sample"` // digests
	Targets       string `parquet:"targets"`
	Model         string `parquet:"model"`
	Configuration string `parquet:"configuration"`

	Kernel            string `parquet:"kernel"`
	ARD               bool   `parquet:"ard"`
	RolesKey          string `parquet:"roles_key"`
	Seed              string `parquet:"seed"` // 64 bits, without a sign
	BrokenAssumptions int64  `parquet:"broken_assumptions"`

	DeclaredUnit          *string `parquet:"declared_unit,optional"` // the maker's word
	DeclaredSoftware      string  `parquet:"declared_software"`
	DeclaredAttemptOnRows int64   `parquet:"declared_attempt_on_these_rows"`
	DeclaredAttemptInLog  int64   `parquet:"declared_attempt_in_this_log"`

	Document string `parquet:"document"` // canonical JSON
}

// ErrCertificateRow says that bytes are no certificate as a row of Parquet, a
// damaged one, or one whose columns contradict its document. A retry on the
// same bytes does not help.
var ErrCertificateRow = errors.New("sink: not a valid certificate row")

// CertificateRow returns a Parquet file of one row with the main numbers of a
// certificate in flat columns and its canonical JSON beside them, so that a
// folder of certificates is a table. The same certificate gives the same bytes.
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
		// A row of one needs no statistics, and the texts would stand in the
		// file four times more.
		parquet.DataPageStatistics(false),
		parquet.SkipPageBounds("document"),
		parquet.SkipPageBounds("mean_headline"),
		parquet.SkipPageBounds("mean_statement"),
		parquet.SkipPageBounds("draw_headline"),
		parquet.SkipPageBounds("draw_statement"),
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

// IsCertificateRow reports whether a Parquet file looks like a certificate, to
// tell it from a model file. Whether it is a good one is for
// [DecodeCertificateRow] to say.
func IsCertificateRow(data []byte) bool {
	return bytes.HasPrefix(data, []byte("PAR1")) && bytes.Contains(data, []byte(`"format": "`+certify.Format+`"`))
}

// DecodeCertificateRow reads what [CertificateRow] writes. It refuses another
// document than certify.Marshal would have written, and flat columns that do
// not say what the document says. Like certify.Parse it does not check that the
// numbers follow from each other.
func DecodeCertificateRow(data []byte) (c certify.Certificate, err error) {
	if err := checkSeal(data); err != nil {
		return certify.Certificate{}, fmt.Errorf("%w: %w (hint: the same certificate stands beside it as JSON)", ErrCertificateRow, err)
	}
	// As for models: what is damaged stops at the seal, what is forged may
	// make the Parquet library panic.
	defer func() {
		if r := recover(); r != nil {
			c, err = certify.Certificate{}, fmt.Errorf("%w: the Parquet library panics on it: %v", ErrCertificateRow, r)
		}
	}()
	row, err := readCertificateRow(data)
	if err != nil {
		return certify.Certificate{}, fmt.Errorf("%w: %w", ErrCertificateRow, err)
	}
	c, err = certify.Parse([]byte(row.Document))
	if err != nil {
		return certify.Certificate{}, fmt.Errorf("%w: its document: %w", ErrCertificateRow, err)
	}
	want, err := newCertificateRow(c)
	if err != nil {
		return certify.Certificate{}, fmt.Errorf("%w: %w", ErrCertificateRow, err)
	}
	if err := sameRow(row, want); err != nil {
		return certify.Certificate{}, fmt.Errorf("%w: %w", ErrCertificateRow, err)
	}
	return c, nil
}

// readCertificateRow reads the one row of a file with the columns of a
// certificate.
func readCertificateRow(data []byte) (certificateRow, error) {
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return certificateRow{}, err
	}
	if !parquet.EqualNodes(f.Schema(), parquet.SchemaOf(certificateRow{})) {
		return certificateRow{}, errors.New("its columns are not those of a certificate")
	}
	if f.NumRows() != 1 {
		return certificateRow{}, fmt.Errorf("it has %d rows, want one", f.NumRows())
	}
	r := parquet.NewGenericReader[certificateRow](f)
	rows := make([]certificateRow, 1)
	n, err := r.Read(rows)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, r.Close()); err == nil && n != 1 {
		err = errors.New("its row is missing")
	}
	return rows[0], err
}

// sameRow names the first column that differs.
func sameRow(got, want certificateRow) error {
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range a.NumField() {
		x, y := cell(a.Field(i)), cell(b.Field(i))
		if x != y {
			name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("parquet"), ",")
			return fmt.Errorf("its column %q is %v, but its document gives %v", name, x, y)
		}
	}
	return nil
}

// cell is the value of a field of a row, nil for null.
func cell(field reflect.Value) any {
	if field = reflect.Indirect(field); !field.IsValid() {
		return nil
	}
	return field.Interface()
}

// newCertificateRow returns the row that follows from a certificate.
func newCertificateRow(c certify.Certificate) (certificateRow, error) {
	document, err := certify.Marshal(c)
	if err != nil {
		return certificateRow{}, err
	}
	draw, ok := c.Guarantee(certify.GuaranteeDraw)
	mean, both := c.Guarantee(certify.GuaranteeMean)
	if !ok || !both {
		return certificateRow{}, fmt.Errorf("there are no guarantees %q and %q", certify.GuaranteeMean, certify.GuaranteeDraw)
	}
	row := flatten(c, mean, draw)
	id := sha256.Sum256(document)
	row.Certificate, row.Document = hex.EncodeToString(id[:]), string(document)
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
		Format:     c.Format,
		MeanStatus: mean.Status, MeanBound: mean.Bound, MeanHeadline: mean.Headline, MeanStatement: mean.Statement,
		DrawStatus: draw.Status, DrawBound: draw.Bound, DrawBoundPinsker: draw.BoundPinsker, DrawLowerBound: draw.LowerBound,
		DrawHeadline: draw.Headline, DrawStatement: draw.Statement,
		Target: draw.Loss.Target, Loss: draw.Loss.Kind,
		Delta: c.Delta.Declared, Alternatives: c.Delta.Alternatives, Alternative: c.Delta.Alternative,
		N: draw.N, EmpiricalRisk: draw.EmpiricalRisk.Upper, LowerRisk: draw.LowerRisk.Lower, KL: draw.KL,
		LnInverseWeight: draw.LnInverseWeight, LnXi: draw.LnXi, LnInverseDelta: draw.LnInverseDelta,
		Exponent: draw.Exponent, Accuracy: c.Accuracy.Tau, Unproven: c.Accuracy.Unproven,
		BaselineConstant: c.Baseline.Constant, BaselineOrigin: c.Baseline.Origin, BaselineBound: c.Baseline.Bound,
		DependencePairs: c.Dependence.Pairs, DependenceCorrelation: c.Dependence.Correlation, DependenceSuspicious: c.Dependence.Suspicious,
		CopiesPolicy: c.Copies.Policy, CopiesDistinct: c.Copies.Distinct, CopiesRows: c.Copies.Rows, CopiesFeatures: c.Copies.Features,
		Rows: c.Ledger.Rows, Reference: c.Ledger.Reference, Train: c.Ledger.Train, Holdout: c.Ledger.Holdout, Copies: c.Ledger.Copies, Bad: c.Ledger.Bad,
		Shards: c.Sample.Shards, Features: int64(max(0, len(c.Sample.Columns)-1)),
		Sample: c.Sample.Digest, Targets: c.Sample.Targets, Model: c.Model.Digest, Configuration: c.Configuration.Digest,
		Kernel: c.Kernel.Family, ARD: c.Kernel.ARD, RolesKey: c.Roles.Key, Seed: strconv.FormatUint(c.Optimiser.Seed, 10),
		BrokenAssumptions: broken, DeclaredSoftware: c.Declared.Software,
		DeclaredAttemptOnRows: c.Declared.Attempt.OnTheseRows, DeclaredAttemptInLog: c.Declared.Attempt.InThisLog,
	}
	if c.Declared.Unit != "" {
		row.DeclaredUnit = &c.Declared.Unit
	}
	switch draw.Loss.Kind {
	case certify.LossZeroOne, certify.LossSquared, certify.LossExponential:
		row.Epsilon = &draw.Loss.Epsilon
	case certify.LossBand:
		row.Below, row.Above = &draw.Loss.Below, &draw.Loss.Above
	}
	return row
}
