package certify

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden certificate, before its format is released")

// A published certificate verifies for ever: whoever changes a number or a
// sentence that follows from evidence needs a new format, and keeps the old one.
// The same bytes on every platform are part of that.
func TestGoldenCertificate(t *testing.T) {
	name := filepath.Join("testdata", "certificate-3.json")
	made := marshal(t, certificate(t, sound(t)))
	if *update {
		if err := os.WriteFile(name, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := Recompute(c); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(made, data) {
		t.Error("the evidence of the golden certificate gives other bytes")
	}
}

// Values with 18 digits from an independent computation with 60 digits.
func TestKLInverseGolden(t *testing.T) {
	for _, v := range []struct{ q, c, want float64 }{
		{0, .05, .0487705754992859909},
		{.011, .0517, .0821267674411694483},
		{.1, .05, .220078601106924618},
		{.5, .2, .787088816381081231},
		{.9, .3, .998036728216553065},
		{1e-6, 1e-3, .001007408366891592},
	} {
		got := KLInverse(v.q, v.c)
		if got < v.want {
			t.Errorf("unsound: KLInverse(%g, %g) = %.18g, below %.18g", v.q, v.c, got, v.want)
		}
		if got > v.want*(1+4*0x1p-53) {
			t.Errorf("loose: KLInverse(%g, %g) = %.18g, want %.18g", v.q, v.c, got, v.want)
		}
	}
}

func TestXiGolden(t *testing.T) {
	for _, v := range []struct {
		n  int64
		xi string
	}{{1, "2.00000000"}, {2, "2.50000000"}, {10, "4.66021568"}, {100, "13.20996063"}, {1000, "40.30321293"}} {
		if got := fmt.Sprintf("%.8f", math.Exp(LnXi(v.n))); got != v.xi {
			t.Errorf("xi(%d) = %s, want %s", v.n, got, v.xi)
		}
	}
}

// The rows of the paper's tables for which theory gives the arithmetic: KL/N,
// 1,201 values for each hyper-parameter, δ = 0.01, 2√N in place of ξ.
func TestPaperRows(t *testing.T) {
	for _, v := range []struct {
		name      string
		risk, klN float64
		n         int64
		theta     int
		want      string
	}{
		{"boston", .093, .104, 404, 2, "0.3325"},
		{"pol", .011, .035, 12000, 27, "0.0822"},
	} {
		theta := make([]Parameter, v.theta)
		for i := range theta {
			theta[i] = Parameter{Name: fmt.Sprint(i), Grid: Grid{Min: -6, Step: .01, Count: 1201, Prior: PriorFlat}, Index: 600}
		}
		penalty, err := LnInverseWeight(1, theta)
		if err != nil {
			t.Fatal(err)
		}
		c := v.klN + (penalty+math.Log(200*math.Sqrt(float64(v.n))))/float64(v.n)
		if got := fmt.Sprintf("%.4f", KLInverse(v.risk, c)); got != v.want {
			t.Errorf("%s: KLInverse(%g, %g) = %s, want %s", v.name, v.risk, c, got, v.want)
		}
	}
}

// KL of the full Gaussian process for one row, K = 1.3, noise 0.15, y = 0.5, in
// whitened form: S = 1/(1 + K/noise), mean = S·√K·y/noise.
func TestGaussianKLGolden(t *testing.T) {
	const k, noise, y, want = 1.3, .15, .5, .763354850326245
	s := 1 / (1 + k/noise)
	got, err := GaussianKL([]float64{s * math.Sqrt(k) * y / noise}, []float64{math.Sqrt(s)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if slack := klSlack * (1 + want); !(math.Abs(got-want-slack) <= 2e-15) {
		t.Errorf("GaussianKL = %.16g, want %.16g and the slack", got, want)
	}
}

func BenchmarkKLInverse(b *testing.B) {
	for b.Loop() {
		KLInverse(.011, .0517)
	}
}

func BenchmarkLnXi(b *testing.B) {
	for _, n := range []int64{300, 32_000, XiLimit} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				LnXi(n)
			}
		})
	}
}
