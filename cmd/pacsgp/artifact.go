package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// maxCertificate bounds a certificate, in either form. One about 1,000 columns has
// some 200 KB.
const maxCertificate = 16 << 20

// readArtifact returns the bytes of a file that may be a certificate or a model: at
// most as many as a certificate can have, or as a model's own footer says.
func readArtifact(path string) ([]byte, error) {
	f, size, err := openSized(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if size > maxCertificate {
		if err := sink.CheckModelSize(f, size); err != nil {
			return nil, fmt.Errorf("%s: it has %d bytes, more than a certificate (%d MiB), and is no model: %w", path, size, maxCertificate>>20, err)
		}
	}
	return readSized(f, path, size)
}

// readSmall returns the bytes of a file that cannot have more than limit of them.
func readSmall(path, what string, limit int64) ([]byte, error) {
	f, size, err := openSized(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if size > limit {
		return nil, fmt.Errorf("%s: it is longer than %s can be (%d KiB); is it one?", path, what, limit>>10)
	}
	return readSized(f, path, size)
}

// openSized opens a regular file without waiting for it.
func openSized(path string) (*os.File, int64, error) {
	f, err := sinklake.OpenRegular(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// readSized reads a file that has this size, and no more of one that grows.
func readSized(f *os.File, path string, size int64) ([]byte, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%s: it has changed while it was read: %w", path, err)
	}
	return data, nil
}

// readModel reads a model file and returns the SHA-256 of its bytes with it.
func readModel(path string) (pipeline.Model, string, error) {
	data, err := readArtifact(path)
	if err != nil {
		return pipeline.Model{}, "", err
	}
	return modelIn(path, data)
}

func modelIn(path string, data []byte) (pipeline.Model, string, error) {
	m, err := parseModel(data)
	if err != nil {
		return m, "", fmt.Errorf("%s: %w", path, err)
	}
	sum := sha256.Sum256(data)
	return m, hex.EncodeToString(sum[:]), nil
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

// readCertificate reads a certificate, its JSON document or its Parquet row, and
// returns its id with it: the SHA-256 of the document.
func readCertificate(path string) (certify.Certificate, string, error) {
	data, err := readSmall(path, "a certificate", maxCertificate)
	if err != nil {
		return certify.Certificate{}, "", err
	}
	return certificateIn(path, data)
}

func certificateIn(path string, data []byte) (certify.Certificate, string, error) {
	c, err := parseCertificate(data)
	if err != nil {
		return c, "", fmt.Errorf("%s: %w", path, err)
	}
	document, err := certify.Marshal(c)
	if err != nil {
		return c, "", fmt.Errorf("%s: %w", path, err)
	}
	sum := sha256.Sum256(document)
	return c, hex.EncodeToString(sum[:]), nil
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
	return json.Unmarshal(data, &r) == nil && strings.HasPrefix(r.Format, "pacsgp-run/")
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
	default:
		return ""
	}
}

// isForeign reports whether data are a whole Parquet file without the seal that
// models and certificates have in their footer (docs/format.md).
func isForeign(data []byte) bool {
	return isParquet(data) && bytes.HasSuffix(data, []byte("PAR1")) && !bytes.Contains(data, []byte("pacsgp-sha256"))
}

func isParquet(data []byte) bool { return bytes.HasPrefix(data, []byte("PAR1")) }
