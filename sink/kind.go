package sink

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// ModelIn decodes a model and returns it with the SHA-256 of its bytes. path names them in errors.
func ModelIn(path string, data []byte) (pass.Model, string, error) {
	m, err := parseModel(data)
	if err != nil {
		return m, "", fmt.Errorf("%s: %w", path, err)
	}
	return m, DigestOf(data), nil
}

func parseModel(data []byte) (pass.Model, error) {
	if json.Valid(data) || IsCertificateRow(data) {
		return pass.Model{}, errors.New("it is no model, but may be a certificate: are MODEL and CERTIFICATE swapped?")
	}
	return DecodeModel(data)
}

// CertificateIn decodes a certificate, JSON or a row of Parquet, and returns it with its id. path
// names the bytes in errors.
func CertificateIn(path string, data []byte) (certify.Certificate, string, error) {
	c, err := parseCertificate(data)
	if err != nil {
		return c, "", fmt.Errorf("%s: %w", path, err)
	}
	document, err := certify.Marshal(c)
	if err != nil {
		return c, "", fmt.Errorf("%s: %w", path, err)
	}
	return c, DigestOf(document), nil
}

func parseCertificate(data []byte) (certify.Certificate, error) {
	switch {
	case IsCertificateRow(data):
		return DecodeCertificateRow(data)
	case isParquet(data) || !json.Valid(data):
		return certify.Certificate{}, errors.New("it is no certificate: want certificate-….json or certificate-….parquet, whole")
	default:
		return certify.Parse(data)
	}
}

// IsModel reports whether data can be a model, and is no certificate.
func IsModel(data []byte) bool { return isParquet(data) && !IsCertificateRow(data) }

// DigestOf returns the SHA-256 of data, in hexadecimal.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func isParquet(data []byte) bool { return bytes.HasPrefix(data, []byte("PAR1")) }
