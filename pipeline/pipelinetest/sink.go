package pipelinetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline"
)

// SmallModel is a valid model of one feature x and one inducing point. Models of
// different means differ.
func SmallModel(mean float64) pipeline.Model {
	k := kernel.Kernel{Family: kernel.SquaredExponential, Lengthscales: []float64{1}, Variance: 1}
	zero := func(name string) certify.Parameter {
		return certify.Parameter{Name: name, Grid: certify.Grid{Step: 1, Count: 1, Prior: certify.PriorFlat}}
	}
	return pipeline.Model{
		Meta: pipeline.ModelMeta{
			Format: pipeline.ModelFormat, Kernel: certify.KernelSquaredExponential, ARD: true,
			Theta:    []certify.Parameter{zero("ln lengthscale of x"), zero("ln variance")},
			Features: []pipeline.Affine{{Name: "x", Scale: 1}}, Target: pipeline.Affine{Name: "y", Scale: 1},
			Loss: certify.Loss{Kind: certify.LossZeroOne, Epsilon: 1}, RowRules: certify.RowRules(), Lengthscales: k.Lengthscales, Variance: 1, Jitter: 1e-8, Inducing: 1,
		},
		Posterior: &model.Posterior{Kernel: k, Jitter: 1e-8, Z: []float64{0}, Mean: []float64{mean}, L: []float64{1}, Factor: []float64{0.5}},
	}
}

// SmallCertificate has the form of a certificate of the model and says nothing. Those
// of different software differ.
func SmallCertificate(modelDigest, software string) certify.Certificate {
	return certify.Certificate{
		Format:        certify.Format,
		Guarantees:    []certify.Guarantee{{ID: certify.GuaranteeMean, Predictor: certify.PredictorMean}, {ID: certify.GuaranteeDraw, Predictor: certify.PredictorDraw}},
		Configuration: certify.Configuration{Values: []byte("{}")},
		Model:         certify.ModelFile{Digest: modelDigest}, Declared: certify.Declared{Software: software},
	}
}

// TestSink checks that a sink keeps the contract of [pipeline.Sink]. place makes a new
// and empty place, and returns a function that opens it anew, as another process
// would; what that function returned before is not used any more.
func TestSink(t *testing.T, place func(t *testing.T) (open func(t *testing.T) pipeline.Sink)) {
	t.Helper()
	t.Run("model", func(t *testing.T) { testModel(t, place(t)(t)) })
	t.Run("unknown model", func(t *testing.T) { testUnknownModel(t, place(t)(t)) })
	t.Run("certificate", func(t *testing.T) { testCertificate(t, place(t)(t)) })
	t.Run("opened again", func(t *testing.T) { testOpenedAgain(t, place(t)) })
	t.Run("canceled", func(t *testing.T) { testCanceledSink(t, place(t)(t)) })
}

// put stores a model and returns its digest, which has to look like one.
func put(t *testing.T, s pipeline.Sink, m pipeline.Model) string {
	t.Helper()
	digest, err := s.PutModel(t.Context(), m)
	if err != nil {
		t.Fatalf("PutModel: %v", err)
	}
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != digest {
		t.Fatalf("PutModel = %q, want a SHA-256 in hexadecimal", digest)
	}
	return digest
}

// holds demands that a sink gives a model back.
func holds(t *testing.T, s pipeline.Sink, digest string, want pipeline.Model) {
	t.Helper()
	got, err := s.GetModel(t.Context(), digest)
	if err != nil {
		t.Fatalf("GetModel(%s): %v", digest, err)
	}
	a, err := json.Marshal(got.Meta)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(want.Meta)
	if err != nil {
		t.Fatal(err)
	}
	p, q := got.Posterior, want.Posterior
	if string(a) != string(b) || !slices.Equal(p.Mean, q.Mean) || !slices.Equal(p.Z, q.Z) || !slices.Equal(p.L, q.L) || !slices.Equal(p.Factor, q.Factor) {
		t.Errorf("GetModel(%s) is another model: %s, mean %v, want %s, mean %v", digest, a, p.Mean, b, q.Mean)
	}
}

func testModel(t *testing.T, s pipeline.Sink) {
	one := put(t, s, SmallModel(0.5))
	if again := put(t, s, SmallModel(0.5)); again != one {
		t.Errorf("the same model has the digests %s and %s", one, again)
	}
	other := put(t, s, SmallModel(0.25))
	if other == one {
		t.Error("two models have one digest")
	}
	changed := SmallModel(0.75)
	third := put(t, s, changed)
	changed.Posterior.Mean[0] = 7 // the caller's own
	holds(t, s, one, SmallModel(0.5))
	holds(t, s, other, SmallModel(0.25))
	holds(t, s, third, SmallModel(0.75))
}

func testUnknownModel(t *testing.T, s pipeline.Sink) {
	put(t, s, SmallModel(0.5))
	unknown := hexDigest([]byte("no model"))
	if _, err := s.GetModel(t.Context(), unknown); err == nil {
		t.Errorf("GetModel(%s), which was never stored: no error", unknown)
	}
}

func testCertificate(t *testing.T, s pipeline.Sink) {
	c := SmallCertificate(put(t, s, SmallModel(0.5)), "one")
	doc, err := certify.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // putting it twice is harmless
		if id, err := s.PutCertificate(t.Context(), c); err != nil || id != hexDigest(doc) {
			t.Errorf("PutCertificate = %q, %v, want the SHA-256 of the document, %s", id, err, hexDigest(doc))
		}
	}
	other, err := s.PutCertificate(t.Context(), SmallCertificate(c.Model.Digest, "two"))
	if err != nil || other == hexDigest(doc) {
		t.Errorf("another certificate of the same model: PutCertificate = %q, %v", other, err)
	}
}

func testOpenedAgain(t *testing.T, open func(t *testing.T) pipeline.Sink) {
	s := open(t)
	digest := put(t, s, SmallModel(0.5))
	c := SmallCertificate(digest, "one")
	id, err := s.PutCertificate(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s = open(t)
	holds(t, s, digest, SmallModel(0.5))
	if again := put(t, s, SmallModel(0.5)); again != digest {
		t.Errorf("after opening the same model has the digest %s, before %s", again, digest)
	}
	if again, err := s.PutCertificate(t.Context(), c); err != nil || again != id {
		t.Errorf("after opening PutCertificate = %q, %v, before %s", again, err, id)
	}
}

func testCanceledSink(t *testing.T, s pipeline.Sink) {
	digest := put(t, s, SmallModel(0.5))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, putting := s.PutModel(ctx, SmallModel(0.25))
	_, getting := s.GetModel(ctx, digest)
	_, publishing := s.PutCertificate(ctx, SmallCertificate(digest, "one"))
	for _, err := range []error{putting, getting, publishing} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("with a canceled context: %v, want context.Canceled", err)
		}
	}
}
