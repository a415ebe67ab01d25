package ingest

import (
	"crypto/sha256"
	"hash"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// A Digester computes a [dataset.ColumnDigest] from a column's values. The digest does not depend
// on how the values are divided among calls.
type Digester struct{ h hash.Hash }

// NewDigester returns a digester without values.
func NewDigester() *Digester { return &Digester{h: sha256.New()} }

// Add digests further values.
func (d *Digester) Add(values []float64) {
	_, _ = d.h.Write(arrow.Float64Traits.CastToBytes(values)) // a hash never returns an error
}

// Sum returns the digest of the values so far.
func (d *Digester) Sum() dataset.ColumnDigest {
	var sum dataset.ColumnDigest
	d.h.Sum(sum[:0])
	return sum
}
