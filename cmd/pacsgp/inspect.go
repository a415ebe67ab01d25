package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/report"
)

func inspectCommand(w system) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect FILE | DIR",
		Short: "Print a certificate, for people or as JSON, or a model as JSON",
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
		return printJSON(w.stdout, struct {
			Digest string         `json:"digest"`
			KL     float64        `json:"kl"`
			Meta   pass.ModelMeta `json:"model"`
		}{digest, m.Posterior.KL(), m.Meta})
	}
	c, id, err := sink.CertificateIn(path, data)
	if err != nil {
		return err
	}
	newDisplay(w).warnings(config.Alarms(path, id, c))
	if err := config.OutputIn(objects.Dir(path), nil).CheckCertificate(ctx, c, c.Model.Digest); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if asJSON {
		doc, err := certify.Marshal(c)
		if err == nil {
			_, err = w.stdout.Write(doc)
		}
		return err
	}
	err = report.WriteCertificate(w.paper, c, w.style)
	if err == nil {
		_, err = fmt.Fprintln(w.stdout, "\nnext       pacsgp verify (inspect reads no rows, and no model of another folder)")
	}
	return err
}
