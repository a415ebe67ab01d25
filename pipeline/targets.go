package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// A multiset adds up a hash of each of a number of values. The sum knows no
// order, so that neither the order of rows, nor files, row groups, workers or
// the features that are read beside the target change it: under it attempts on
// the same rows are counted. docs/format.md, section "Digest of the targets",
// specifies it.
//
// Who looks for two multisets of one sum may find some: the sum of hashes is
// weaker than a hash. That would only make a count larger; the rows that a
// certificate speaks of are named by the sample digest.
type multiset struct {
	count uint64
	sum   [4]uint64 // modulo 2²⁵⁶, least significant first
}

// targetPrefix keeps hashes of values apart from all others.
const targetPrefix = "pacsgp/target/1\x00"

// add adds values, none of them NaN. -0 is 0.
func (m *multiset) add(values []float64) {
	var text [len(targetPrefix) + 8]byte
	copy(text[:], targetPrefix)
	for _, v := range values {
		if v == 0 {
			v = 0 // not -0
		}
		binary.LittleEndian.PutUint64(text[len(targetPrefix):], math.Float64bits(v))
		h := sha256.Sum256(text[:])
		m.merge(multiset{1, [4]uint64{
			binary.LittleEndian.Uint64(h[0:]), binary.LittleEndian.Uint64(h[8:]),
			binary.LittleEndian.Uint64(h[16:]), binary.LittleEndian.Uint64(h[24:]),
		}})
	}
}

func (m *multiset) merge(other multiset) {
	m.count += other.count
	var carry uint64
	for i := range m.sum {
		m.sum[i], carry = bits.Add64(m.sum[i], other.sum[i], carry)
	}
}

func (m *multiset) digest() Digest {
	text := binary.LittleEndian.AppendUint64([]byte("pacsgp/targets/1\x00"), m.count)
	for _, x := range m.sum {
		text = binary.LittleEndian.AppendUint64(text, x)
	}
	return sha256.Sum256(text)
}

// A counted source adds up its last column while its shards are read, in the
// goroutines that decode them. A shard that is read twice counts once.
type counted struct {
	Source
	mu      sync.Mutex
	targets map[int]multiset // by shard
}

// Open starts to read a shard.
func (c *counted) Open(ctx context.Context, i int) (Batches, error) {
	b, err := c.Source.Open(ctx, i)
	if err != nil {
		return nil, err
	}
	return &countedBatches{Batches: b, of: c, shard: i}, nil
}

// digest is that of all shards that were read to their end.
func (c *counted) digest() Digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all multiset
	for _, m := range c.targets {
		all.merge(m)
	}
	return all.digest()
}

type countedBatches struct {
	Batches
	of      *counted
	shard   int
	targets multiset
}

// Next adds the batch that it passes on.
func (b *countedBatches) Next(ctx context.Context) (arrow.Record, error) {
	record, err := b.Batches.Next(ctx)
	if err != nil {
		return nil, err
	}
	last := int(record.NumCols()) - 1
	switch column := record.Column(last).(type) {
	case *array.Float64:
		b.targets.add(column.Float64Values())
	default: // a source that breaks its contract must not pass for data
		record.Release()
		return nil, fmt.Errorf("pipeline: column %q of a batch is %s, want float64", record.ColumnName(last), column.DataType())
	}
	return record, nil
}

// Close hands the shard's sum over.
func (b *countedBatches) Close() error {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	if b.of.targets == nil {
		b.of.targets = map[int]multiset{}
	}
	b.of.targets[b.shard] = b.targets
	return b.Batches.Close()
}
