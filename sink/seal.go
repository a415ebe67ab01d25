package sink

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Model files and certificate rows are sealed: one key of the footer has the SHA-256 of the whole file, computed with
// zeros instead of that value. Parquet has checksums of pages, but none of the footer: without the seal, one flipped
// bit made the Parquet library allocate 2 GiB, or changed a lengthscale.
const (
	sealKey    = "pacsgp-sha256"
	sealDigits = 2 * sha256.Size
	// sealMark comes before the digits: the key, and the header of its value in Thrift's compact
	// protocol (next field, binary, 64 bytes).
	sealMark = sealKey + "\x18\x40"
)

// seal replaces the zeros of a file's seal by its digest.
func seal(data []byte) error {
	digits, digest, err := findSeal(data)
	copy(digits, digest)
	return err
}

// checkSeal returns an error if the file has changed since it was sealed.
func checkSeal(data []byte) error {
	digits, digest, err := findSeal(data)
	if err == nil && string(digits) != digest {
		err = fmt.Errorf("it is damaged: its checksum is %s, and it says %q", digest, digits)
	}
	return err
}

// findSeal returns the digits of the seal, as a part of data, and the digest that they should be.
func findSeal(data []byte) (digits []byte, digest string, err error) {
	at := bytes.LastIndex(data, []byte(sealMark)) + len(sealMark)
	if at < len(sealMark) || at+sealDigits > len(data) {
		return nil, "", errors.New("its footer has no checksum of the file: is it a file of rows?")
	}
	h := sha256.New()
	h.Write(data[:at])
	h.Write([]byte(strings.Repeat("0", sealDigits)))
	h.Write(data[at+sealDigits:])
	return data[at : at+sealDigits : at+sealDigits], hex.EncodeToString(h.Sum(nil)), nil
}
