package model

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/pacsgp/pacsgp/model/kernel"
)

// at evaluates an objective with Z at the given rows.
func at(t *testing.T, objective Objective, alpha float64, z, rows Rows, theta []float64, lnNoise float64) *Collapsed {
	t.Helper()
	cfg := CollapsedConfig{Config: testConfig(t, rows, true), Objective: objective, Alpha: alpha, Starts: []Start{{theta, lnNoise}}}
	cfg.Inducing, cfg.Jitter = z.Len(), 1e-9
	c := newTestCollapsed(t, cfg, rows)
	p := c.start
	p.z.Data = append([]float64(nil), z.X...)
	c.start = p
	if e := c.evaluate(c.free(p), rows); e.gradient == nil {
		t.Fatal("it cannot be evaluated")
	}
	return c
}

// exactEvidence is −ln N(y; 0, K + σ_n²I)/N and the KL of the exact posterior at the rows, by
// the eigenvalues of K: ½ Σ ln((l+s)/s) − l/(l+s) + l c²/(l+s)².
func exactEvidence(t *testing.T, rows Rows, theta []float64, noise float64) (value, kl float64) {
	t.Helper()
	n := rows.Len()
	k := kernel.Kernel{Family: kernel.Families()[0], Variance: math.Exp(theta[len(theta)-1])}
	for _, v := range theta[:len(theta)-1] {
		k.Lengthscales = append(k.Lengthscales, math.Exp(v))
	}
	gram := mat.NewSymDense(n, nil)
	row := make([]float64, n)
	for i := range n {
		k.Row(row, rows.Row(i), rows.X)
		for j := range i + 1 {
			gram.SetSym(i, j, row[j])
		}
	}
	var e mat.EigenSym
	if !e.Factorize(gram, true) {
		t.Fatal("no eigenvalues")
	}
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	var c mat.VecDense
	c.MulVec(vectors.T(), mat.NewVecDense(n, rows.Y))
	for i, l := range e.Values(nil) {
		l = max(l, 0)
		square := c.AtVec(i) * c.AtVec(i)
		value += 0.5 * (math.Log(2*math.Pi*(l+noise)) + square/(l+noise)) / float64(n)
		kl += 0.5 * (math.Log((l+noise)/noise) - l/(l+noise) + l*square/((l+noise)*(l+noise)))
	}
	return value, kl
}

// With its inducing points at the rows, FITC is the exact process, and so are DTC and VFE;
// elsewhere the evidence of VFE is below that of the exact process, and DTC and VFE have one
// posterior. The KL is found by Cholesky factors and by eigenvalues.
func TestCollapsedIdentities(t *testing.T) {
	rows := testRows(40, 2, 21)
	for _, theta := range [][]float64{{0.2, -0.3, 0.1}, {-0.5, 0.4, 0.6}, {0.6, 0.6, -0.4}} {
		for _, lnNoise := range []float64{-2.5, -0.7, 0.4} {
			value, kl := exactEvidence(t, rows, theta, math.Exp(lnNoise))
			for name, c := range map[string]*Collapsed{
				"FITC": at(t, Evidence, 1, rows, rows, theta, lnNoise),
				"DTC":  at(t, Evidence, 0, rows, rows, theta, lnNoise),
				"VFE":  at(t, EvidenceBound, 0, rows, rows, theta, lnNoise),
			} {
				if !(math.Abs(c.eval.value-value) <= 1e-5*(1+math.Abs(value))) {
					t.Errorf("%s: objective %.9g, that of the exact process %.9g", name, c.eval.value, value)
				}
				if !(math.Abs(c.eval.kl-kl) <= 1e-5*(1+kl)) {
					t.Errorf("%s: KL %.9g, by eigenvalues %.9g", name, c.eval.kl, kl)
				}
			}
			few := rows.Slice(0, 6)
			vfe, dtc := at(t, EvidenceBound, 0, few, rows, theta, lnNoise), at(t, Evidence, 0, few, rows, theta, lnNoise)
			if !(vfe.eval.value >= value-1e-9) {
				t.Errorf("VFE claims the evidence %v, the exact process has %v", -vfe.eval.value, -value)
			}
			if !slices.Equal(vfe.eval.mean, dtc.eval.mean) || !slices.Equal(vfe.eval.precision.Data, dtc.eval.precision.Data) {
				t.Error("VFE and DTC have different posteriors")
			}
		}
	}
}

// One row, y = 0.5, variance 1.3, noise 0.15: the KL at 15 digits, by hand.
func TestExactKLOfOneRow(t *testing.T) {
	rows := Rows{Dim: 2, X: []float64{0.3, -0.2}, Y: []float64{0.5}}
	c := at(t, Evidence, 1, rows, rows, []float64{0, 0, math.Log(1.3)}, math.Log(0.15))
	if got, want := c.eval.kl, 0.763354850326245; !(math.Abs(got-want) <= 1e-7) {
		t.Errorf("KL %.15g, want %.15g", got, want)
	}
}
