package sink

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// ErrModelFile means that bytes are not an intact model file of a known version. A retry does not help.
var ErrModelFile = errors.New("not a valid model file")

const metadataKey = "pacsgp"

// Limits of a model file, far above any model that can be trained.
const (
	maxFeatures = 1 << 14
	maxMetadata = 16 << 20
)

// EncodeModel returns the bytes of a model file. The same model gives the same bytes.
func EncodeModel(m pass.Model) ([]byte, error) {
	p := m.Posterior
	if err := checkModel(m); err != nil {
		return nil, fmt.Errorf("sink: encode model: %w", err)
	}
	metadata, err := marshalMeta(m.Meta)
	if err != nil {
		return nil, fmt.Errorf("sink: encode model: %w", err)
	}
	var b bytes.Buffer
	size := int(tableBytes(p.Inducing(), p.Dim()))
	b.Grow(size + size/16 + len(metadata) + 1<<16) // levels, headers, footer: one allocation
	err = writeTable(&b, string(metadata), m)
	if err == nil {
		err = seal(b.Bytes())
	}
	if err != nil {
		return nil, fmt.Errorf("sink: encode model (M=%d, d=%d): %w", p.Inducing(), p.Dim(), err)
	}
	return b.Bytes(), nil
}

// DecodeModel reads a model file. It returns an error for what EncodeModel never writes: another version, numbers
// that are not finite, sizes that disagree, a diagonal that is not positive. The model shares no memory with data.
func DecodeModel(data []byte) (pass.Model, error) {
	if err := checkSeal(data); err != nil {
		return pass.Model{}, fmt.Errorf("%w: %w", ErrModelFile, err)
	}
	f, err := openTable[tableRow](data)
	if err != nil {
		return pass.Model{}, fmt.Errorf("%w: %w", ErrModelFile, err)
	}
	metadata, ok := f.keys[metadataKey]
	if !ok {
		return pass.Model{}, fmt.Errorf("%w: its footer has no value for the key %q", ErrModelFile, metadataKey)
	}
	meta, err := parseMeta([]byte(metadata))
	if err != nil {
		return pass.Model{}, fmt.Errorf("%w: metadata: %w", ErrModelFile, err)
	}
	d := meta.Dim()
	if need := tableBytes(meta.Inducing, d); need > int64(len(data)) {
		return pass.Model{}, fmt.Errorf("%w: %d inducing points in %d dimensions are %d bytes, and the file has %d", ErrModelFile, meta.Inducing, d, need, len(data))
	}
	m, err := readTable(f, meta, d)
	if err != nil {
		return pass.Model{}, fmt.Errorf("%w: %w", ErrModelFile, err)
	}
	family, err := kernel.Named(meta.Kernel)
	if err != nil {
		return pass.Model{}, fmt.Errorf("%w: metadata: %w", ErrModelFile, err)
	}
	for _, p := range []*model.Posterior{m.Posterior, m.Predictive} {
		p.Kernel, p.Jitter = kernel.Kernel{Family: family, Lengthscales: meta.Lengthscales, Variance: meta.Variance}, meta.Jitter
	}
	if err := checkModel(m); err != nil {
		return pass.Model{}, fmt.Errorf("%w: %w", ErrModelFile, err)
	}
	return m, nil
}

// MaxModelBytes bounds a model file. The largest model that can be trained, with 4,000 inducing
// points, needs a quarter of it.
const MaxModelBytes = 1 << 30

// CheckModelSize returns an error if a file of size bytes is larger than the model that its footer
// describes can be. It reads only the footer.
func CheckModelSize(r io.ReaderAt, size int64) error {
	f, err := readFooter(r, size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrModelFile, err)
	}
	meta, err := parseMeta([]byte(f.keys[metadataKey]))
	if err != nil {
		return fmt.Errorf("%w: metadata: %w", ErrModelFile, err)
	}
	// Levels and headers of pages add less than an eighth. size − f.end is the footer.
	most := tableBytes(meta.Inducing, meta.Dim())*9/8 + 1<<16 + (size - f.end)
	if size > min(most, MaxModelBytes) {
		return fmt.Errorf("%w: it has %d bytes, and a model of %d inducing points in %d dimensions at most %d",
			ErrModelFile, size, meta.Inducing, meta.Dim(), min(most, MaxModelBytes))
	}
	return nil
}

// marshalMeta returns the canonical JSON of the metadata: members in the order of the
// specification, no white space, and the shortest decimal that reads back as the same number.
func marshalMeta(meta pass.ModelMeta) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(meta); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// parseMeta reads metadata. It accepts canonical JSON only: no member can be unknown, missing or repeated.
func parseMeta(data []byte) (pass.ModelMeta, error) {
	var meta pass.ModelMeta
	if len(data) > maxMetadata {
		return meta, fmt.Errorf("%d bytes of JSON, want at most %d", len(data), maxMetadata)
	}
	var version struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return meta, err
	}
	if version.Format != pass.ModelFormat {
		return meta, fmt.Errorf("format %q, this program reads %q (hint: use the version of pacsgp that wrote the file)", version.Format, pass.ModelFormat)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&meta); err != nil {
		return meta, err
	}
	canonical, err := marshalMeta(meta)
	if err != nil {
		return meta, err
	}
	if !bytes.Equal(canonical, data) {
		return meta, errors.New("the JSON is not in the canonical form of docs/reference/formats.md")
	}
	return meta, checkMeta(meta)
}

