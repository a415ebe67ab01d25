package job

import (
	"fmt"

	"github.com/pacsgp/pacsgp/internal/words"
)

// MaxReference is the largest number of prior rows.
const MaxReference = 20_000

// ReferenceCount returns the number of prior rows among n rows:
// min(20000, max(⌊n/20⌋, min(200, ⌊n/10⌋))). docs/reference/formats.md, section "Split".
func ReferenceCount(n int64) int64 {
	return min(MaxReference, max(n/20, min(200, n/10)))
}

// References returns how many of n rows the job has as prior rows.
func (j Job) References(n int64) int64 {
	if j.Scaling == ScalingNone {
		return 0
	}
	return ReferenceCount(n)
}

// SplitFits returns an error if the split of n rows needs more memory than res has.
func (j Job) SplitFits(n int64, res Resources) error {
	need := int64(0)
	for _, share := range []float64{j.Split.Holdout, j.Split.Outside} {
		if share > 0 {
			need += n / 8
		}
	}
	if need <= max(res.Memory, 1<<26) {
		return nil
	}
	return fmt.Errorf("%w: held-out rows take a bit a row, %d MiB for %s, and the job has %d MiB: give more memory, or leave out the method holdout",
		ErrData, need>>20, words.Count(n, "row"), res.Memory>>20)
}

// FiltersRows reports whether all rows must be read before the split is known.
func (j Job) FiltersRows() bool {
	return j.Drops() || j.Rejected.Some() || j.Unit.Given()
}
