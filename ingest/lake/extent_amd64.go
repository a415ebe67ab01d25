//go:build !noasm

package lake

import (
	"math"

	"github.com/pacsgp/pacsgp/ingest"
)

// extent is [ingest.Check], four times as fast: every decoded value passes it.
func extent(values []float64) (lo, hi float64, finite bool) {
	whole := len(values) &^ 7
	if whole == 0 {
		return ingest.Check(values)
	}
	lo, hi, nans := extentBlocks(&values[0], whole)
	if rest := values[whole:]; len(rest) > 0 {
		least, most, ok := ingest.Check(rest)
		lo, hi = min(lo, least), max(hi, most)
		if !ok {
			nans++
		}
	}
	if nans != 0 || lo < -math.MaxFloat64 || hi > math.MaxFloat64 {
		return ingest.Check(values) // which leaves the NaN out
	}
	return lo, hi, true
}

// extentBlocks returns the smallest and the largest of the n values at p; n is a
// multiple of 8 above 0. nans is 0 if all are numbers; if not, lo and hi are
// arbitrary.
//
//go:noescape
func extentBlocks(p *float64, n int) (lo, hi float64, nans int)
