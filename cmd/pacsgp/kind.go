package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
)

// modelIn is the model whose bytes were read, with their SHA-256.
func modelIn(path string, data []byte) (pipeline.Model, string, error) {
	m, err := parseModel(data)
	if err != nil {
		return m, "", fmt.Errorf("%s: %w", path, err)
	}
	return m, hexOf(data), nil
}

func parseModel(data []byte) (pipeline.Model, error) {
	switch {
	case isRunRecord(data):
		return pipeline.Model{}, errRunRecord
	case !isParquet(data) && kindOf(data) != "":
		return pipeline.Model{}, fmt.Errorf("it is %s, but no model: want model-….parquet", kindOf(data))
	case json.Valid(data):
		return pipeline.Model{}, errors.New("it is JSON: are MODEL and CERTIFICATE swapped?")
	case sink.IsCertificateRow(data):
		return pipeline.Model{}, errors.New("it is a certificate: are MODEL and CERTIFICATE swapped?")
	case isForeign(data):
		return pipeline.Model{}, errors.New("it is Parquet, but no model: want model-….parquet")
	default:
		return sink.DecodeModel(data)
	}
}

// certificateIn is the certificate whose bytes, of either form, were read, with its id.
func certificateIn(path string, data []byte) (certify.Certificate, string, error) {
	c, err := parseCertificate(data)
	if err != nil {
		return c, "", fmt.Errorf("%s: %w", path, err)
	}
	document, err := certify.Marshal(c)
	if err != nil {
		return c, "", fmt.Errorf("%s: %w", path, err)
	}
	return c, hexOf(document), nil
}

func parseCertificate(data []byte) (certify.Certificate, error) {
	switch {
	case isRunRecord(data):
		return certify.Certificate{}, errRunRecord
	case sink.IsCertificateRow(data):
		return sink.DecodeCertificateRow(data)
	case isParquet(data):
		return certify.Certificate{}, errors.New("it is Parquet, but no certificate: want certificate-….json or certificate-….parquet")
	case kindOf(data) != "":
		return certify.Certificate{}, fmt.Errorf("it is %s, but no certificate: want certificate-….json or certificate-….parquet", kindOf(data))
	default:
		return certify.Parse(data)
	}
}

// errRunRecord says that a run record was given for something else.
var errRunRecord = errors.New("it is a run record, which names the model and the certificate of its run: give one of those")

// isRunRecord reports whether data are a run record of any version.
func isRunRecord(data []byte) bool {
	var r struct {
		Format string `json:"format"`
	}
	return json.Unmarshal(data, &r) == nil && (strings.HasPrefix(r.Format, "pacsgp-run/") || strings.HasPrefix(r.Format, "pacsgp-run-state/"))
}

// kindOf names what lies beside artifacts and is easily taken for one, or is "".
func kindOf(data []byte) string {
	switch text := bytes.TrimSpace(data); {
	case len(text) == 0:
		return "empty"
	case bytes.HasPrefix(data, []byte("\x89PNG")):
		return "a picture (PNG)"
	case bytes.HasPrefix(data, []byte("pacsgp-checkpoint/")):
		return "a checkpoint"
	case bytes.HasPrefix(data, []byte(`{"format":"pacsgp-attempts/`)):
		return "a log of attempts"
	case text[0] != '{' && !isParquet(data) && !bytes.ContainsRune(data, 0) && bytes.Contains(data, []byte(":")):
		return "text, as a job file is" // which train and plan read
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

// isForeign reports whether data are a whole Parquet file without the seal that
// models and certificates have in their footer (docs/format.md).
func isForeign(data []byte) bool {
	return isParquet(data) && bytes.HasSuffix(data, []byte("PAR1")) && !bytes.Contains(data, []byte("pacsgp-sha256"))
}

// hexOf is the SHA-256 of some bytes, in hexadecimal.
func hexOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// digestOf names a list of files.
func digestOf(files []pipeline.ManifestFile) string {
	text, _ := json.Marshal(files) // texts and numbers
	return hexOf(text)
}

func isParquet(data []byte) bool { return bytes.HasPrefix(data, []byte("PAR1")) }
