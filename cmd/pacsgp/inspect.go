package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/report"
)

func inspectCommand(w system) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect FILE | DIR",
		Short: "Print a model or a certificate, for people or as JSON",
		Args:  between(1, 1, "FILE: a model (.parquet) or a certificate (.json, or its row as .parquet), or an output directory DIR for the certificate that is current in it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, current, _, err := config.CurrentPaths(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return inspect(cmd.Context(), w, cmp.Or(current, args[0]), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func inspect(ctx context.Context, w system, path string, asJSON bool) error {
	data, err := config.ReadArtifact(ctx, path)
	if err != nil {
		return err
	}
	if sink.IsModel(data) {
		m, digest, err := sink.ModelIn(path, data)
		if err != nil {
			return err
		}
		return inspectModel(w, m, digest, asJSON)
	}
	c, id, err := sink.CertificateIn(path, data)
	if err != nil {
		return err
	}
	for _, text := range config.Alarms(path, id) {
		newDisplay(w).warning(text)
	}
	return inspectCertificate(w, path, c, asJSON)
}

// inspectCertificate prints a certificate, if its numbers follow from its evidence.
func inspectCertificate(w system, path string, c certify.Certificate, asJSON bool) error {
	if err := certify.Recompute(c); err != nil {
		return fmt.Errorf("%s: %w: %w", path, job.ErrRefused, err)
	}
	if !asJSON {
		if err := report.WriteCertificate(w.paper, c, w.style); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w.stdout, "\nnext       pacsgp verify (inspect compares the certificate only with itself)")
		return err
	}
	doc, err := certify.Marshal(c)
	if err != nil {
		return err
	}
	_, err = w.stdout.Write(doc)
	return err
}

func inspectModel(w system, m pass.Model, digest string, asJSON bool) error {
	if asJSON {
		return printJSON(w.stdout, struct {
			Digest string         `json:"digest"`
			KL     float64        `json:"kl"`
			Meta   pass.ModelMeta `json:"model"`
		}{digest, m.Posterior.KL(), m.Meta})
	}
	meta, centre := m.Meta, fmt.Sprintf("%.6g", m.Meta.Target.Centre)
	if meta.Mean != "" {
		centre = strconv.Quote(meta.Mean)
	}
	_, _ = fmt.Fprintf(w.stdout, "Model %s\n  SHA-256   %s\n  kernel    %s, signal standard deviation %.4g %s\n  inducing  %d points, jitter %.3g\n  KL        %.2f\n  target    %q = %s + %.6g · f\n  loss      %s\n\n",
		meta.Format, digest, meta.Kernel, math.Sqrt(meta.Variance)*meta.Target.Scale, "in the target's units", meta.Inducing, meta.Jitter,
		m.Posterior.KL(), meta.Target.Name, centre, meta.Target.Scale, lossWords(meta.Loss))
	table := tabwriter.NewWriter(w.stdout, 2, 4, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "feature\tcentre\tscale\tlengthscale (raw units)\tin scaled units\t")
	at := 0
	for i, width := range meta.Encode.Widths(meta.Features) {
		f, l := meta.Features[i], meta.Lengthscales[at]
		if of := meta.Encode.Of(f.Name); of != nil && !of.Scaled {
			_, _ = fmt.Fprintf(table, "%q\t%s\t\t\t%.4g\t\n", f.Name, of, l)
		} else {
			_, _ = fmt.Fprintf(table, "%q\t%.6g\t%.6g\t%.4g\t%.4g\t\n", f.Name, f.Centre, f.Scale, l*f.Scale, l)
		}
		at += width
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, e := range meta.Encode {
		if e.Fill != nil {
			_, _ = fmt.Fprintf(w.stdout, "missing values of %q count as %v%s\n", e.Column, *e.Fill.With, map[bool]string{true: ", and have a flag"}[e.Fill.Flag])
		}
	}
	return nil
}

func lossWords(l certify.Loss) string {
	switch l.Kind.Tolerances() {
	case certify.TwoSided:
		return fmt.Sprintf("%s, from %g below to %g above the target", l.Kind, l.Below, l.Above)
	case certify.OneTolerance:
		return fmt.Sprintf("%s, tolerance %g", l.Kind, l.Epsilon)
	case certify.ShareTolerance:
		return fmt.Sprintf("%s, tolerance %s", l.Kind, words.PercentDeclared(l.Epsilon))
	case certify.NoTolerance:
	}
	return string(l.Kind)
}
