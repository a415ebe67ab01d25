package ingest

import (
	"crypto/sha256"
	"encoding/binary"
)

// Label is the number of a text that tells units apart: the first 53 bits of
// SHA-256("pacsgp/label/1" 0x00 ‖ text). Texts of one number are one label.
func Label(text []byte) float64 {
	sum := sha256.Sum256(append([]byte("pacsgp/label/1\x00"), text...))
	return float64(binary.BigEndian.Uint64(sum[:8]) >> 11)
}
