// Package digest identifies bytes and values by their SHA-256, in hexadecimal.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Of is the digest of bytes.
func Of(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// OfValues is the digest of values by their JSON, which they must have: two things must never have one name.
func OfValues(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic("digest: " + err.Error())
	}
	return Of(text)
}