// checkMeta checks the metadata alone, without the posterior.
func checkMeta(meta pass.ModelMeta) error {
	d, inputs := len(meta.Features), meta.Dim()
	theta := d + 1
	if meta.Isotropic {
		theta = 2
	}
	switch {
	case meta.Format != pass.ModelFormat:
		return fmt.Errorf("format %q, want %q", meta.Format, pass.ModelFormat)
	case d < 1 || inputs > maxFeatures:
		return fmt.Errorf("%d features with %d inputs, want 1 to %d", d, inputs, maxFeatures)
	case meta.Inducing < 1 || meta.Inducing > certify.MaxInducing:
		return fmt.Errorf("%d inducing points, want 1 to %d", meta.Inducing, certify.MaxInducing)
	case len(meta.Lengthscales) != inputs:
		return fmt.Errorf("%d lengthscales for %d inputs", len(meta.Lengthscales), inputs)
	case len(meta.Theta) != theta:
		return fmt.Errorf("%d hyper-parameters, want %d", len(meta.Theta), theta)
	case !positive(meta.Variance):
		return fmt.Errorf("variance %v, want a positive number", meta.Variance)
	case !positive(meta.Jitter):
		return fmt.Errorf("jitter %v, want a positive number", meta.Jitter)
	case !(positive(meta.Predictor.Noise) && positive(meta.Predictor.Factor) && meta.Predictor.Part >= 0 && meta.Predictor.Part <= 1):
		return fmt.Errorf("predictor of noise %v, factor %v and part %v: want a positive noise and factor, and a part from 0 to 1", meta.Predictor.Noise, meta.Predictor.Factor, meta.Predictor.Part)
	}
	if _, err := kernel.Named(meta.Kernel); err != nil {
		return err
	}
	if !slices.Equal(meta.RowRules, certify.RowRules()) {
		return fmt.Errorf("row rules %q, want exactly %q: rules that this program does not know", meta.RowRules, certify.RowRules())
	}
	names := map[string]bool{meta.Mean: true} // the empty name is taken: no column has it
	if meta.Mean != "" {
		if err := certify.ColumnName(meta.Mean); err != nil {
			return fmt.Errorf("column of the mean: %w", err)
		}
	}
	for j, a := range append(meta.Features[:d:d], meta.Target) {
		if err := certify.ColumnName(a.Name); err != nil {
			return fmt.Errorf("column %d: %w", j, err)
		}
		if !a.Values.Valid() || j == d && a.Values != "" {
			return fmt.Errorf("column %q: its values cannot be %q", a.Name, a.Values)
		}
		if names[a.Name] {
			return fmt.Errorf("column %d: the name %q is taken", j, a.Name)
		}
		if names[a.Name] = true; !finite(a.Centre) || !positive(a.Scale) {
			return fmt.Errorf("column %q: centre %v and scale %v, want a finite and a positive number", a.Name, a.Centre, a.Scale)
		}
	}
	if err := meta.Encode.Validate(); err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	features := meta.FeatureNames()
	for _, e := range meta.Encode {
		if !slices.Contains(features, e.Column) {
			return fmt.Errorf("encoding of %q, which is no feature", e.Column)
		}
	}
	return checkTheta(meta)
}

// checkTheta checks that each kernel parameter is, to the last bit, exp of its grid value: the
// bound charges for the index on that grid.
func checkTheta(meta pass.ModelMeta) error {
	names, widths, at := certify.ParameterNames(meta.FeatureNames(), meta.Isotropic), meta.Encode.Widths(meta.Features), 0
	for i, p := range meta.Theta {
		if p.Name != names[i] {
			return fmt.Errorf("hyper-parameter %d is called %q, want %q", i, p.Name, names[i])
		}
		if err := p.Grid.Validate(); err != nil {
			return fmt.Errorf("hyper-parameter %q: %w", p.Name, err)
		}
		if p.Index < 0 || p.Index >= p.Grid.Count {
			return fmt.Errorf("hyper-parameter %q: index %d of %d values", p.Name, p.Index, p.Grid.Count)
		}
		parameters := meta.Lengthscales
		switch {
		case i == len(meta.Theta)-1:
			parameters = []float64{meta.Variance}
		case !meta.Isotropic:
			parameters = meta.Lengthscales[at : at+widths[i]]
			at += widths[i]
		}
		for _, x := range parameters {
			if x != model.Exponential(p.Value()) {
				return fmt.Errorf("hyper-parameter %q: %v is not exp(%v), the value on its grid", p.Name, x, p.Value())
			}
		}
	}
	return nil
}

// checkModel checks the metadata, the posterior, and that they agree.
func checkModel(m pass.Model) error {
	if m.Posterior == nil || m.Predictive == nil {
		return errors.New("it has no posterior, or no law of predictions")
	}
	if err := checkMeta(m.Meta); err != nil {
		return err
	}
	if err := errors.Join(m.Posterior.Validate(), m.Predictive.Validate()); err != nil {
		return err
	}
	p, k := m.Predictive, m.Posterior.Kernel
	if !slices.Equal(p.Z, m.Posterior.Z) || !slices.Equal(p.L, m.Posterior.L) || p.Jitter != m.Posterior.Jitter || p.Kernel.Family != k.Family ||
		!slices.Equal(p.Kernel.Lengthscales, k.Lengthscales) || p.Kernel.Variance != k.Variance {
		return errors.New("kernel or inducing points of the law of predictions are not those of Q")
	}
	if k.Family.Name != m.Meta.Kernel || !slices.Equal(k.Lengthscales, m.Meta.Lengthscales) || k.Variance != m.Meta.Variance ||
		m.Posterior.Jitter != m.Meta.Jitter || m.Posterior.Inducing() != m.Meta.Inducing {
		return errors.New("kernel, jitter or size of the posterior are not those of the metadata")
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
