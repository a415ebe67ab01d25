package dataset_test

import (
	"math"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// Anyone who knew the secrets could make the product of one step 0, and with it the marks of
// any rows alike: values that do so for one marker do not for another.
func TestMarksCannotBeMadeToMeet(t *testing.T) {
	const known = 0x9E3779B97F4A7C15
	b := math.Float64frombits(known)
	var columns [3][]float64
	for i := range 100 {
		columns[0] = append(columns[0], float64(i))
		columns[1] = append(columns[1], b)
		columns[2] = append(columns[2], math.Sin(float64(i)))
	}
	seen := map[uint64]bool{}
	for _, m := range dataset.Marks(columns[:]) {
		seen[m] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d different marks of 100 different rows", len(seen))
	}
}

// A row's marks do not depend on the rows in addition to it.
func TestMarksOfManyRows(t *testing.T) {
	for _, d := range []int{2, 3, 6} {
		columns := make([][]float64, d)
		for i := range 1300 {
			for j := range columns {
				columns[j] = append(columns[j], math.Sin(float64(i*d+j)))
			}
		}
		for i, got := range dataset.Marks(columns) {
			one := make([][]float64, d)
			for j := range one {
				one[j] = columns[j][i : i+1]
			}
			if want := dataset.Marks(one)[0]; got != want {
				t.Fatalf("%d columns: row %d has marks %v among others, %v alone", d, i, got, want)
			}
		}
	}
}

// Different rows have different marks, and cut down to 32 bits they meet as often
// as random numbers would, also where the values are few or differ in few bits.
func TestMarksMeetByChanceOnly(t *testing.T) {
	const n = 1 << 17
	for name, value := range map[string]func(i, j int) float64{
		"counter":       func(i, j int) float64 { return float64(i) * float64(1-j&1) },
		"counter last":  func(i, j int) float64 { return float64(i) * float64(j/3) },
		"grid":          func(i, j int) float64 { return float64(i >> (6 * j) & 63) },
		"tenths":        func(i, j int) float64 { return float64(i>>(5*j)&31) / 10 },
		"signs":         func(i, j int) float64 { return float64((1 - 2*(i>>(5*j)&1)) * (1 + i>>(5*j+1)&15)) },
		"last bits":     func(i, j int) float64 { return math.Float64frombits(math.Float64bits(1) + uint64(i>>(9*j)&511)) },
		"equal columns": func(i, _ int) float64 { return float64(i) },
	} {
		columns := make([][]float64, 4)
		for j := range columns {
			for i := range n {
				columns[j] = append(columns[j], value(i, j))
			}
		}
		whole := make([]uint64, n)
		parts := make([]uint64, n)
		for i, m := range dataset.Marks(columns) {
			whole[i] = m
		}
		for shift := 0; shift <= 32; shift += 16 {
			for i, h := range whole {
				parts[i] = h >> shift & 0xFFFFFFFF
			}
			slices.Sort(parts)
			meet := float64(n - len(slices.Compact(slices.Clone(parts))))
			const mean = float64(n) * n / (1 << 33) // Poisson's, nearly
			if meet > mean+8*math.Sqrt(mean) {
				t.Errorf("%s: bits %d to %d of the marks of %d rows meet %v times, want about %v", name, shift, shift+32, n, meet, mean)
			}
		}
		slices.Sort(whole)
		if d := len(slices.Compact(whole)); d != n {
			t.Errorf("%s: %d different marks of %d different rows", name, d, n)
		}
	}
}
