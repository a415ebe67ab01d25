//go:build !amd64 || noasm

package lake

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/ingest"
)

// extent is [ingest.Check].
func extent(values []float64) (lo, hi float64, finite bool) { return ingest.Check(values) }

// copyExtent decodes len(dst) doubles in PLAIN encoding from src and returns their extent.
func copyExtent(dst []float64, src []byte) (lo, hi float64, finite bool) {
	copy(arrow.Float64Traits.CastToBytes(dst), src)
	return extent(dst)
}
