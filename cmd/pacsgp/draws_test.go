package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// Rows that are no independent draws raise doubts, the same in both verifiers: 60 rows of noise 20
// times, apart in the ninth digit; a random walk over time, and one whose counter was shuffled. A
// shuffled walk by its values alone does not (docs/certificate.md), nor does noise.
func TestRowsThatAreNoDrawsRaiseDoubts(t *testing.T) {
	verifytest.Need(t)
	const n = 1200
	rng := rand.New(rand.NewPCG(61, 62))
	noise, walk, time := make([]float64, n), make([]float64, n), make([]float64, n)
	near, nearY, at := make([]float64, n), make([]float64, n), make([]float64, n)
	order := rng.Perm(n)
	for i := range n {
		noise[i] = rng.NormFloat64()
		walk[i] = walk[max(0, i-1)] + noise[i]
		k := rng.IntN(min(60, i+1))
		near[i] = noise[k] * (1 + 1e-9*rng.NormFloat64())
		nearY[i] = walk[k] * (1 + 1e-9*rng.NormFloat64())
		time[i], at[i] = float64(i), float64(order[i])
	}
	shuffled := make([]float64, n)
	for i, from := range order {
		shuffled[i] = walk[from]
	}
	before := slices.Clone(shuffled)
	for i, from := range order {
		before[i] = walk[max(0, from-1)]
	}
	var calls [][]string
	var wanted [][]string
	for _, c := range []struct {
		rows   table
		doubts []string
	}{
		{table{"x": near, "y": nearY}, []string{"but for the last digits"}},
		{table{"x": time, "y": walk}, []string{`"x" follows the order`, "Neighbouring rows are alike"}},
		{table{"x": at, "y": shuffled}, []string{`"x" has each value of an even grid`}},
		{table{"x": before, "y": shuffled}, nil},
		{table{"x": noise, "y": rotated(noise)}, nil},
	} {
		dir := t.TempDir()
		c.rows.write(t, lakeFile(dir, 0))
		a := retrained(t, dir, jobFile{"loss": "{epsilon: {std: 0.5}}", "inducing": "8", "train": "{passes: 1}"})
		calls, wanted = append(calls, []string{"verify", a.model, a.certificate, a.lake}), append(wanted, c.doubts)
	}
	for i, other := range verifytest.Verify(t, calls) {
		mine := strings.Join(strings.Fields(pacsgp(t, calls[i]...).stdout), " ")
		if other.Refused != "" || len(wanted[i]) == 0 && len(other.Doubts) > 0 {
			t.Errorf("%d: Python: %s, doubts %q", i, other.Refused, other.Doubts)
		}
		for _, want := range wanted[i] {
			if !strings.Contains(strings.Join(other.Doubts, " "), want) || !strings.Contains(mine, want) {
				t.Errorf("%d: no doubt says %q: Python %q, pacsgp\n%s", i, want, other.Doubts, mine)
			}
		}
	}
}

// rotated are values that stand half of them away.
func rotated(values []float64) []float64 {
	half := len(values) / 2
	return slices.Concat(values[half:], values[:half])
}
