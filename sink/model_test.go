package sink_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/sink"
)

// testModel returns a model of M inducing points in d dimensions whose L is
// the Cholesky factor of its kernel matrix.
func testModel(m, d int, ard bool) pass.Model {
	rng := rand.New(rand.NewPCG(uint64(m), uint64(d)))
	grid := certify.Grid{Min: -6, Step: 0.01, Count: 1201, Prior: certify.PriorFlat}
	meta := pass.ModelMeta{
		Format: pass.ModelFormat, Kernel: certify.KernelSquaredExponential, Isotropic: !ard,
		Target:   job.Affine{Name: "wind <m/s> & more", Centre: 3.25, Scale: 1.7},
		Loss:     certify.Loss{Kind: certify.LossZeroOne, Epsilon: 1.0200000000000002},
		RowRules: certify.RowRules(),
		Jitter:   1e-8, Inducing: m,
		Predictor: pass.Predictor{Part: 0.75, Noise: 0.01, Factor: 1.1},
	}
	for j := range d {
		index := 600 + 7*j
		if !ard {
			index = 620
		}
		name := fmt.Sprintf("x%02d", j)
		p := certify.Parameter{Name: "ln lengthscale of " + name, Grid: grid, Index: index}
		if !ard {
			p.Name = "ln lengthscale"
		}
		meta.Features = append(meta.Features, job.Affine{Name: name, Centre: rng.NormFloat64(), Scale: 0.1 + rng.Float64()})
		meta.Lengthscales = append(meta.Lengthscales, model.Exponential(p.Value()))
		if ard || j == 0 {
			meta.Theta = append(meta.Theta, p)
		}
	}
	variance := certify.Parameter{Name: "ln variance", Grid: grid, Index: 633}
	meta.Theta = append(meta.Theta, variance)
	meta.Variance = model.Exponential(variance.Value())
	p := &model.Posterior{
		Kernel: kernel.Kernel{Family: kernel.SquaredExponential, Lengthscales: meta.Lengthscales, Variance: meta.Variance}, Jitter: meta.Jitter,
		Z: make([]float64, m*d), Mean: make([]float64, m), L: make([]float64, m*m), Factor: make([]float64, m*m),
	}
	for i := range p.Z {
		p.Z[i] = 2 * rng.NormFloat64()
	}
	for i := range m {
		p.Mean[i] = 0.3 * rng.NormFloat64()
		for j := range i {
			p.Factor[i*m+j] = 0.05 * rng.NormFloat64()
		}
		p.Factor[i*m+i] = 0.2 + 0.8*rng.Float64()
	}
	factorised(p)
	law := *p
	law.Mean, law.Factor = slices.Clone(p.Mean), slices.Clone(p.Factor)
	for i := range law.Factor {
		law.Factor[i] *= 0.5
	}
	law.Mean[0]++
	return pass.Model{Meta: meta, Posterior: p, Predictive: &law}
}

// factorised sets L to the Cholesky factor of K_ZZ + jI, by the textbook.
func factorised(q *model.Posterior) *model.Posterior {
	n, d := q.Inducing(), q.Dim()
	for i := range n {
		for j := range i + 1 {
			r := 0.0
			for k, l := range q.Kernel.Lengthscales {
				u := (q.Z[i*d+k] - q.Z[j*d+k]) / l
				r += u * u
			}
			s := q.Kernel.Variance * math.Exp(-0.5*r)
			if i == j {
				s += q.Jitter
			}
			for k := range j {
				s -= q.L[i*n+k] * q.L[j*n+k]
			}
			if q.L[i*n+j] = s / q.L[j*n+j]; i == j {
				q.L[i*n+i] = math.Sqrt(s)
			}
		}
	}
	return q
}

func encode(t testing.TB, m pass.Model) []byte {
	t.Helper()
	data, err := sink.EncodeModel(m)
	fatal.If(t, err)
	return data
}

