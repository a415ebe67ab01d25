//go:build !noasm

package lake

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/ingest"
)

// extent is [ingest.Check] in assembly: it sees every decoded value.
func extent(values []float64) (lo, hi float64, finite bool) {
	return copyExtent(values, arrow.Float64Traits.CastToBytes(values))
}

// copyExtent decodes len(dst) doubles in PLAIN encoding, of bytes at any alignment, and returns
// their extent, which costs no more than the copy.
func copyExtent(dst []float64, src []byte) (lo, hi float64, finite bool) {
	src = src[:8*len(dst)]
	whole := len(dst) &^ 7
	rest := dst[whole:]
	copy(arrow.Float64Traits.CastToBytes(rest), src[8*whole:])
	if whole == 0 {
		return ingest.Check(rest)
	}
	lo, hi, nans := copyBlocks(&dst[0], &src[0], whole)
	finite = nans == 0
	if len(rest) > 0 {
		least, most, ok := ingest.Check(rest)
		lo, hi, finite = min(lo, least), max(hi, most), finite && ok
	}
	if !finite || lo < -ingest.MaxMagnitude || hi > ingest.MaxMagnitude {
		return ingest.Check(dst) // which leaves the NaN out
	}
	return lo, hi, true
}

// copyBlocks copies n float64 and returns the smallest and the largest of them; n
// is a multiple of 8 above 0. nans is 0 if all are numbers; if not, lo and hi are
// arbitrary. dst and src may be the same.
//
//go:noescape
func copyBlocks(dst *float64, src *byte, n int) (lo, hi float64, nans int)
