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

// References is how many of n rows are prior rows in a job.
func (j Job) References(n int64) int64 {
	if j.Scaling == ScalingNone {
		return 0
	}
	return ReferenceCount(n)
}

// SplitFits returns an error unless memory has room for the split of n rows.
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

// FiltersRows reports whether the split is known only after a reading of all rows.
func (j Job) FiltersRows() bool {
	return j.Drops() || j.Rejected.Some() || j.Unit.Given()
}