func TestModelReadsBackAsItWas(t *testing.T) {
	for _, test := range []struct {
		m, d int
		ard  bool
	}{{1, 1, true}, {1, 1, false}, {2, 3, true}, {17, 5, false}, {200, 26, true}, {1100, 2, true}} {
		want := testModel(test.m, test.d, test.ard)
		data := encode(t, want)
		if !bytes.Equal(data, encode(t, want)) {
			t.Errorf("M=%d: the same model gives other bytes the second time", test.m)
		}
		got, err := sink.DecodeModel(data)
		if err != nil {
			t.Fatalf("M=%d, d=%d: %v", test.m, test.d, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("M=%d, d=%d (-written +read):\n%s", test.m, test.d, diff)
		}
		if !bytes.Equal(data, encode(t, got)) {
			t.Errorf("M=%d: a model that was read is written as other bytes", test.m)
		}
	}
}

func TestModelPagesCarryChecksums(t *testing.T) {
	data := encode(t, testModel(1100, 2, true))
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	fatal.If(t, err)
	if groups := f.Metadata().RowGroups; len(groups) < 2 {
		t.Errorf("%d row groups: the writer holds the whole model", len(groups))
	}
	for _, group := range f.Metadata().RowGroups {
		for _, chunk := range group.Columns {
			if chunk.MetaData.Codec != format.Uncompressed {
				t.Errorf("column %v is compressed", chunk.MetaData.PathInSchema)
			}
		}
	}
	// A changed value is detected by the page's checksum: without one it would
	// be read back.
	at := bytes.Index(data, binary.LittleEndian.AppendUint64(nil, math.Float64bits(testModel(1100, 2, true).Posterior.Mean[500])))
	if at < 0 {
		t.Fatal("the value is not stored plainly")
	}
	data[at] ^= 1
	if _, err := sink.DecodeModel(data); !errors.Is(err, sink.ErrModelFile) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a changed value: %v, want a checksum error", err)
	}
	if _, err := sink.DecodeModel(resealed(data)); !errors.Is(err, sink.ErrModelFile) || !strings.Contains(err.Error(), "checksum mismatch in page") {
		t.Errorf("a changed value in a file that was sealed again: %v, want the page's checksum error", err)
	}
}

func TestEncodeModelRefusesWhatIsNoModel(t *testing.T) {
	for name, change := range map[string]func(m *pass.Model){
		"no posterior":        func(m *pass.Model) { m.Posterior = nil },
		"NaN in the mean":     func(m *pass.Model) { m.Posterior.Mean[1] = math.NaN() },
		"Inf in L":            func(m *pass.Model) { m.Posterior.L[3] = math.Inf(1) },
		"zero diagonal of S":  func(m *pass.Model) { m.Posterior.Factor[0] = 0 },
		"upper triangle":      func(m *pass.Model) { m.Posterior.L[1] = 1 },
		"short Z":             func(m *pass.Model) { m.Posterior.Z = m.Posterior.Z[1:] },
		"other M":             func(m *pass.Model) { m.Meta.Inducing++ },
		"other format":        func(m *pass.Model) { m.Meta.Format = "pacsgp-model/4" },
		"other kernel":        func(m *pass.Model) { m.Meta.Kernel = "matern" },
		"other lengthscale":   func(m *pass.Model) { m.Meta.Lengthscales = []float64{1, 2} },
		"other variance":      func(m *pass.Model) { m.Meta.Variance *= 2 },
		"other jitter":        func(m *pass.Model) { m.Meta.Jitter *= 2 },
		"zero scale":          func(m *pass.Model) { m.Meta.Features[1].Scale = 0 },
		"NaN centre":          func(m *pass.Model) { m.Meta.Target.Centre = math.NaN() },
		"feature named twice": func(m *pass.Model) { m.Meta.Features[1].Name = m.Meta.Features[0].Name },
		"feature is target":   func(m *pass.Model) { m.Meta.Features[1].Name = m.Meta.Target.Name },
		"no features":         func(m *pass.Model) { m.Meta.Features = nil },
		"theta off its grid":  func(m *pass.Model) { m.Meta.Theta[0].Index = 1201 },
		"theta not the scale": func(m *pass.Model) { m.Meta.Theta[0].Index++ },
		"no grid":             func(m *pass.Model) { m.Meta.Theta[0].Grid.Step = 0 },
		"theta too short":     func(m *pass.Model) { m.Meta.Theta = m.Meta.Theta[1:] },
		"NaN epsilon":         func(m *pass.Model) { m.Meta.Loss.Epsilon = math.NaN() },
	} {
		m := testModel(5, 2, true)
		change(&m)
		if data, err := sink.EncodeModel(m); err == nil {
			t.Errorf("%s: EncodeModel gives %d bytes", name, len(data))
		}
	}
}

