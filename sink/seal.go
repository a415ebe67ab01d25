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

// findSeal returns the part of data with the digits, and the digest of data with zeros instead of them.
func findSeal(data []byte) (digits []byte, digest string, err error) {
	at := bytes.LastIndex(data, []byte(sealMark)) + len(sealMark)
	if at < len(sealMark) || at+sealDigits > len(data) {
		return nil, "", errors.New("its footer has no checksum of the file")
	}
	h := sha256.New()
	h.Write(data[:at])
	h.Write([]byte(strings.Repeat("0", sealDigits)))
	h.Write(data[at+sealDigits:])
	return data[at : at+sealDigits : at+sealDigits], hex.EncodeToString(h.Sum(nil)), nil
}
