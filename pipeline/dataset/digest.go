package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// SampleDigest returns the digest of a sample from the digests of its shards, in order. Digests do not depend on the
// names of files or columns (docs/reference/formats.md, section "Sample digest").
func SampleDigest(shards []job.Digest) job.Digest {
	sample := sha256.New()
	sample.Write([]byte("pacsgp/sample/1\x00"))
	sample.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(shards))))
	for _, d := range shards {
		sample.Write(d[:])
	}
	return job.Digest(sample.Sum(nil))
}

// ShardDigest returns the digest of a shard from the digests of its used columns, in order. first is the ordinal of
// the shard's first row.
func ShardDigest(first, rows int64, columns []ColumnDigest) job.Digest {
	text := []byte("pacsgp/shard/1\x00")
	text = binary.LittleEndian.AppendUint64(text, uint64(first)) //nolint:gosec // not negative
	text = binary.LittleEndian.AppendUint64(text, uint64(rows))  //nolint:gosec // not negative
	text = binary.LittleEndian.AppendUint64(text, uint64(len(columns)))
	for _, c := range columns {
		text = append(text, c[:]...)
	}
	return sha256.Sum256(text)
}

// AppendNumbers appends the bits of numbers to a text, little endian. A [ColumnDigest] is over such a text.
func AppendNumbers(text []byte, numbers []float64) []byte {
	for _, v := range numbers {
		text = binary.LittleEndian.AppendUint64(text, math.Float64bits(v))
	}
	return text
}

// LayoutDigest returns a digest of the first ordinals and the numbers of rows of shards.
func LayoutDigest(shards []Shard) job.Digest {
	text := []byte("pacsgp/layout/1\x00")
	for _, s := range shards {
		text = binary.LittleEndian.AppendUint64(text, uint64(s.First)) //nolint:gosec // not negative
		text = binary.LittleEndian.AppendUint64(text, uint64(s.Rows))  //nolint:gosec // not negative
	}
	return sha256.Sum256(text)
}
