package sink

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Model files and certificate rows seal themselves: the value of one key of the footer is the
// SHA-256 of the whole file with zeros instead of that value. Parquet has checksums of pages, not
// of the footer: without the seal one flipped bit made the Parquet library allocate 2 GiB, or gave
// another lengthscale.
const (
	sealKey    = "pacsgp-sha256"
	sealDigits = 2 * sha256.Size
	// sealMark comes before the digits: the key, then the header of the value in Thrift's
	// compact protocol (next field, binary, 64 bytes).
	sealMark = sealKey + "\x18\x40"
)

// seal writes the digest into a file that has zeros instead of it.
func seal(data []byte) error {
	digits, err := findSeal(data)
	if err != nil {
		return err
	}
	copy(digits, sealDigest(data, digits))
	return nil
}

// checkSeal returns an error if the file has changed since it was sealed.
func checkSeal(data []byte) error {
	digits, err := findSeal(data)
	if err != nil {
		return err
	}
	if want := sealDigest(data, digits); string(digits) != want {
		return fmt.Errorf("it is damaged: its checksum is %s, and it says %q", want, digits)
	}
	return nil
}

// findSeal returns the part of data with the digits.
func findSeal(data []byte) ([]byte, error) {
	at := bytes.LastIndex(data, []byte(sealMark))
	if at < 0 || at+len(sealMark)+sealDigits > len(data) {
		return nil, errors.New("its footer has no checksum of the file")
	}
	at += len(sealMark)
	return data[at : at+sealDigits : at+sealDigits], nil
}

// sealDigest returns the digest of data with zeros instead of the digits.
func sealDigest(data, digits []byte) string {
	at := bytes.LastIndex(data, []byte(sealMark)) + len(sealMark)
	h := sha256.New()
	h.Write(data[:at])
	h.Write([]byte(strings.Repeat("0", sealDigits)))
	h.Write(data[at+len(digits):])
	return hex.EncodeToString(h.Sum(nil))
}
