//go:build !noasm

package lake

import "github.com/pacsgp/pacsgp/ingest"

// extent is [ingest.Check] in assembly: it sees every decoded value.
func extent(values []float64) (lo, hi float64, finite bool) {
	whole := len(values) &^ 7
	if whole == 0 {
		return ingest.Check(values)
	}
	lo, hi, nans := extentOfBlocks(&values[0], whole)
	finite = nans == 0
	if rest := values[whole:]; len(rest) > 0 {
		least, most, ok := ingest.Check(rest)
		lo, hi, finite = min(lo, least), max(hi, most), finite && ok
	}
	if !finite || lo < -ingest.MaxMagnitude || hi > ingest.MaxMagnitude {
		return ingest.Check(values) // which leaves the NaN out
	}
	return lo, hi, true
}

// extentOfBlocks returns the smallest and the largest of n float64; n is a multiple
// of 8 above 0. nans is 0 if all are numbers; if not, lo and hi are arbitrary.
//
//go:noescape
func extentOfBlocks(values *float64, n int) (lo, hi float64, nans int)
