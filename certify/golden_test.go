package certify

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

var update = flag.Bool("update", false, "rewrite the golden certificate, before its format is released")

// A published certificate verifies for ever: anyone who changes a number or a
// sentence that follows from evidence needs a new format, and keeps the old one.
// The same bytes on every platform are part of that.
func TestGoldenCertificate(t *testing.T) {
	name := filepath.Join("testdata", "certificate-4.json")
	made := marshal(t, certificate(t, sound(t)))
	if *update {
		fatal.If(t, os.WriteFile(name, made, 0o644))
	}
	data, err := os.ReadFile(name)
	fatal.If(t, err)
	c, err := Parse(data)
	fatal.If(t, err)
	if err := Recompute(c); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(made, data) {
		t.Error("the evidence of the golden certificate gives other bytes")
	}
}

// The rows of the paper's tables for which theory gives the arithmetic: KL/N,
// 1,201 values for each hyper-parameter, δ = 0.01, 2√N instead of ξ.
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
		fatal.If(t, err)
		c := v.klN + (penalty+math.Log(200*math.Sqrt(float64(v.n))))/float64(v.n)
		if got := fmt.Sprintf("%.4f", KLInverse(v.risk, c)); got != v.want {
			t.Errorf("%s: KLInverse(%g, %g) = %s, want %s", v.name, v.risk, c, got, v.want)
		}
	}
}
