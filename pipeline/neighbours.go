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

// neighbours are sums over the targets of consecutive rows of one shard, from which
// [together] finds [Neighbours]. Conversions keep their operations from being fused, so
// that every platform finds the same bits.
type neighbours struct {
	rows                   int64
	first, last            float64 // values
	sum, squares, products float64 // of values less the first one
}

// add takes the next values.
func (c *neighbours) add(values []float64) {
	if len(values) == 0 {
		return
	}
	if c.rows == 0 {
		c.first, c.last = values[0], values[0]
	}
	before := c.last - c.first
	for _, y := range values {
		y -= c.first
		c.products += float64(y * before) // the first y is 0
		c.sum += y
		c.squares += float64(y * y)
		before = y
	}
	c.rows += int64(len(values))
	c.last = values[len(values)-1]
}

// together adds up shards in their order, with the pairs at their borders: who cuts
// a lake into small row groups hides nothing. Each shard's sums are moved to values
// less the first value of all. docs/format.md, section 7, specifies it.
func together(shards []neighbours) Neighbours {
	var all neighbours
	for _, s := range shards {
		if s.rows == 0 {
			continue
		}
		if all.rows == 0 {
			all = s
			continue
		}
		n, d := float64(s.rows), s.first-all.first
		border := float64(d * (all.last - all.first))
		ends := float64(2*s.sum) - (s.last - s.first) // of pairs: each value but the last, and each but the first
		all.products += border
		all.products += (s.products + float64(d*ends)) + float64(float64((n-1)*d)*d)
		all.sum += s.sum + float64(n*d)
		all.squares += (s.squares + float64(float64(2*d)*s.sum)) + float64(float64(n*d)*d)
		all.rows, all.last = all.rows+s.rows, s.last
	}
	return all.found()
}

func (c *neighbours) found() Neighbours {
	mean := c.sum / float64(c.rows)
	variance := c.squares/float64(c.rows) - float64(mean*mean)
	pairs := max(0, c.rows-1)
	if pairs == 0 || !(0 < variance && variance <= math.MaxFloat64) {
		return Neighbours{Pairs: pairs}
	}
	r := (c.products/float64(pairs) - float64(mean*mean)) / variance
	if math.IsNaN(r) {
		return Neighbours{Pairs: pairs}
	}
	return Neighbours{pairs, max(-1, min(1, r))}
}

// dependence is the finding as it stands in a certificate.
func (n Neighbours) dependence() certify.Dependence {
	return certify.NewDependence(n.Pairs, n.Correlation)
}
