package words

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestRoundUpAndDown(t *testing.T) {
	for _, test := range []struct {
		x      float64
		digits int
		up     string
	}{
		{0.11385, 4, "0.1139"},
		{0.1138, 4, "0.1138"}, // the float64 is below 0.1138
		{0.5, 4, "0.5000"},
		{0, 4, "0.0000"},
		{1e-300, 4, "0.0001"},
		{math.Nextafter(0.25, 1), 2, "0.26"},
		{1600.0000001, 2, "1600.01"},
		{math.Inf(1), 2, "+Inf"},
	} {
		if up := RoundUp(test.x, test.digits); up != test.up {
			t.Errorf("%v: up %s, want %s", test.x, up, test.up)
		}
	}
}

// Numbers in words are never on the wrong side of the number that they stand for.
func TestWordsRoundOutward(t *testing.T) {
	demand(t, "Bound", func(x float64) string { return Bound(false, x) }, map[float64]string{
		0:                    "0.0000",
		1:                    "1.0000",
		.5:                   "0.5000",
		.08330001:            "0.0834",
		.1:                   "0.1001", // the float64 is above one tenth
		.3:                   "0.3000", // the float64 is below three tenths
		math.Nextafter(1, 0): "1.0000",
		.000123456:           "0.000124",
		1.00001e-12:          "0.00000000000101",
		5e-324:               "0.000000000000000001",
	})
	random := rand.New(rand.NewPCG(13, 14))
	for range 3000 {
		x := math.Pow(random.Float64(), 1+20*random.Float64())
		up, ok := new(big.Rat).SetString(Bound(false, x))
		exactly := new(big.Rat).SetFloat64(x)
		if !ok || up.Cmp(exactly) < 0 {
			t.Errorf("%.17g is printed as at most %s", x, Bound(false, x))
		}
	}
}

func TestConfidenceIsExact(t *testing.T) {
	demand(t, "Confidence", Confidence, map[float64]string{
		.01: "99 %", .05: "95 %", .3: "70 %", .001: "99.9 %", .025: "97.5 %", 1e-12: "99.9999999999 %", .99: "1 %",
	})
	demand(t, "PercentDeclared", PercentDeclared, map[float64]string{.01: "1 %", .05: "5 %", .001: "0.1 %", .07: "7 %", 1e-12: "0.0000000001 %"})
}

func TestPercentagesRoundUp(t *testing.T) {
	demand(t, "PercentUp", PercentUp, map[float64]string{
		0: "0.0 %", 1: "100 %", .5: "50.0 %", .0613: "6.2 %", .1713: "17.2 %", .00051: "0.052 %", .000501: "0.051 %", .9995: "100 %", .999: "99.9 %", .25: "25.0 %", 1e-9: "0.00000011 %",
	})
	demand(t, "PercentNear", PercentNear, map[float64]string{math.Nextafter(3./400, 1): "0.75 %", .0613: "6.1 %", .0617: "6.2 %", 0: "0.0 %", 1: "100 %"})
}

// A tolerance is printed as it was declared or, if it was computed, a little larger,
// which is exceeded no more often.
func TestTolerancesArePrintedOutwards(t *testing.T) {
	demand(t, "AtMostDigits", AtMostDigits, map[float64]string{
		15: "15", 0.7: "0.7", 123456789: "1.23456789e+08", 0.2455900525916819: "0.2456", 0.24551000000000001: "0.24551",
		99.99999999999: "100", 1.0000000000001: "1.001", 3.0e-7 / 7: "4.286e-08", 1234567890.5: "1.235e+09",
	})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		x := math.Exp(40 * rng.NormFloat64())
		got, err := strconv.ParseFloat(AtMostDigits(x), 64)
		if err != nil || !(x <= got && got <= 1.0011*x) {
			t.Fatalf("%v is printed as %v", x, got)
		}
	}
}

// A unit that could change the number before it stands in quotes.
func TestUnitsDoNotChangeNumbers(t *testing.T) {
	demand(t, "Unit", Unit, map[string]string{
		"": "", "minutes": "minutes", "m/s": "m/s", "°C": "°C", "%": "%",
		"e-3": `"e-3"`, "×10⁻³": `"×10⁻³"`, "/1000": `"/1000"`, "µg/m³": "µg/m³", "m²x": `"m²x"`, "³": `"³"`, "000": `"000"`, "m/s^2": `"m/s^2"`,
	})
}

// demand demands these words of each number or text.
func demand[T comparable](t *testing.T, name string, words func(T) string, wants map[T]string) {
	t.Helper()
	for x, want := range wants {
		if got := words(x); got != want {
			t.Errorf("%s(%v) = %s, want %s", name, x, got, want)
		}
	}
}
