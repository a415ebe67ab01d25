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
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// SmallModel returns a valid model with one feature x, one inducing point and this mean.
func SmallModel(mean float64) pass.Model {
	k := kernel.Kernel{Family: kernel.SquaredExponential, Lengthscales: []float64{1}, Variance: 1}
	zero := func(name string) certify.Parameter {
		return certify.Parameter{Name: name, Grid: certify.Grid{Step: 1, Count: 1, Prior: certify.PriorFlat}}
	}
	law := func(mean, factor float64) *model.Posterior {
		return &model.Posterior{Kernel: k, Jitter: 1e-8, Z: []float64{0}, Mean: []float64{mean}, L: []float64{1}, Factor: []float64{factor}}
	}
	return pass.Model{
		Meta: pass.ModelMeta{
			Format: pass.ModelFormat, Kernel: certify.KernelSquaredExponential,
			Theta:    []certify.Parameter{zero("ln lengthscale of x"), zero("ln variance")},
			Features: []job.Affine{{Name: "x", Scale: 1}}, Target: job.Affine{Name: "y", Scale: 1},
			Loss: certify.Loss{Kind: certify.LossZeroOne, Epsilon: 1}, RowRules: certify.RowRules(), Lengthscales: k.Lengthscales, Variance: 1, Jitter: 1e-8, Inducing: 1,
			Predictor: pass.Predictor{Part: 1, Noise: 0.01, Factor: 1},
		},
		Posterior: law(mean, 0.5), Predictive: law(mean, 0.25),
	}
}

// SmallCertificate returns a document in the form of a certificate, without numbers. Sinks store it, but it is not valid.
func SmallCertificate(modelDigest, software string) certify.Certificate {
	return certify.Certificate{
		Format: certify.Format,
		Claims: []certify.Claim{{ID: certify.ClaimMean, Predictor: certify.PredictorMean}, {ID: certify.ClaimDraw, Predictor: certify.PredictorDraw}},
		Evidence: certify.Evidence{
			Job:   certify.Configuration{Values: []byte("{}")},
			Model: certify.Facts{Digest: modelDigest}, Publisher: certify.Declared{Software: software},
		},
	}
}

// TestSink checks the contract of [pass.Sink]. location makes an empty location, and returns a function that opens it as
// another process would. Sinks from earlier calls of that function are not used after the next.
func TestSink(t *testing.T, location func(t *testing.T) (open func(t *testing.T) pass.Sink)) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, func(*testing.T) pass.Sink){
		"model": testModel, "certificate": testCertificate, "canceled": testCanceledSink,
	} {
		t.Run(name, func(t *testing.T) { test(t, location(t)) })
	}
}

// put stores a model and returns its digest.
func put(t *testing.T, s pass.Sink, m pass.Model) string {
	t.Helper()
	digest, err := s.PutModel(t.Context(), m)
	must(t, "PutModel", err)
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != digest {
		t.Fatalf("PutModel = %q, want a SHA-256 in hexadecimal", digest)
	}
	return digest
}

// holds fails the test unless a sink has the model want under the digest.
func holds(t *testing.T, s pass.Sink, digest string, want pass.Model) {
	t.Helper()
	got, err := s.GetModel(t.Context(), digest)
	must(t, "GetModel", err)
	a, err := json.Marshal(got.Meta)
	b, err2 := json.Marshal(want.Meta)
	must(t, "Marshal", errors.Join(err, err2))
	for _, laws := range [][2]*model.Posterior{{got.Posterior, want.Posterior}, {got.Predictive, want.Predictive}} {
		p, q := laws[0], laws[1]
		if string(a) != string(b) || !slices.Equal(p.Mean, q.Mean) || !slices.Equal(p.Z, q.Z) || !slices.Equal(p.L, q.L) || !slices.Equal(p.Factor, q.Factor) {
			t.Errorf("GetModel(%s) is another model: %s, mean %v, want %s, mean %v", digest, a, p.Mean, b, q.Mean)
		}
	}
}

func testModel(t *testing.T, open func(*testing.T) pass.Sink) {
	s := open(t)
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
	unknown := digest.Of([]byte("no model"))
	for digest, mean := range map[string]float64{one: 0.5, other: 0.25, third: 0.75} {
		holds(t, s, digest, SmallModel(mean))
	}
	if _, err := s.GetModel(t.Context(), unknown); err == nil {
		t.Errorf("GetModel(%s), which was never stored: no error", unknown)
	}
}

// A model is durable once it has a certificate.
func testCertificate(t *testing.T, open func(*testing.T) pass.Sink) {
	s := open(t)
	c := SmallCertificate(put(t, s, SmallModel(0.5)), "one")
	doc, err := certify.Marshal(c)
	must(t, "Marshal", err)
	other, err := s.PutCertificate(t.Context(), SmallCertificate(c.Model.Digest, "two"))
	if err != nil || other == digest.Of(doc) {
		t.Errorf("another certificate of the same model: PutCertificate = %q, %v", other, err)
	}
	for again := range 3 { // the same certificate may be stored again
		if again == 2 {
			s = open(t)
			holds(t, s, c.Model.Digest, SmallModel(0.5))
			if digest := put(t, s, SmallModel(0.5)); digest != c.Model.Digest {
				t.Errorf("after opening the same model has the digest %s, before %s", digest, c.Model.Digest)
			}
		}
		if id, err := s.PutCertificate(t.Context(), c); err != nil || id != digest.Of(doc) {
			t.Errorf("PutCertificate = %q, %v, want the SHA-256 of the document, %s", id, err, digest.Of(doc))
		}
	}
}

func testCanceledSink(t *testing.T, open func(*testing.T) pass.Sink) {
	s := open(t)
	digest := put(t, s, SmallModel(0.5))
	canceled(t, func(ctx context.Context) []error {
		_, putting := s.PutModel(ctx, SmallModel(0.25))
		_, getting := s.GetModel(ctx, digest)
		_, publishing := s.PutCertificate(ctx, SmallCertificate(digest, "one"))
		return []error{putting, getting, publishing}
	})
}

// canceled fails the test unless all calls with a canceled context return its error.
func canceled(t *testing.T, calls func(ctx context.Context) []error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i, err := range calls(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d with a canceled context: %v, want context.Canceled", i, err)
		}
	}
}
