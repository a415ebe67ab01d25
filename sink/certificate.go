package sink

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/certify"
)

// A certificateRow is a certificate as one row: the numbers that one selects,
// sorts and joins by, and the whole document. Its columns stand in
// docs/format.md. What a certificate does not have is null.
type certificateRow struct {
	Certificate string `parquet:"certificate"` // SHA-256 of the document
	Format      string `parquet:"format"`

	MeanGuarantee certify.GuaranteeID `parquet:"mean_guarantee"` // the one of the least bound
	MeanN         int64               `parquet:"mean_n"`
	MeanStatus    certify.Status      `parquet:"mean_status"` // of the mean of Q, which is what predict writes
	MeanBound     float64             `parquet:"mean_bound"`
	MeanHeadline  string              `parquet:"mean_headline"`
	MeanStatement string              `parquet:"mean_statement"`

	DrawStatus       certify.Status `parquet:"draw_status"` // of a draw of Q
	DrawBound        float64        `parquet:"draw_bound"`
	DrawBoundPinsker float64        `parquet:"draw_bound_pinsker"`
	DrawLowerBound   float64        `parquet:"draw_lower_bound"`
	DrawHeadline     string         `parquet:"draw_headline"`
	DrawStatement    string         `parquet:"draw_statement"`

	Target  string   `parquet:"target"`
	Loss    string   `parquet:"loss"`
	Epsilon *float64 `parquet:"epsilon,optional"`
	Below   *float64 `parquet:"below,optional"`
	Above   *float64 `parquet:"above,optional"`

	Delta           float64 `parquet:"delta"`
	Alternatives    int64   `parquet:"alternatives"`
	Alternative     int64   `parquet:"alternative"`
	SequencePolicy  *string `parquet:"sequence_policy,optional"`
	SequenceName    *string `parquet:"sequence_name,optional"`
	SequenceNumber  *int64  `parquet:"sequence_number,optional"`
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

	BaselineConstant float64        `parquet:"baseline_constant"`
	BaselineOrigin   certify.Origin `parquet:"baseline_origin"`
	BaselineBound    float64        `parquet:"baseline_bound"`

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
	KernelFamilies    int64  `parquet:"kernel_families"` // that it was chosen from
	ARD               bool   `parquet:"ard"`
	RolesKey          string `parquet:"roles_key"`
	Seed              string `parquet:"seed"` // 64 bits, without a sign
	BrokenAssumptions int64  `parquet:"broken_assumptions"`

	DeclaredUnit          *string `parquet:"declared_unit,optional"` // the maker's word
	DeclaredSoftware      string  `parquet:"declared_software"`
	DeclaredAttemptOnRows int64   `parquet:"declared_attempt_on_these_rows"`
	DeclaredAttemptInLog  int64   `parquet:"declared_attempt_in_this_log"`

	Document string `parquet:"document"` // canonical JSON

	Guarantees []guaranteeRow `parquet:"guarantees,list"` // all of them, in the order of the document
}

// A guaranteeRow is a guarantee as an element of a row's list.
type guaranteeRow struct {
	ID             certify.GuaranteeID `parquet:"id"`
	Predictor      certify.Predictor   `parquet:"predictor"`
	Role           certify.Role        `parquet:"role"`
	Status         certify.Status      `parquet:"status"`
	N              int64               `parquet:"n"`
	EmpiricalRisk  float64             `parquet:"empirical_risk"`
	LnInverseDelta float64             `parquet:"ln_inverse_delta"`
	Bound          float64             `parquet:"bound"`
	LowerBound     float64             `parquet:"lower_bound"`
	Headline       string              `parquet:"headline"`
	Statement      string              `parquet:"statement"`
}

// ErrCertificateRow says that bytes are no certificate as a row of Parquet, a
// damaged one, or one whose columns contradict its document. A retry on the
// same bytes does not help.
var ErrCertificateRow = errors.New("not a valid certificate row")

// CertificateRow returns a Parquet file of one row with the main numbers of a
// certificate in flat columns, a list of its guarantees, and its canonical JSON beside
// them, so that a folder of certificates is a table. The same certificate gives the same bytes.
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
		// A row of one needs no statistics, and the texts would stand in the
		// file four times more.
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
func DecodeCertificateRow(data []byte) (certify.Certificate, error) {
	if err := checkSeal(data); err != nil {
		return certify.Certificate{}, fmt.Errorf("%w: %w (hint: the same certificate stands beside it as JSON)", ErrCertificateRow, err)
	}
	row, err := readCertificateRow(data)
	if err != nil {
		return certify.Certificate{}, fmt.Errorf("%w: %w", ErrCertificateRow, err)
	}
	c, err := certify.Parse([]byte(row.Document))
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

// rowSchema is the schema of certificateRow: names and types without their
// annotations.
func rowSchema() []node {
	var nodes []node
	for field := range reflect.TypeFor[certificateRow]().Fields() {
		if field.Type.Kind() != reflect.Slice {
			nodes = append(nodes, leaf(field))
			continue
		}
		element := field.Type.Elem()
		nodes = append(nodes,
			node{name: columnName(field), physical: physicalNone, children: 1},
			node{name: "list", physical: physicalNone, repetition: format.Repeated, children: 1},
			node{name: "element", physical: physicalNone, children: int32(element.NumField())}) //nolint:gosec // G115: some fields
		for field := range element.Fields() {
			nodes = append(nodes, leaf(field))
		}
	}
	return nodes
}

// leaf is the column of a field.
func leaf(field reflect.StructField) node {
	n := node{name: columnName(field)}
	kind := field.Type
	if kind.Kind() == reflect.Pointer {
		n.repetition, kind = format.Optional, kind.Elem()
	}
	switch kind.Kind() {
	case reflect.String:
		n.physical = format.ByteArray
	case reflect.Float64:
		n.physical = format.Double
	case reflect.Int64:
		n.physical = format.Int64
	default:
		n.physical = format.Boolean
	}
	return n
}

// columnName is the name of the column of a field.
func columnName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("parquet"), ",")
	return name
}

