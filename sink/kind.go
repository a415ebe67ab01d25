package sink

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
	switch {
	case isRunRecord(data):
		return pass.Model{}, errRunRecord
	case !isParquet(data) && KindOf(data) != "":
		return pass.Model{}, fmt.Errorf("it is %s, but no model: want model-….parquet", KindOf(data))
	case json.Valid(data):
		return pass.Model{}, errors.New("it is JSON: are MODEL and CERTIFICATE swapped?")
	case IsCertificateRow(data):
		return pass.Model{}, errors.New("it is a certificate: are MODEL and CERTIFICATE swapped?")
	case isForeign(data):
		return pass.Model{}, errors.New("it is Parquet, but no model: want model-….parquet")
	default:
		return DecodeModel(data)
	}
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
	case isRunRecord(data):
		return certify.Certificate{}, errRunRecord
	case IsCertificateRow(data):
		return DecodeCertificateRow(data)
	case isParquet(data):
		return certify.Certificate{}, errors.New("it is Parquet, but no certificate: want certificate-….json or certificate-….parquet")
	case KindOf(data) != "":
		return certify.Certificate{}, fmt.Errorf("it is %s, but no certificate: want certificate-….json or certificate-….parquet", KindOf(data))
	default:
		return certify.Parse(data)
	}
}

var errRunRecord = errors.New("it is a run record, which names the model and the certificate of its run: give one of those")

// isRunRecord reports whether data are a run record of any version.
func isRunRecord(data []byte) bool {
	var r struct {
		Format string `json:"format"`
	}
	return json.Unmarshal(data, &r) == nil && (strings.HasPrefix(r.Format, "pacsgp-run/") || strings.HasPrefix(r.Format, "pacsgp-run-state/"))
}

// KindOf names the kind of a file that lies beside artifacts and is easily mistaken for one, or is
// "".
func KindOf(data []byte) string {
	switch text := bytes.TrimSpace(data); {
	case len(text) == 0:
		return "empty"
	case isForeign(data) && !IsCertificateRow(data):
		return "Parquet, but neither model nor certificate"
	case bytes.HasPrefix(data, []byte("\x89PNG")):
		return "a picture (PNG)"
	case bytes.HasPrefix(data, []byte("pacsgp-checkpoint/")):
		return "a checkpoint"
	case bytes.HasPrefix(data, []byte(`{"format":"pacsgp-log/`)):
		return "the log of an output"
	case text[0] != '{' && !isParquet(data) && !bytes.ContainsRune(data, 0) && bytes.Contains(data, []byte(":")):
		return "text, as a job file is"
	case bytes.Contains(data[:min(len(data), 100)], []byte(`"pacsgp-manifest/`)):
		return "a manifest, which lists the files of a sample"
	case bytes.Contains(data[:min(len(data), 100)], []byte(`"pacsgp-current/`)):
		return "a pointer, which names model and certificate"
	case bytes.Contains(data[:min(len(data), 100)], []byte(`"pacsgp-sequences/`)):
		return "the list of a schedule's numbers"
	default:
		return ""
	}
}

// IsModel reports whether data can be a model, and is no certificate.
func IsModel(data []byte) bool { return isParquet(data) && !IsCertificateRow(data) }

// isForeign reports whether data are a whole Parquet file without the seal of models and
// certificates (docs/reference/formats.md).
func isForeign(data []byte) bool {
	return isParquet(data) && bytes.HasSuffix(data, []byte("PAR1")) && !bytes.Contains(data, []byte("pacsgp-sha256"))
}

// DigestOf returns the SHA-256 of data, in hexadecimal.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func isParquet(data []byte) bool { return bytes.HasPrefix(data, []byte("PAR1")) }