// A fileRow is a row of a model file, for writing wrong ones.
type fileRow struct {
	Z    []float64 `parquet:"z,list"`
	Mean float64   `parquet:"mean"`
	L    []float64 `parquet:"l,list"`
	S    []float64 `parquet:"s,list"`

	Weight float64   `parquet:"weight"`
	B      []float64 `parquet:"b,list"`
}

// rewrite reads a model file by rows, changes them, and writes them again.
func rewrite(t *testing.T, data []byte, change func(rows []fileRow, metadata string) ([]fileRow, string), options ...parquet.WriterOption) []byte {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	fatal.If(t, err)
	metadata, _ := f.Lookup("pacsgp")
	rows, err := parquet.Read[fileRow](bytes.NewReader(data), int64(len(data)))
	fatal.If(t, err)
	rows, metadata = change(rows, metadata)
	var b bytes.Buffer
	w := parquet.NewGenericWriter[fileRow](&b, append(options,
		parquet.KeyValueMetadata("pacsgp", metadata),
		parquet.KeyValueMetadata("pacsgp-sha256", strings.Repeat("0", 64)))...)
	_, err = w.Write(rows)
	fatal.If(t, errors.Join(err, w.Close()))
	return sealed(b.Bytes())
}

// sealed writes the digest of a file over the last 64 zeros in it.
func sealed(data []byte) []byte {
	at := bytes.LastIndex(data, bytes.Repeat([]byte("0"), 64))
	return append(append(bytes.Clone(data[:at]), digest.Of(data)...), data[at+64:]...)
}

// resealed seals a changed file again, as a forger would, if it has room for a seal.
func resealed(data []byte) []byte {
	const key = "pacsgp-sha256\x18\x40"
	at := bytes.LastIndex(data, []byte(key)) + len(key)
	if at < len(key) || at+64 > len(data) {
		return data
	}
	clean := bytes.Clone(data)
	copy(clean[at:], bytes.Repeat([]byte("0"), 64))
	return sealed(clean)
}

