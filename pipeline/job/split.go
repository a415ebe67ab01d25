package job

import (
	"fmt"

	"github.com/pacsgp/pacsgp/internal/words"
)

// MaxPrior is the largest number of prior rows.
const MaxPrior = 20_000

// PriorCount returns the number of prior rows among n rows:
// min(20000, max(⌊n/20⌋, min(200, ⌊n/10⌋))). docs/reference/formats.md, section "Split".
func PriorCount(n int64) int64 {
	return min(MaxPrior, max(n/20, min(200, n/10)))
}

// PriorRows returns how many of n rows the job has as prior rows.
func (j Job) PriorRows(n int64) int64 {
	if j.Scaling == ScalingNone {
		return 0
	}
	return PriorCount(n)
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
