package report

import (
	"bytes"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// testFigure is like that of a run on a noisy target.
func testFigure(t testing.TB) Figure {
	rng := rand.New(rand.NewPCG(1, 2))
	f := Figure{Certificate: certifytest.Certificate(t, nil)}
	f.Certificate.Loss.Epsilon = 0.6
	for i := range 60 {
		fall := math.Exp(-float64(i) / 10)
		f.Steps = append(f.Steps, job.Progress{Bound: 0.113 + 0.3*fall, Risk: 0.031 + 0.12*fall + 0.004*rng.NormFloat64()*fall})
	}
	for range 900 {
		y := 3 + 2*rng.NormFloat64()
		f.Observed, f.Predicted = append(f.Observed, y), append(f.Predicted, y+0.28*rng.NormFloat64())
	}
	return f
}

func TestFigureIsTheSameBytesTwice(t *testing.T) {
	var png1, png2 bytes.Buffer
	fatal.If(t, testFigure(t).WritePNG(&png1))
	fatal.If(t, testFigure(t).WritePNG(&png2))
	if !bytes.Equal(png1.Bytes(), png2.Bytes()) {
		t.Error("the same figure gives other bytes the second time")
	}
	if dir := os.Getenv("PACSGP_FIGURES"); dir != "" { // to look at them
		fatal.If(t, os.WriteFile(dir+"/figure.png", png1.Bytes(), 0o644))
	}
	drawn := colours(t, png1.Bytes())
	for name, col := range map[string]color.NRGBA{
		"estimated bound": blue, "estimated risk": sky, "bound": green,
		"rows outside": orange,
	} {
		if !drawn[col] {
			t.Errorf("no pixel has the colour of %s", name)
		}
	}
}

func TestFigureOfDegenerateData(t *testing.T) {
	full := testFigure(t)
	for name, change := range map[string]func(f *Figure){
		"no steps":     func(f *Figure) { f.Steps = nil },
		"one step":     func(f *Figure) { f.Steps = f.Steps[:1] },
		"no points":    func(f *Figure) { f.Observed, f.Predicted = nil, nil },
		"one point":    func(f *Figure) { f.Observed, f.Predicted = f.Observed[:1], f.Predicted[:1] },
		"no tolerance": func(f *Figure) { f.Certificate.Loss.Epsilon = 0 },
		"one-sided":    func(f *Figure) { f.Certificate.Loss.Epsilon, f.Certificate.Loss.Above = 0, 0.6 },
		"shares of 0": func(f *Figure) {
			f.Certificate.Loss.Kind, f.Observed, f.Predicted = certify.LossRelative, []float64{0, 0}, []float64{0, 1}
		},
		"a huge tolerance":  func(f *Figure) { f.Certificate.Loss.Epsilon = 1e9 },
		"no claim":          func(f *Figure) { f.Certificate.Claims, f.Steps = nil, nil },
		"equal points":      func(f *Figure) { f.Observed, f.Predicted = []float64{5, 5}, []float64{5, 5} },
		"tiny values":       func(f *Figure) { f.Observed, f.Predicted = []float64{1e-300, 0}, []float64{2e-300, 0} },
		"huge values":       func(f *Figure) { f.Observed, f.Predicted = []float64{1e300, 0}, []float64{-1e300, 0} },
		"nothing whatever":  func(f *Figure) { *f = Figure{} },
		"words with no end": func(f *Figure) { f.Certificate.Loss.Target = strings.Repeat("word ", 200) },
	} {
		f := full
		change(&f)
		var b bytes.Buffer
		if err := f.WritePNG(&b); err != nil || b.Len() == 0 {
			t.Errorf("%s: %v, %d bytes", name, err, b.Len())
		}
	}
}

// A share of the observation is within at the edge, on both sides of 0, and the band narrows to 0 there.
func TestFigureOfAShare(t *testing.T) {
	f := Figure{Observed: []float64{-30, 30, 10, 0, -1}, Predicted: []float64{-33, 26.9, 11, 1e-9, -0.8}}
	f.Certificate.Loss.Loss = certify.Loss{Kind: certify.LossRelativeZeroOne, Epsilon: 0.1}
	if within, outside := f.split(); len(within) != 2 || len(outside) != 3 || f.tolerance() != "±10 %" {
		t.Errorf("within %v, outside %v, by %s", within, outside, f.tolerance())
	}
	outline := f.band(-40, 40)
	for i, at := range outline {
		if other := outline[len(outline)-1-i]; at.X != other.X || math.Abs(at.X) < 36 && math.Abs(math.Abs(at.Y-other.Y)-0.2*math.Abs(at.X)) > 1e-12 || math.Abs(at.Y) > 40 {
			t.Errorf("the band at %g is from %g to %g", at.X, at.Y, other.Y)
		}
	}
}

func TestFigureRefusesNaN(t *testing.T) {
	for name, change := range map[string]func(f *Figure){
		"step":  func(f *Figure) { f.Steps[0].Risk = math.Inf(1) },
		"point": func(f *Figure) { f.Predicted[0] = math.NaN() },
	} {
		f := testFigure(t)
		change(&f)
		if err := f.WritePNG(&bytes.Buffer{}); err == nil {
			t.Errorf("%s: a figure with it is drawn", name)
		}
	}
}

// The panel of a curve replaces training; each step reaches to the next tolerance.
func TestFigureOfACurve(t *testing.T) {
	plain, curved := testFigure(t), testFigure(t)
	g := certify.Claim{ID: certify.ClaimCurve, N: 100, Curve: &certify.Curve{Level: .001, Steps: []certify.Step{{Tolerance: .2, Misses: 40, Bound: .6}, {Tolerance: .5, Misses: 5, Bound: .15}, {Tolerance: 1, Misses: 0, Bound: .05}}}}
	curved.Certificate.Claims = append(curved.Certificate.Claims, g)
	missed, bound := stairs(g)
	if len(missed) != 6 || missed[1].X != .5 || missed[1].Y != .4 || bound[2].X != .5 || bound[2].Y != .15 || bound[5].Y != .05 {
		t.Errorf("stairs %v and %v", missed, bound)
	}
	var one, other bytes.Buffer
	fatal.If(t, plain.WritePNG(&one))
	fatal.If(t, curved.WritePNG(&other))
	if bytes.Equal(one.Bytes(), other.Bytes()) {
		t.Error("the curve is not drawn")
	}
	g.Curve.Steps = nil
	other.Reset()
	fatal.If(t, curved.WritePNG(&other))
	if !bytes.Equal(one.Bytes(), other.Bytes()) {
		t.Error("a curve without steps is drawn")
	}
}

// colours returns the colours of a picture's pixels.
func colours(t *testing.T, file []byte) map[color.NRGBA]bool {
	picture, err := png.Decode(bytes.NewReader(file))
	fatal.If(t, err)
	all := map[color.NRGBA]bool{}
	for x := range picture.Bounds().Dx() {
		for y := range picture.Bounds().Dy() {
			all[color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)] = true
		}
	}
	return all
}