// readCertificateRow reads the one row of a file with the columns of a
// certificate.
func readCertificateRow(data []byte) (row certificateRow, err error) {
	schema := rowSchema()
	f, err := openTable(data, schema)
	if err != nil {
		return row, err
	}
	if f.rows != 1 {
		return row, fmt.Errorf("it has %d rows, want one", f.rows)
	}
	column := 0
	for _, field := range reflect.ValueOf(&row).Elem().Fields() {
		if field.Kind() == reflect.Slice {
			if err := f.readList(field, &column); err != nil {
				return certificateRow{}, err
			}
			continue
		}
		cells := 0
		err := f.pages(column, false, field.Kind() == reflect.Pointer, func(p page) error {
			if cells += int(min(p.values, 2)); p.values != 1 {
				return fmt.Errorf("a page of %d values", p.values)
			}
			return setNullable(field, p)
		})
		if err == nil && cells != 1 {
			err = fmt.Errorf("%d values, want one", cells)
		}
		if err != nil {
			return certificateRow{}, fmt.Errorf("column %d: %w", column, err)
		}
		column++
	}
	return row, nil
}

// mostGuarantees bounds the list of a row.
const mostGuarantees = 64

// readList reads the one list of a column of lists of structures, and counts its columns.
func (f *tableFile) readList(list reflect.Value, column *int) error {
	for k := range list.Type().Elem().NumField() {
		n := 0
		err := f.pages(*column, true, true, func(p page) error {
			if p.values < 1 || int64(n)+p.values > mostGuarantees {
				return fmt.Errorf("a page of %d values", p.values)
			}
			if err := oneList(p, n == 0); err != nil {
				return err
			}
			for range p.values {
				if n == list.Len() {
					if k > 0 {
						return errors.New("its lists are of different lengths")
					}
					list.Set(reflect.Append(list, reflect.Zero(list.Type().Elem())))
				}
				rest, err := setCell(list.Index(n).Field(k), p.data)
				if err != nil {
					return err
				}
				p.data = rest
				n++
			}
			return noneLeft(p.data)
		})
		if err == nil && n != list.Len() {
			err = errors.New("its lists are of different lengths")
		}
		if err != nil {
			return fmt.Errorf("column %d: %w", *column, err)
		}
		*column++
	}
	return nil
}

// oneList demands that a page holds elements of one list, none of them null.
func oneList(p page, first bool) error {
	repetition, err := levels(p.repetition, int(p.values))
	if err != nil {
		return err
	}
	definition, err := levels(p.definition, int(p.values))
	if err != nil {
		return err
	}
	for i := range repetition {
		if begins := repetition[i] == 0; definition[i] == 0 || begins != (first && i == 0) {
			return errors.New("it is not one list without nulls")
		}
	}
	return nil
}

