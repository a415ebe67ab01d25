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
// their ordinals. Rows of different shards are no neighbours. Conversions keep
// its operations from being fused, so that every platform finds the same bits.
type neighbours struct {
	last                          float64
	lastShard                     int
	shift, sum, squares, products float64 // the sums are of values less the first one
	rows, pairs                   int64
}

// add takes the next values, which are of one shard.
func (c *neighbours) add(shard int, values []float64) {
	for i, y := range values {
		if c.rows == 0 {
			c.shift, c.lastShard = y, -1
		}
		y -= c.shift
		if i > 0 || shard == c.lastShard {
			c.products += float64(y * c.last)
			c.pairs++
		}
		c.sum += y
		c.squares += float64(y * y)
		c.rows++
		c.last, c.lastShard = y, shard
	}
}

func (c *neighbours) found() Neighbours {
	mean := c.sum / float64(c.rows)
	variance := c.squares/float64(c.rows) - float64(mean*mean)
	if c.pairs == 0 || !(0 < variance && variance <= math.MaxFloat64) {
		return Neighbours{Pairs: c.pairs}
	}
	r := (c.products/float64(c.pairs) - float64(mean*mean)) / variance
	return Neighbours{c.pairs, max(-1, min(1, r))}
}

// dependence is the finding as it stands in a certificate.
func (n Neighbours) dependence() certify.Dependence {
	return certify.NewDependence(n.Pairs, n.Correlation)
}
