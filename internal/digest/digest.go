// Package digest returns SHA-256 digests of bytes and values, in hexadecimal.
package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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

const seal = `,"sha256":"`

// Seal adds to a JSON object that is not empty a last member, sha256, with the digest of the object without it.
func Seal(object []byte) []byte {
	members := bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(object), []byte("}")))
	return []byte(string(members) + seal + Of([]byte(string(members)+"}")) + "\"}\n")
}

// Unseal returns the object that was sealed, or an error if it was changed. Text without a seal is returned as it is:
// older programs wrote none.
func Unseal(text []byte) ([]byte, error) {
	sealed := bytes.TrimSpace(text)
	at := len(sealed) - len(seal) - 2*sha256.Size - len(`"}`)
	if at < 0 || !bytes.HasPrefix(sealed[at:], []byte(seal)) {
		return text, nil
	}
	object := append(bytes.Clone(sealed[:at]), '}')
	if string(Seal(object)) != string(sealed)+"\n" {
		return nil, errors.New("it was changed: its checksum is that of another text")
	}
	return object, nil
}
