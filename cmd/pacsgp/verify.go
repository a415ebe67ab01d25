package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/report"
)

func verifyCommand(w world) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use:   "verify MODEL CERTIFICATE [DATA ...]",
		Short: "Check a certificate against its model and, if given, its rows",
		Long: "Check a certificate. With model and certificate alone, the arithmetic and the model's\n" +
			"numbers are checked; with the data (files, directories or globs, in the job's order),\n" +
			"everything is computed again from the rows. A certificate is its JSON document or its\n" +
			"Parquet row: both say the same.",
		Args: between(2, 1<<20, "MODEL CERTIFICATE [DATA ...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return verify(cmd.Context(), w, args[0], args[1], id, args[2:], true)
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "the certificate's id, as you know it from elsewhere")
	return cmd
}

// verify checks a certificate and prints what was found in order, and, if asked
// for, what the certificate says.
func verify(ctx context.Context, w world, modelPath, certificatePath, id string, data []string, statement bool) error {
	m, digest, err := readModel(modelPath)
	if err != nil {
		return err
	}
	c, got, err := readCertificate(certificatePath)
	if err != nil {
		return err
	}
	if id != "" && id != got {
		return fmt.Errorf("%w: the certificate has the id %s, not %s", pipeline.ErrRefused, got, id)
	}
	var open pipeline.OpenData
	if len(data) > 0 {
		open = func(ctx context.Context, features, exclude []string, target string) (pipeline.Source, error) {
			return ingestlake.Open(ctx, ingestlake.Config{Paths: data, Features: features, Exclude: exclude, Target: target, Decoders: runtime.GOMAXPROCS(0)})
		}
	}
	v, err := pipeline.Verify(ctx, c, m, digest, open, runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	for _, line := range v.Checked {
		_, _ = fmt.Fprintln(w.stdout, "ok:", line)
	}
	verdict := "arithmetic consistent, evidence not rechecked: give the data to check everything"
	if v.Evidence {
		verdict = "verified: the certificate follows from the model and these rows"
	}
	_, _ = fmt.Fprintf(w.stdout, "%s\nid %s\n", verdict, got)
	if !statement {
		return nil
	}
	report.WriteHeadlines(w.stdout, c, w.style)
	for _, g := range c.Guarantees {
		if _, err := fmt.Fprintf(w.stdout, "\n%s, %s: %s\n%s\n", g.ID, g.Predictor, g.Status, g.Statement); err != nil {
			return err
		}
	}
	return report.WriteDeclared(w.stdout, c, w.style)
}

// readModel reads a model file and returns the SHA-256 of its bytes with it.
func readModel(path string) (pipeline.Model, string, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the user names the file
	if err != nil {
		return pipeline.Model{}, "", err
	}
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
	data, err := os.ReadFile(path) //nolint:gosec // the user names the file
	if err != nil {
		return certify.Certificate{}, "", err
	}
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

// isForeign reports whether data are a whole Parquet file without the seal that
// models and certificates have in their footer (docs/format.md).
func isForeign(data []byte) bool {
	return isParquet(data) && bytes.HasSuffix(data, []byte("PAR1")) && !bytes.Contains(data, []byte("pacsgp-sha256"))
}

func isParquet(data []byte) bool { return bytes.HasPrefix(data, []byte("PAR1")) }