func TestDecodeModelRefusesWhatIsNoModel(t *testing.T) {
	good := encode(t, testModel(5, 2, true))
	type rows = []fileRow
	same := rewrite(t, good, func(r rows, m string) (rows, string) { return r, m })
	if _, err := sink.DecodeModel(same); err != nil {
		t.Fatalf("another writer's file of the same rows: %v", err)
	}
	for name, test := range map[string]struct {
		want   string
		change func(r rows, m string) (rows, string)
	}{
		"unknown version": {"this program reads", func(r rows, m string) (rows, string) { return r, strings.Replace(m, "model/3", "model/4", 1) }},
		"unknown member":  {"unknown field", func(r rows, m string) (rows, string) { return r, strings.Replace(m, "{", `{"x":1,`, 1) }},
		"doubled member": {"canonical", func(r rows, m string) (rows, string) {
			return r, strings.Replace(m, `"isotropic":false`, `"isotropic":false,"isotropic":false`, 1)
		}},
		"white space":     {"canonical", func(r rows, m string) (rows, string) { return r, m + " " }},
		"no JSON":         {"metadata", func(r rows, _ string) (rows, string) { return r, "x" }},
		"no metadata":     {"metadata", func(r rows, _ string) (rows, string) { return r, "" }},
		"a row less":      {"4 rows", func(r rows, m string) (rows, string) { return r[:4], m }},
		"no rows":         {"0 rows", func(_ rows, m string) (rows, string) { return nil, m }},
		"a short row":     {"row 3", func(r rows, m string) (rows, string) { r[3].L = r[3].L[1:]; return r, m }},
		"a long row":      {"row 3", func(r rows, m string) (rows, string) { r[3].S = append(r[3].S, 1); return r, m }},
		"an empty row":    {"", func(r rows, m string) (rows, string) { r[3].Z = nil; return r, m }},
		"a short last":    {"row 4", func(r rows, m string) (rows, string) { r[4].L = r[4].L[1:]; return r, m }},
		"shifted lengths": {"row 0", func(r rows, m string) (rows, string) { r[1].L, r[0].L = r[0].L, r[1].L; return r, m }},
		"NaN":             {"finite", func(r rows, m string) (rows, string) { r[2].Mean = math.NaN(); return r, m }},
		"infinite Z":      {"finite", func(r rows, m string) (rows, string) { r[2].Z[0] = math.Inf(-1); return r, m }},
		"diagonal of L":   {"diagonal", func(r rows, m string) (rows, string) { r[2].L[2] = -1; return r, m }},
		"diagonal of C":   {"diagonal", func(r rows, m string) (rows, string) { r[2].S[2] = 0; return r, m }},
		"short B":         {"row 2", func(r rows, m string) (rows, string) { r[2].B = r[2].B[1:]; return r, m }},
		"no weight":       {"finite", func(r rows, m string) (rows, string) { r[2].Weight = math.NaN(); return r, m }},
		"no noise":        {"predictor", func(r rows, m string) (rows, string) { return r, strings.Replace(m, `"noise":0.01`, `"noise":0`, 1) }},
		"giant M": {"inducing points", func(r rows, m string) (rows, string) {
			return r, strings.Replace(m, `"inducing":5`, `"inducing":60000`, 1)
		}},
		"negative M": {"inducing points", func(r rows, m string) (rows, string) {
			return r, strings.Replace(m, `"inducing":5`, `"inducing":-5`, 1)
		}},
	} {
		bad := rewrite(t, good, test.change)
		if m, err := sink.DecodeModel(bad); !errors.Is(err, sink.ErrModelFile) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: DecodeModel = M %d, %v, want an error with %q", name, m.Meta.Inducing, err, test.want)
		}
	}
	keep := func(r rows, m string) (rows, string) { return r, m }
	compressed := rewrite(t, good, keep, parquet.Compression(&parquet.Snappy))
	if _, err := sink.DecodeModel(compressed); !errors.Is(err, sink.ErrModelFile) || !strings.Contains(err.Error(), "compressed") {
		t.Errorf("a compressed file: %v", err)
	}
	for name, data := range map[string][]byte{"nothing": nil, "PAR1": []byte("PAR1"), "text": []byte("a text of some length"), "cut off": good[:len(good)/2]} {
		if _, err := sink.DecodeModel(data); !errors.Is(err, sink.ErrModelFile) {
			t.Errorf("%s: %v, want ErrModelFile", name, err)
		}
	}
}

func damage(rng *rand.Rand, good []byte, kind int) []byte {
	bad := bytes.Clone(good)
	switch at := rng.IntN(len(bad)); kind % 3 {
	case 0:
		bad[at] ^= 1 << rng.IntN(8)
	case 1:
		bad = bad[:at]
	default:
		part := bad[at:min(len(bad), at+64)]
		for i := range part {
			part[i] ^= byte(1 + rng.IntN(255))
		}
	}
	return bad
}

func TestDamagedModelIsRefused(t *testing.T) {
	refusesDamage(t, encode(t, testModel(40, 3, true)), 3000, sink.ErrModelFile, func(b []byte) error { _, err := sink.DecodeModel(b); return err })
}

// refusesDamage damages a file so many times: each is refused, in little memory.
func refusesDamage(t *testing.T, good []byte, times int, want error, decode func([]byte) error) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range times {
		bad := damage(rng, good, i)
		allocated.Within(t, 1<<16, func() {
			if err := decode(bad); !errors.Is(err, want) {
				t.Fatalf("damage %d of a file of %d bytes: %v, want %v", i, len(good), err, want)
			}
		})
	}
}

// A forger can seal anything. What is read then is refused, or is a valid
// model of another digest: never a panic.
func TestForgedModelIsRefusedOrValid(t *testing.T) {
	good := encode(t, testModel(40, 3, true))
	footer := bytes.LastIndex(good, []byte("pacsgp-sha256"))
	rng := rand.New(rand.NewPCG(5, 6))
	refused := 0
	for range 1000 {
		bad := bytes.Clone(good)
		bad[4+rng.IntN(footer-4)] ^= 1 << rng.IntN(8)
		m, err := sink.DecodeModel(resealed(bad))
		if err == nil {
			encode(t, m)
			continue
		}
		if refused++; !errors.Is(err, sink.ErrModelFile) {
			t.Fatalf("%v is no ErrModelFile", err)
		}
	}
	if refused < 500 {
		t.Errorf("only %d of 1000 forged files are refused", refused)
	}
}
