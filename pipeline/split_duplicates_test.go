package pipeline_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Rows that are no duplicates stay in the subset that they are in without duplicates; duplicates
// are in no other.
func TestDuplicatesChangeNoSubsetOfOtherRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for _, n := range []int64{2, 25, 1000, 30_000} {
		for _, share := range []float64{0, 0.02, 0.9} {
			for _, scaling := range []job.Scaling{job.ScalingPrior, job.ScalingNone} {
				var members []int64
				for i := range n - 1 {
					if rng.Float64() < share {
						members = append(members, i+1)
					}
				}
				duplicates := rowSet(n, members...)
				j := job.Job{Split: job.SplitDecl{Key: "pacsgp"}, Scaling: scaling}
				with, without := newSplit(j, n, duplicates), newSplit(j, n, nil)
				keep := func(ordinals []int64) []int64 {
					return slices.DeleteFunc(slices.Clone(ordinals), duplicates.Has)
				}
				if got, want := with.PriorRows, keep(without.PriorRows); !slices.Equal(got, want) {
					t.Fatalf("%d rows, %d duplicates: %d prior rows, want the %d that are no duplicates", n, len(members), len(got), len(want))
				}
				all, _ := trainingRows(without, int(n))
				for _, blockRows := range []int{7, 100, int(n)} {
					got, inPlace := trainingRows(with, blockRows)
					if want := keep(all); !slices.Equal(got, want) || !inPlace || int64(len(got)) != with.Train() {
						t.Fatalf("%d rows, %d duplicates, blocks of %d: %d training rows (%d by count), in place: %v; want %d",
							n, len(members), blockRows, len(got), with.Train(), inPlace, len(want))
					}
				}
				if with.Out.Duplicates.Size() != int64(len(members)) || with.Prior()+with.Train()+with.Out.Duplicates.Size() != n {
					t.Errorf("%d rows, %d duplicates: %d prior, %d train, %d duplicates", n, len(members), with.Prior(), with.Train(), with.Out.Duplicates.Size())
				}
				for _, ordinal := range startRows(with) {
					if duplicates.Has(ordinal) {
						t.Fatalf("%d rows: start values come from row %d, a copy", n, ordinal)
					}
				}
			}
		}
	}
}
