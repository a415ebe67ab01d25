package pipeline_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
)

func TestMarksVectors(t *testing.T) {
	for _, v := range vectors(t, "marks.csv") {
		var columns [][]float64
		for text := range strings.FieldsSeq(v[2]) {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			columns = append(columns, []float64{x})
		}
		got := pipeline.Marks(columns)[0]
		for k := range got {
			if want, err := strconv.ParseUint(v[k], 10, 64); err != nil || got[k] != want {
				t.Errorf("mark %d of %.60q is %d, want %s", k, v[2], got[k], v[k])
			}
		}
	}
}

// A row's marks do not depend on the rows beside it.
func TestMarksOfManyRows(t *testing.T) {
	for _, d := range []int{2, 3, 6} {
		columns := make([][]float64, d)
		for i := range 1300 {
			for j := range columns {
				columns[j] = append(columns[j], math.Sin(float64(i*d+j)))
			}
		}
		for i, got := range pipeline.Marks(columns) {
			one := make([][]float64, d)
			for j := range one {
				one[j] = columns[j][i : i+1]
			}
			if want := pipeline.Marks(one)[0]; got != want {
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
		for i, m := range pipeline.Marks(columns) {
			whole[i] = m[1]
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
