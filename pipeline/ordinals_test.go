package pipeline_test

import (
	"math/rand/v2"
	"testing"
)

// A set of ordinals against one that counts one by one.
func TestOrdinalSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for _, limit := range []int64{1, 63, 64, 65, 4096, 4097, 20_000} {
		for _, share := range []float64{0, 0.01, 0.5, 1} {
			var members []int64
			for i := range limit {
				if rng.Float64() < share {
					members = append(members, i)
				}
			}
			s := rowSet(limit, members...)
			if s.Size() != int64(len(members)) {
				t.Fatalf("%d members below %d: the size is %d", len(members), limit, s.Size())
			}
			var before int64
			for i := range limit {
				if got := s.CountBefore(i); got != before {
					t.Fatalf("%d members below %d: %d before %d, want %d", len(members), limit, got, i, before)
				}
				isMember := before < int64(len(members)) && members[before] == i
				if s.Has(i) != isMember {
					t.Fatalf("%d members below %d: has %d is %v", len(members), limit, i, s.Has(i))
				}
				if isMember {
					before++
				}
			}
			if got := s.CountBefore(limit); got != before {
				t.Fatalf("%d members below %d: %d before the limit", len(members), limit, got)
			}
		}
	}
}
