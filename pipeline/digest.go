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

// parse reads what String writes.
func (d *Digest) parse(text string) error {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(d) {
		return fmt.Errorf("pipeline: %q is no digest of 64 hexadecimal digits", text)
	}
	copy(d[:], raw)
	return nil
}

// sampleDigest combines the column digests of all shards, restricted to the
// used columns, into the digest of the sample. docs/format.md, section
// "Sample digest", specifies it. No names of files or columns enter.
func sampleDigest(shards []*shardPass, used []int) Digest {
	sample := sha256.New()
	sample.Write([]byte("pacsgp/sample/1\x00"))
	sample.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(shards))))
	for _, shard := range shards {
		h := sha256.New()
		h.Write([]byte("pacsgp/shard/1\x00"))
		head := binary.LittleEndian.AppendUint64(nil, uint64(shard.first)) //nolint:gosec // not negative
		head = binary.LittleEndian.AppendUint64(head, uint64(shard.rows))  //nolint:gosec // not negative
		head = binary.LittleEndian.AppendUint64(head, uint64(len(used)))
		h.Write(head)
		for _, c := range used {
			h.Write(shard.columns[c][:])
		}
		sample.Write(h.Sum(nil))
	}
	return Digest(sample.Sum(nil))
}

// layoutDigest is that of where shards begin and end.
func layoutDigest(shards []Shard) Digest {
	text := []byte("pacsgp/layout/1\x00")
	for _, s := range shards {
		text = binary.LittleEndian.AppendUint64(text, uint64(s.First)) //nolint:gosec // not negative
		text = binary.LittleEndian.AppendUint64(text, uint64(s.Rows))  //nolint:gosec // not negative
	}
	return sha256.Sum256(text)
}
