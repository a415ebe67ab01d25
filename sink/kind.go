package sink

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// ModelIn decodes a model file and also returns the SHA-256 of data. Errors begin with path.
func ModelIn(path string, data []byte) (m pass.Model, sum string, err error) {
	if json.Valid(data) || IsCertificateRow(data) {
		err = errors.New("it is no model, but may be a certificate: are MODEL and CERTIFICATE swapped?")
	} else {
		m, err = DecodeModel(data)
	}
	if err != nil {
		return m, "", fmt.Errorf("%s: %w", path, err)
	}
	return m, digest.Of(data), nil
}

// CertificateIn decodes a certificate, as JSON or as a row of Parquet, and also returns its id: the
// SHA-256 of its canonical JSON. Errors begin with path.
func CertificateIn(path string, data []byte) (c certify.Certificate, id string, err error) {
	switch {
	case IsCertificateRow(data):
		c, err = DecodeCertificateRow(data)
	case isParquet(data) || !json.Valid(data):
		err = errors.New("it is no certificate: want certificate-….json or certificate-….parquet, whole")
	default:
		c, err = certify.Parse(data)
	}
	var document []byte
	if err == nil {
		document, err = certify.Marshal(c)
	}
	if id = digest.Of(document); err == nil && idInName.MatchString(path) && !strings.Contains(path, "certificate-"+id) {
		err = fmt.Errorf("the certificate in it has the id %s, and is another one than its name says", id)
	}
	if err != nil {
		return c, "", fmt.Errorf("%s: %w", path, err)
	}
	return c, id, nil
}

// idInName is the end of the path of a published certificate.
var idInName = regexp.MustCompile(`(^|/)certificate-[0-9a-f]{64}\.(json|parquet)$`)

// IsModel reports whether data is Parquet and not a certificate row. It does not decode data.
func IsModel(data []byte) bool { return isParquet(data) && !IsCertificateRow(data) }

func isParquet(data []byte) bool { return bytes.HasPrefix(data, []byte("PAR1")) }
