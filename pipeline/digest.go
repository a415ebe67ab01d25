package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// A Digest is a SHA-256.
type Digest [32]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes a digest as String does.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a digest as Parse does.
func (d *Digest) UnmarshalText(text []byte) error { return d.Parse(string(text)) }

// Parse reads the form of String.
func (d *Digest) Parse(text string) error {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(d) {
		return fmt.Errorf("pipeline: %q is no digest of 64 hexadecimal digits", text)
	}
	copy(d[:], raw)
	return nil
}

// SampleDigest combines the digests of all shards, in order, into that of the sample.
// docs/format.md, section "Sample digest", specifies both. They depend on no names of files
// or columns.
func SampleDigest(shards []Digest) Digest {
	sample := sha256.New()
	sample.Write([]byte("pacsgp/sample/1\x00"))
	sample.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(shards))))
	for _, d := range shards {
		sample.Write(d[:])
	}
	return Digest(sample.Sum(nil))
}

// ShardDigest combines the digests of the used columns of a shard, in order, into that
// of the shard, which begins at the ordinal first.
func ShardDigest(first, rows int64, columns []ColumnDigest) Digest {
	text := []byte("pacsgp/shard/1\x00")
	text = binary.LittleEndian.AppendUint64(text, uint64(first)) //nolint:gosec // not negative
	text = binary.LittleEndian.AppendUint64(text, uint64(rows))  //nolint:gosec // not negative
	text = binary.LittleEndian.AppendUint64(text, uint64(len(columns)))
	for _, c := range columns {
		text = append(text, c[:]...)
	}
	return sha256.Sum256(text)
}

// layoutDigest is a digest of the first ordinals and sizes of shards.
func layoutDigest(shards []Shard) Digest {
	text := []byte("pacsgp/layout/1\x00")
	for _, s := range shards {
		text = binary.LittleEndian.AppendUint64(text, uint64(s.First)) //nolint:gosec // not negative
		text = binary.LittleEndian.AppendUint64(text, uint64(s.Rows))  //nolint:gosec // not negative
	}
	return sha256.Sum256(text)
}
