package job

import (
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
