package pipeline_test

import (
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
)

// With roles by position a row's role follows from its own number: the first ones are
// reference rows, of the others those of a high hash are hold-out rows. Copies keep
// nobody's place, and start rows are early ones.
func TestRolesByPosition(t *testing.T) {
	const reference, share = 500, 0.25
	for _, n := range []int64{2, 500, 501, 9000, 30_000} {
		for _, copied := range []int64{0, 7} { // every so many rows is one
			var members []int64
			for i := copied; copied > 0 && i < n; i += copied {
				members = append(members, i)
			}
			copies := pipeline.NewOrdinalSet(n, members...)
			if copied == 0 {
				copies = pipeline.OrdinalSet{}
			}
			r, err := pipeline.NewRolesByPosition("k", n, reference, share, copies)
			fatal.If(t, err)
			var want struct{ reference, holdout, train []int64 }
			for i := range n {
				switch {
				case copied > 0 && copies.Has(i):
				case i < reference:
					want.reference = append(want.reference, i)
				case float64(pipeline.RoleHash("k", i)) >= (1-share)*0x1p64:
					want.holdout = append(want.holdout, i)
				default:
					want.train = append(want.train, i)
				}
			}
			train, inPlace := r.TrainRows(100)
			if !slices.Equal(r.ReferenceRows(), want.reference) || !slices.Equal(r.HoldoutRows(77), want.holdout) || !slices.Equal(train, want.train) || !inPlace {
				t.Errorf("%d rows, every %d-th a copy: %d reference, %d hold-out, %d train rows, want %d, %d, %d", n, copied,
					r.Reference(), r.Holdout(), len(train), len(want.reference), len(want.holdout), len(want.train))
			}
			starts := r.StartRows()
			usable := slices.DeleteFunc(slices.Concat(want.reference, want.train), func(i int64) bool { return i >= 8000 })
			if slices.Sort(starts); !slices.Equal(starts, usable) {
				t.Errorf("%d rows, every %d-th a copy: %d start rows, want the %d early ones", n, copied, len(starts), len(usable))
			}
		}
	}
}
