//go:build !amd64 || noasm

package lake

import "github.com/pacsgp/pacsgp/ingest"

// extent is [ingest.Check].
func extent(values []float64) (lo, hi float64, finite bool) { return ingest.Check(values) }
