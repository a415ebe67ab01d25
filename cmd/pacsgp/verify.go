package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
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
