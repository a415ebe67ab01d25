package certify

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// readVectors returns the rows of a file that testdata/vectors.py wrote, as
// maps from column to text, and fails if there are fewer than least.
func readVectors(t *testing.T, name string, least int) []map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	fatal.If(t, err)
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	fatal.If(t, err)
	if len(records) <= least {
		t.Fatalf("%s holds %d vectors, want at least %d", name, len(records)-1, least)
	}
	rows := make([]map[string]string, 0, len(records))
	for _, record := range records[1:] {
		row := make(map[string]string, len(record))
		for i, text := range record {
			row[records[0][i]] = text
		}
		rows = append(rows, row)
	}
	return rows
}

// fewer returns every fourth vector with -short, of functions that take a while.
func fewer(vectors []map[string]string) []map[string]string {
	if !testing.Short() {
		return vectors
	}
	var some []map[string]string
	for i := 0; i < len(vectors); i += 4 {
		some = append(some, vectors[i])
	}
	return some
}

// number reads a float64 that was written so that it reads back exactly.
func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	fatal.If(t, err)
	return x
}

// truth reads a decimal number of 40 digits.
func truth(t *testing.T, text string) *big.Float {
	t.Helper()
	x, _, err := big.ParseFloat(text, 10, 200, big.ToNearestEven)
	fatal.If(t, err)
	return x
}

// below reports whether got is less than want by more than the rounding of
// want to 40 digits.
func below(got float64, want *big.Float) bool {
	digits := new(big.Float).Mul(new(big.Float).Abs(want), big.NewFloat(1e-39))
	return !math.IsInf(got, 1) && big.NewFloat(got).Cmp(new(big.Float).Sub(want, digits)) < 0
}

// above is the mirror image of below.
func above(got float64, want *big.Float) bool {
	digits := new(big.Float).Mul(new(big.Float).Abs(want), big.NewFloat(1e-39))
	return math.IsInf(got, 1) || big.NewFloat(got).Cmp(new(big.Float).Add(want, digits)) > 0
}

// errsUp demands a number that is not below the true one, nor above it by more than both rooms.
func errsUp(t *testing.T, got float64, want *big.Float, relative, absolute float64, what string, args ...any) {
	t.Helper()
	if below(got, want) {
		t.Errorf("unsound: %s = %.18g is below %.18g", fmt.Sprintf(what, args...), got, want)
	} else if above(got, plus(want, relative, absolute)) {
		t.Errorf("loose: %s = %.18g, want %.18g", fmt.Sprintf(what, args...), got, want)
	}
}

// plus returns want(1 + relative) + absolute.
func plus(want *big.Float, relative, absolute float64) *big.Float {
	x := new(big.Float).Mul(want, big.NewFloat(relative))
	return x.Add(x.Add(x, want), big.NewFloat(absolute))
}

func TestKLVectors(t *testing.T) {
	for _, v := range readVectors(t, "kl.csv", 800) {
		q, p, want := number(t, v["q"]), number(t, v["p"]), truth(t, v["kl"])
		got := bernoulliKL(q, p)
		if below(got, plus(want, -0x1p-53, -0x1p-200)) || above(got, plus(want, 0x1p-53, 0x1p-200)) {
			t.Errorf("KL(%g, %g) = %.18g, want %.18g", q, p, got, want)
		}
	}
}

func TestKLInverseIsSoundOnVectors(t *testing.T) {
	for _, v := range readVectors(t, "klinverse.csv", 2000) {
		q, c := number(t, v["q"]), number(t, v["c"])
		upper := truth(t, v["upper"])
		errsUp(t, KLInverse(q, c), upper, 0x1p-52, 0x1p-105, "KLInverse(%g, %g)", q, c)
		if got := Pinsker(q, c); below(got, upper) {
			t.Errorf("unsound: Pinsker(%g, %g) = %g is below %.18g", q, c, got, upper)
		}
	}
}

func TestLnXiIsSoundOnVectors(t *testing.T) {
	for _, v := range readVectors(t, "xi.csv", 70) {
		n := int64(number(t, v["n"]))
		errsUp(t, LnXi(n), truth(t, v["ln_xi"]), 0x1p-52, 1e-11, "LnXi(%d)", n)
	}
}

func TestLnInverseWeightIsSoundOnVectors(t *testing.T) {
	for _, v := range readVectors(t, "weights.csv", 150) {
		var theta []Parameter
		fatal.If(t, json.Unmarshal([]byte(v["parameters"]), &theta))
		got, err := LnInverseWeight(1, theta)
		fatal.If(t, err)
		errsUp(t, got, truth(t, v["ln_inverse_weight"]), 2*0x1p-52, 1e-30, "LnInverseWeight(%s)", v["parameters"])
	}
}

func TestGaussianKLIsSoundOnVectors(t *testing.T) {
	for _, v := range readVectors(t, "gaussian.csv", 150) {
		var mean, factor []float64
		fatal.If(t, json.Unmarshal([]byte(v["mean"]), &mean))
		fatal.If(t, json.Unmarshal([]byte(v["factor"]), &factor))
		got, err := GaussianKL(mean, factor, len(mean))
		fatal.If(t, err)
		errsUp(t, got, truth(t, v["kl"]), 1.001e-9, 1.001e-9, "GaussianKL(%s, %s)", v["mean"], v["factor"])
	}
}

func TestRiskSumIsSoundOnVectors(t *testing.T) {
	for _, v := range readVectors(t, "risk.csv", 100) {
		var losses []float64
		fatal.If(t, json.Unmarshal([]byte(v["losses"]), &losses))
		var s RiskSum
		for _, loss := range losses {
			fatal.If(t, s.Add(loss))
		}
		var parsed struct{ Sum string }
		text, err := json.Marshal(s)
		fatal.If(t, err)
		fatal.If(t, json.Unmarshal(text, &parsed))
		if parsed.Sum != v["sum"] {
			t.Errorf("sum of %v is %s, want %s", losses, parsed.Sum, v["sum"])
		}
		errsUp(t, s.Upper(), truth(t, v["mean"]), 0x1p-52, 0x1p-60, "the mean of %v", losses)
	}
}

// Leaving out any of KL, ln 1/p_θ, ln ξ, ln 1/δ or ln K puts some bound below
// these values.
func TestBoundIsSoundOnVectors(t *testing.T) {
	for _, v := range readVectors(t, "bounds.csv", 400) {
		terms := Terms{
			Risk: number(t, v["risk"]), KL: number(t, v["kl"]), LnInverseWeight: number(t, v["ln_inverse_weight"]),
			N: int64(number(t, v["n"])), Delta: number(t, v["delta"]),
			Share: partOf(1, int64(number(t, v["alternatives"]))),
		}
		b, err := Bound(terms)
		fatal.If(t, err)
		holdout, err := HoldoutBound(terms.Risk, terms.N, terms.Delta)
		fatal.If(t, err)
		for _, x := range []struct {
			name     string
			got      float64
			relative float64
		}{{"exponent", b.Exponent, 1e-11}, {"upper", b.Upper, 1e-11}, {"pinsker", b.Pinsker, 1e-11}, {"holdout", holdout, 1e-14}} {
			errsUp(t, x.got, truth(t, v[x.name]), x.relative, 0, "%s of %+v", x.name, terms)
		}
	}
}
