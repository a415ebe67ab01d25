package dataset

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// SampleDigest combines the digests of all shards, in order, into that of the sample.
// docs/reference/formats.md, section "Sample digest", specifies both. They depend on no names of files
// or columns.
func SampleDigest(shards []job.Digest) job.Digest {
	sample := sha256.New()
	sample.Write([]byte("pacsgp/sample/1\x00"))
	sample.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(shards))))
	for _, d := range shards {
		sample.Write(d[:])
	}
	return job.Digest(sample.Sum(nil))
}

// ShardDigest combines the digests of the used columns of a shard, in order, into that
// of the shard, which begins at the ordinal first.
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

// LayoutDigest is a digest of the first ordinals and sizes of shards.
func LayoutDigest(shards []Shard) job.Digest {
	text := []byte("pacsgp/layout/1\x00")
	for _, s := range shards {
		text = binary.LittleEndian.AppendUint64(text, uint64(s.First)) //nolint:gosec // not negative
		text = binary.LittleEndian.AppendUint64(text, uint64(s.Rows))  //nolint:gosec // not negative
	}
	return sha256.Sum256(text)
}
