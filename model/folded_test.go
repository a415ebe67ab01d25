package model

import (
	"math"
	"testing"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// The error of the folded way stays within its estimate, whatever the condition
// of L, and below the share of the variance that decides between the ways.
func TestFoldedErrsWithinItsEstimate(t *testing.T) {
	pool := linalg.NewPool(1)
	defer pool.Close()
	used := 0
	for _, jitter := range []float64{1e-2, 1e-4, 1e-6, 1e-8} {
		for _, d := range []int{1, 2, 5, 20} {
			for _, m := range []int{1, 30, 90} {
				p := randomPosterior(t, m, d, uint64(m+d))
				p.Jitter = jitter
				z := linalg.Mat{Rows: m, Cols: d, Stride: d, Data: p.Z}
				if err := factorKuu(pool, p.Kernel, z, p.Jitter, square(p.L, m)); err != nil {
					t.Fatal(err)
				}
				f := newFolded(pool, p)
				if f == nil {
					continue
				}
				used++
				rows := testRows(20, d, 3)
				k, s := linalg.NewMat(rows.Len(), m), linalg.NewMat(rows.Len(), m)
				fill := func() {
					for i := range rows.Len() {
						for j := range m {
							k.Row(i)[j] = p.Kernel.At(rows.Row(i), z.Row(j))
						}
					}
				}
				fast, slow := make([]float64, rows.Len()), make([]float64, rows.Len())
				mean, slowMean := make([]float64, rows.Len()), make([]float64, rows.Len())
				fill()
				f.predict(k, s, mean, fast)
				newWhitened(pool, p).predict(k, s, slowMean, slow)
				for i := range rows.Len() {
					if off := math.Abs(fast[i] - slow[i]); !(off <= f.least*foldedShare) {
						t.Errorf("jitter %g, d=%d, M=%d, row %d: variance %g is off by %g, estimated %g", jitter, d, m, i, slow[i], off, f.least*foldedShare)
					}
					if off := math.Abs(mean[i] - slowMean[i]); !(off <= 1e-9) {
						t.Errorf("jitter %g, d=%d, M=%d, row %d: mean %g is off by %g", jitter, d, m, i, slowMean[i], off)
					}
				}
			}
		}
	}
	if used < 30 {
		t.Errorf("the folded way was used for %d posteriors of 48 only", used)
	}
}

// A posterior that is sharp everywhere is computed the whitened way; one that is
// sharp somewhere so for the rows there, to the same bits.
func TestSharpPosteriorsAreComputedTheWhitenedWay(t *testing.T) {
	const m, d = 40, 2
	pool := linalg.NewPool(1)
	defer pool.Close()
	p := randomPosterior(t, m, d, 5)
	for i := range p.Factor {
		p.Factor[i] *= 1e-4
	}
	if newFolded(pool, p) != nil {
		t.Error("variances of 1e-8 are computed the folded way")
	}

	p = randomPosterior(t, m, d, 5)
	rows := testRows(300, d, 3)
	r, err := NewPredictor(p, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	predicted := func(f *folded) (mean, variance []float64) {
		r.folded = f
		mean, variance = make([]float64, rows.Len()), make([]float64, rows.Len())
		if err := r.Predict(rows.X, mean, variance); err != nil {
			t.Fatal(err)
		}
		return mean, variance
	}
	some := *newFolded(pool, p)
	some.least = 0
	mean, variance := predicted(&some)
	slowMean, slow := predicted(nil)
	some.least = variance[17]
	mixedMean, mixed := predicted(&some)
	again := 0
	for i := range rows.Len() {
		wantMean, want := mean[i], variance[i]
		if variance[i] < some.least {
			again++
			wantMean, want = slowMean[i], slow[i]
		}
		if mixed[i] != want || mixedMean[i] != wantMean {
			t.Errorf("row %d of variance %g (least %g): %g, want %g", i, variance[i], some.least, mixed[i], want)
		}
	}
	if again == 0 || again == rows.Len() {
		t.Errorf("%d rows of %d were computed again", again, rows.Len())
	}
}
