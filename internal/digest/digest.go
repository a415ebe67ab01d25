// Package digest returns SHA-256 digests of bytes and values, in hexadecimal.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Is reports whether text has the form of a digest.
func Is(text string) bool {
	return len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}

// Of returns the digest of data.
func Of(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// OfValues returns the digest of the values' JSON. It panics for values that have no JSON.
func OfValues(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic("digest: " + err.Error())
	}
	return Of(text)
}
