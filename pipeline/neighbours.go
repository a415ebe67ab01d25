package pipeline

import (
	"math"

	"github.com/pacsgp/pacsgp/certify"
)

// Neighbours measures how alike the targets of consecutive rows are: the
// diagnostic for the assumption of independent rows. It proves nothing, for a
// sorted lake of independent rows looks dependent too.
type Neighbours struct {
	Pairs       int64   `json:"pairs"`
	Correlation float64 `json:"correlation"` // of the targets of neighbouring rows, in [-1, 1]
}

// neighbours is the fold that finds [Neighbours], over values in the order of
// their ordinals, whatever shards they lie in: who cuts a lake into small row
// groups hides nothing. Conversions keep its operations from being fused, so that
// every platform finds the same bits.
type neighbours struct {
	last                          float64
	shift, sum, squares, products float64 // the sums are of values less the first one
	rows                          int64
}

// add takes the next values.
func (c *neighbours) add(values []float64) {
	for _, y := range values {
		if c.rows == 0 {
			c.shift = y
		}
		y -= c.shift
		c.products += float64(y * c.last) // the first y is 0
		c.sum += y
		c.squares += float64(y * y)
		c.rows++
		c.last = y
	}
}

func (c *neighbours) found() Neighbours {
	mean := c.sum / float64(c.rows)
	variance := c.squares/float64(c.rows) - float64(mean*mean)
	pairs := max(0, c.rows-1)
	if pairs == 0 || !(0 < variance && variance <= math.MaxFloat64) {
		return Neighbours{Pairs: pairs}
	}
	r := (c.products/float64(pairs) - float64(mean*mean)) / variance
	return Neighbours{pairs, max(-1, min(1, r))}
}

// dependence is the finding as it stands in a certificate.
func (n Neighbours) dependence() certify.Dependence {
	return certify.NewDependence(n.Pairs, n.Correlation)
}