// setNullable sets a field of a row to the one value of a page, which may be null.
func setNullable(field reflect.Value, p page) error {
	if field.Kind() == reflect.Pointer {
		defined, err := levels(p.definition, 1)
		if err != nil {
			return err
		}
		if defined[0] == 0 {
			if len(p.data) != 0 {
				return errors.New("a null with a value")
			}
			return nil
		}
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	rest, err := setCell(field, p.data)
	if err != nil {
		return err
	}
	return noneLeft(rest)
}

func noneLeft(b []byte) error {
	if len(b) != 0 {
		return fmt.Errorf("%d bytes too many", len(b))
	}
	return nil
}

// setCell sets a field to the first of some values, and returns the others.
func setCell(field reflect.Value, b []byte) (rest []byte, err error) {
	switch kind := field.Kind(); {
	case kind == reflect.String && len(b) >= 4 && int64(binary.LittleEndian.Uint32(b)) <= int64(len(b)-4):
		n := 4 + int(binary.LittleEndian.Uint32(b))
		field.SetString(string(b[4:n]))
		return b[n:], nil
	case kind == reflect.Float64 && len(b) >= 8:
		field.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		return b[8:], nil
	case kind == reflect.Int64 && len(b) >= 8:
		field.SetInt(int64(binary.LittleEndian.Uint64(b))) //nolint:gosec // its bits
		return b[8:], nil
	case kind == reflect.Bool && len(b) == 1 && b[0] <= 1:
		field.SetBool(b[0] == 1)
		return nil, nil
	default:
		return nil, fmt.Errorf("%d bytes are no value of it", len(b))
	}
}

// sameRow names the first column that differs.
func sameRow(got, want certificateRow) error {
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range a.NumField() {
		if a.Field(i).Kind() == reflect.Slice {
			continue
		}
		x, y := cell(a.Field(i)), cell(b.Field(i))
		if x != y {
			return fmt.Errorf("its column %q is %v, but its document gives %v", columnName(a.Type().Field(i)), x, y)
		}
	}
	if !slices.Equal(got.Guarantees, want.Guarantees) {
		return fmt.Errorf("its column \"guarantees\" is %v, but its document gives %v", got.Guarantees, want.Guarantees)
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
	draw, mean := c.About(certify.PredictorDraw), c.About(certify.PredictorMean)
	if draw.ID == "" || mean.ID == "" {
		return certificateRow{}, fmt.Errorf("there are no guarantees about the %s and a %s", certify.PredictorMean, certify.PredictorDraw)
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
		Format:        c.Format,
		MeanGuarantee: mean.ID, MeanN: mean.N, MeanStatus: mean.Status, MeanBound: mean.Bound, MeanHeadline: mean.Headline, MeanStatement: mean.Statement,
		DrawStatus: draw.Status, DrawBound: draw.Bound, DrawBoundPinsker: draw.BoundPinsker, DrawLowerBound: draw.LowerBound,
		DrawHeadline: draw.Headline, DrawStatement: draw.Statement,
		Target: draw.Loss.Target, Loss: string(draw.Loss.Kind),
		Delta: c.Delta.Declared, Alternatives: c.Delta.Alternatives, Alternative: c.Delta.Alternative,
		N: draw.N, EmpiricalRisk: draw.EmpiricalRisk.Upper, LowerRisk: draw.LowerRisk.Lower, KL: draw.KL,
		LnInverseWeight: draw.LnInverseWeight, LnXi: draw.LnXi, LnInverseDelta: draw.LnInverseDelta,
		Exponent: draw.Exponent, Accuracy: c.Accuracy.Tau, Unproven: draw.Unproven,
		BaselineConstant: c.Baseline.Constant, BaselineOrigin: c.Baseline.Origin, BaselineBound: c.Baseline.Bound,
		DependencePairs: c.Dependence.Pairs, DependenceCorrelation: c.Dependence.Correlation, DependenceSuspicious: c.Dependence.Suspicious,
		CopiesPolicy: string(c.Copies.Policy), CopiesDistinct: c.Copies.Distinct, CopiesRows: c.Copies.Rows, CopiesFeatures: c.Copies.Features,
		Rows: c.Ledger.Rows, Reference: c.Ledger.Reference, Train: c.Ledger.Train, Holdout: c.Ledger.Holdout, Copies: c.Ledger.Copies, Bad: c.Ledger.Bad,
		Shards: c.Sample.Shards, Features: int64(max(0, len(c.Sample.Columns)-1)),
		Sample: c.Sample.Digest, Targets: c.Sample.Targets, Model: c.Model.Digest, Configuration: c.Configuration.Digest,
		Kernel: c.Kernel.Family, KernelFamilies: int64(len(c.Kernel.Families)), ARD: c.Kernel.ARD, RolesKey: c.Roles.Key, Seed: strconv.FormatUint(c.Optimiser.Seed, 10),
		BrokenAssumptions: broken, DeclaredSoftware: c.Declared.Software,
		DeclaredAttemptOnRows: c.Declared.Attempt.OnTheseRows, DeclaredAttemptInLog: c.Declared.Attempt.InThisLog,
	}
	for _, g := range c.Guarantees {
		row.Guarantees = append(row.Guarantees, guaranteeRow{
			ID: g.ID, Predictor: g.Predictor, Role: g.Role, Status: g.Status, N: g.N, EmpiricalRisk: g.EmpiricalRisk.Upper,
			LnInverseDelta: g.LnInverseDelta, Bound: g.Bound, LowerBound: g.LowerBound, Headline: g.Headline, Statement: g.Statement,
		})
	}
	if s := c.Delta.Sequence; s != nil {
		policy := string(s.Policy)
		row.SequencePolicy, row.SequenceName, row.SequenceNumber = &policy, &s.Name, &s.Number
	}
	if c.Declared.Unit != "" {
		row.DeclaredUnit = &c.Declared.Unit
	}
	switch draw.Loss.Kind.Tolerances() {
	case certify.OneTolerance:
		row.Epsilon = &draw.Loss.Epsilon
	case certify.TwoSided:
		row.Below, row.Above = &draw.Loss.Below, &draw.Loss.Above
	case certify.NoTolerance:
	}
	return row
}
