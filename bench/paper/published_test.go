package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
)

// The wanted centres and counts are those of scipy 1.17:
//
//	kmeans2(X_train, 500, seed=int(abs(X_train[0, 0])))
func TestPublishedCentres(t *testing.T) {
	for name, want := range map[string]struct {
		empty       int
		first, last float64
	}{
		"pol":    {236, 1.6189406, -0.59599578},
		"kin40k": {9, 1.15190359, 0.60391399},
	} {
		all, err := readTable(t.Context(), data(t), name)
		fatal.If(t, err)
		in, _ := split(all, 0)
		z, empty, err := publishedCentres(matrix(all.Pick(in)), 500)
		fatal.If(t, err)
		if last := z[499*len(z)/500]; empty != want.empty || !(math.Abs(z[0]-want.first) < 1e-7) || !(math.Abs(last-want.last) < 1e-7) {
			t.Errorf("%s: %d empty, %v to %v, want %+v", name, empty, z[0], last, want)
		}
	}
}

// A grid within limits that the widest search keeps takes its end; the others search.
func TestGridsShareASearch(t *testing.T) {
	rows, err := generated(3)
	fatal.If(t, err)
	few := make([]int, 40)
	for i := range few {
		few[i] = i
	}
	m := matrix(rows.Pick(few))
	dir := t.TempDir()
	for _, r := range discretisations(options{evaluations: 20, inducing: 5}) {
		c, err := r.collapsed(m)
		fatal.If(t, err)
		end, err := r.end(t.Context(), dir, c, m)
		fatal.If(t, err)
		for _, v := range end.Theta {
			if !(math.Abs(v) <= float64(r.Limit)) {
				t.Errorf("%s: ln θ is %v", r.label(), v)
			}
		}
	}
	ends, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(ends) < 1 || len(ends) > 4 {
		t.Errorf("%d searches, %v", len(ends), err)
	}
}

func TestPublishedCentresOfAConstant(t *testing.T) {
	rows := model.Rows{Dim: 2, X: []float64{1, 5, 2, 5, 3, 5}, Y: []float64{1, 2, 3}}
	if _, _, err := publishedCentres(rows, 2); err == nil {
		t.Error("a constant feature is taken")
	}
}
