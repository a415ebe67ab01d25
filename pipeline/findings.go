package pipeline

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// leastOrdered is the least number of different values of an ordered column: independent rows
// have this many in order with a probability of about 10⁻¹⁸.
const leastOrdered = 20

// findings are suspicious facts about the kept rows: near copies, inputs that rise or fall with the
// order of the rows, and inputs on even grids; nil if there are none. The target is the last column.
func findings(kept rawRows, inputs []string) *certify.Findings {
	f := certify.Findings{Rows: int64(kept.n)}
	exact, rounded := make([][]byte, kept.n), make([][]byte, kept.n)
	for c := range kept.columns {
		column := kept.column(c)
		if c < len(inputs) {
			in := &f.Grids
			if ordered(column) {
				in = &f.Ordered
			}
			if in == &f.Ordered || evenGrid(column) {
				*in = append(*in, inputs[c])
				continue // a counter keeps copies apart
			}
		}
		grid := roundingGrid(column)
		for i, v := range column {
			exact[i] = binary.LittleEndian.AppendUint64(exact[i], numberBits(v))
			if grid > 0 {
				v = math.Floor(v / grid)
			}
			rounded[i] = binary.LittleEndian.AppendUint64(rounded[i], numberBits(v))
		}
	}
	if near := different(exact) - different(rounded); near >= certify.NearCopies(f.Rows) {
		f.NearCopies = near
	}
	if f.NearCopies == 0 && f.Ordered == nil && f.Grids == nil {
		return nil
	}
	return &f
}

// roundingGrid is 2⁻²⁰ of the distance between the tenth and the ninetieth percentile.
func roundingGrid(column []float64) float64 {
	sorted := slices.Sorted(slices.Values(column))
	last := len(sorted) - 1
	if last < 0 {
		return 0
	}
	return (sorted[9*last/10] - sorted[last/10]) * 0x1p-20
}

// ordered reports whether a column never falls or never rises, over enough values.
func ordered(column []float64) bool {
	var rises, falls int
	for i := 1; i < len(column); i++ {
		switch {
		case column[i] > column[i-1]:
			rises++
		case column[i] < column[i-1]:
			falls++
		}
	}
	return min(rises, falls) == 0 && max(rises, falls)+1 >= leastOrdered
}

// leastRepeats is the least number of repeats that independent draws from a grid must be expected
// to have. Then a quarter of them or fewer has a probability of about 10⁻⁵.
const leastRepeats = 30

// evenGrid reports whether all values are multiples of one step, and hardly any repeats:
// of k independent draws from G values at least k(k−1)/2G pairs are expected to be equal.
func evenGrid(column []float64) bool {
	sorted := slices.Sorted(slices.Values(column))
	unique := slices.Compact(sorted)
	k, repeats := float64(len(column)), float64(len(column)-len(unique))
	step := math.Inf(1)
	for i := 1; i < len(unique); i++ {
		step = min(step, unique[i]-unique[i-1])
	}
	values := math.Floor((unique[len(unique)-1]-unique[0])/step+0.5) + 1
	if pairs := k * (k - 1) / (2 * values); !(pairs >= leastRepeats && repeats <= min(pairs/4, k/20)) {
		return false
	}
	for i := 1; i < len(unique); i++ {
		steps := (unique[i] - unique[i-1]) / step
		if !(math.Abs(steps-math.Floor(steps+0.5)) <= 0.01) {
			return false
		}
	}
	return true
}

// different is the number of different keys.
func different(keys [][]byte) int64 {
	seen := make(map[string]struct{}, len(keys))
	for _, k := range keys {
		seen[string(k)] = struct{}{}
	}
	return int64(len(seen))
}
