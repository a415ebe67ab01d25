package pipeline_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
)

// Rows that are no copies stay in the subset that they are in without copies; copies
// are in no other.
func TestCopiesChangeNoSubsetOfOtherRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for _, n := range []int64{2, 25, 1000, 30_000} {
		for _, share := range []float64{0, 0.02, 0.9} {
			for _, isDeclared := range []bool{false, true} {
				var members []int64
				for i := range n - 1 {
					if rng.Float64() < share {
						members = append(members, i+1)
					}
				}
				copies := pipeline.NewOrdinalSet(n, members...)
				with, without := pipeline.NewSplitWithout("pacsgp", n, isDeclared, copies, 2), pipeline.NewSplit("pacsgp", n, isDeclared, 2)
				keep := func(ordinals []int64) []int64 {
					return slices.DeleteFunc(slices.Clone(ordinals), copies.Has)
				}
				if got, want := pipeline.ReferenceRows(with), keep(pipeline.ReferenceRows(without)); !slices.Equal(got, want) {
					t.Fatalf("%d rows, %d copies: %d prior rows, want the %d that are no copies", n, len(members), len(got), len(want))
				}
				all, _ := pipeline.TrainRows(without, int(n))
				for _, blockRows := range []int{7, 100, int(n)} {
					got, inPlace := pipeline.TrainRows(with, blockRows)
					if want := keep(all); !slices.Equal(got, want) || !inPlace || int64(len(got)) != with.Train() {
						t.Fatalf("%d rows, %d copies, blocks of %d: %d training rows (%d by count), in place: %v; want %d",
							n, len(members), blockRows, len(got), with.Train(), inPlace, len(want))
					}
				}
				if with.Copies() != int64(len(members)) || with.Reference()+with.Train()+with.Copies() != n {
					t.Errorf("%d rows, %d copies: %d reference, %d train, %d copies", n, len(members), with.Reference(), with.Train(), with.Copies())
				}
				for _, ordinal := range pipeline.StartRows(with) {
					if copies.Has(ordinal) {
						t.Fatalf("%d rows: start values come from row %d, a copy", n, ordinal)
					}
				}
			}
		}
	}
}
