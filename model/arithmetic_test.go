package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/loss"
)

// The bits of scores under [Arithmetic], by the kind of loss, after the first family of kernels,
// after the second and so on. If a number has changed on purpose, give Arithmetic its next value: parts
// of one pass with old and new bits must not be merged. New kinds and families only add numbers.
var arithmeticBits = map[loss.Kind]string{
	"zero-one":          "1 f65c2b8f35c75ceb dc7cbad7d2bd3203 6c85a53f8519c222",
	"band":              "1 4207ba881de8993d 8cb0bd91075ed0b4 0a5ea3f93f99408d",
	"relative-zero-one": "1 973241f9c0c1efbb ba10d4ed1b097e3b f89b84be855c4291",
	"squared":           "1 60ede59d833b3cdd 316020d012b2b3f2 b138ec8a4c3275fe",
	"exponential":       "1 130c85a177beaab2 d71d7783f731501e 7cb905d1466e4965",
	"relative":          "1 08dab19836d7373e 60fa7af2b1ddb743 9ccd6285c2a9c7c3",
}

// The scores of rows have the bits that belong to the name of the arithmetic, with every
// instruction set.
func TestArithmeticNamesItsBits(t *testing.T) {
	before := linalg.InstructionSet()
	t.Cleanup(func() { fatal.If(t, linalg.UseInstructionSet(before)) })
	for _, set := range linalg.InstructionSets() {
		fatal.If(t, linalg.UseInstructionSet(set))
		for _, kind := range loss.Kinds() {
			sum, got := sha256.New(), Arithmetic
			for _, f := range kernel.Families() {
				scoreInto(t, sum, f, kind)
				got += " " + hex.EncodeToString(sum.Sum(nil)[:8])
			}
			if got != arithmeticBits[kind] {
				t.Errorf("%s, loss %s: name and bits of the arithmetic are %q, want %q", set, kind, got, arithmeticBits[kind])
			}
		}
	}
}

// scoreInto hashes laws and losses of some rows.
func scoreInto(t *testing.T, sum hash.Hash, f *kernel.Family, kind loss.Kind) {
	t.Helper()
	const rows, d = 300, 3
	rng := rand.New(rand.NewPCG(31, 1))
	p := plainPosterior(rng, f, d)
	x, y := make([]float64, rows*d), make([]float64, rows)
	for i := range x {
		x[i] = 4*rng.Float64() - 2
	}
	for i := range y {
		y[i] = 2*rng.Float64() - 1
	}
	predictor, err := NewPredictor(p, 1)
	fatal.If(t, err)
	defer predictor.Close()
	l, err := loss.New(kind, 0.6, 0.5, 0.7, 0.1)
	fatal.If(t, err)
	for _, score := range []func(loss.Loss, float64, []float64, []float64, loss.Laws, []float64) error{predictor.PredictLoss, predictor.PredictMeanLoss} {
		laws, hi := loss.NewLaws(rows), make([]float64, rows)
		fatal.If(t, score(l, 1e-6, x, y, laws, hi))
		for _, each := range [][]float64{laws.Mean, laws.MeanError, laws.Variance, laws.VarianceError, hi} {
			fatal.If(t, binary.Write(sum, binary.LittleEndian, each))
		}
	}
}

// plainPosterior is a posterior whose numbers are computed without package linalg.
func plainPosterior(rng *rand.Rand, f *kernel.Family, d int) *Posterior {
	const m = 70
	p := &Posterior{
		Kernel: kernel.Kernel{Family: f, Lengthscales: []float64{0.5, 1, 2}[:d], Variance: 1.5}, Jitter: 1e-6,
		Z: make([]float64, m*d), Mean: make([]float64, m), L: make([]float64, m*m), Factor: make([]float64, m*m),
	}
	for i := range p.Z {
		p.Z[i] = 4*rng.Float64() - 2
	}
	for i := range m {
		p.Mean[i] = 2*rng.Float64() - 1
		for j := range i + 1 {
			s := p.Kernel.At(p.Z[i*d:(i+1)*d], p.Z[j*d:(j+1)*d])
			for k := range j {
				s -= float64(p.L[i*m+k] * p.L[j*m+k])
			}
			p.L[i*m+j], p.Factor[i*m+j] = s/p.L[j*m+j], 0.01*(2*rng.Float64()-1)
			if i == j {
				p.L[i*m+i], p.Factor[i*m+i] = math.Sqrt(s+p.Jitter), 0.3
			}
		}
	}
	return p
}
