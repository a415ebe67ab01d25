package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

func verifyCommand(w world) *cobra.Command {
	var id, job string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify MODEL CERTIFICATE [DATA ...]",
		Short: "Check a certificate against its model and, if given, its rows",
		Long: "Check a certificate. With model and certificate alone, the arithmetic and the model's\n" +
			"numbers are checked; with the data (files, directories or globs, in the job's order),\n" +
			"everything is computed again from the rows. A certificate is its JSON document or its\n" +
			"Parquet row: both say the same.",
		Args: between(2, 1<<20, "MODEL CERTIFICATE [DATA ...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := dataOf(cmd.Context(), w, args[2:], job)
			if err != nil {
				return err
			}
			v, err := verify(cmd.Context(), args[0], args[1], id, from)
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(w.stdout, v.document())
			default:
				return v.print(w, true)
			}
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&job, "source", "", "a job file whose section source says where the rows are, in the place of DATA: a lake, or a\ntopic, from which the segments of the certificate are replayed")
	cmd.Flags().StringVar(&id, "id", "", "the certificate's id, as you know it from elsewhere")
	return cmd
}

// A verified certificate does not contradict its model nor, where they were read
// again, its rows.
type verified struct {
	certificate certify.Certificate
	id          string
	found       *pipeline.Verification
}

// verify checks a certificate, against rows if from is not nil.
func verify(ctx context.Context, modelPath, certificatePath, id string, from origin) (found *verified, err error) {
	m, digest, err := readModel(ctx, modelPath)
	if err != nil {
		return nil, err
	}
	c, got, err := readCertificate(ctx, certificatePath)
	if err != nil {
		return nil, err
	}
	if id != "" && id != got {
		return nil, fmt.Errorf("%w: the certificate has the id %s, not %s", pipeline.ErrRefused, got, id)
	}
	var open pipeline.OpenData
	if from != nil {
		if from, err = from.replay(c); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, from.release(false)) }()
		open = openData(from, runtime.GOMAXPROCS(0))
	}
	v, err := pipeline.Verify(ctx, c, m, digest, open, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	return &verified{c, got, v}, nil
}

// verdict says in a line what was found.
func (v *verified) verdict() string {
	if v.found.Evidence {
		return "verified: the certificate follows from the model and these rows"
	}
	return "arithmetic consistent, evidence not rechecked: give the data to check everything"
}

// print says what was checked and, if asked for, what the certificate says.
func (v *verified) print(w world, statement bool) error {
	c := v.certificate
	for _, line := range v.found.Checked {
		report.WriteWrapped(w.stdout, "ok: ", line, w.style)
	}
	report.WriteWrapped(w.stdout, "", v.verdict(), w.style)
	if _, err := fmt.Fprintf(w.stdout, "id %s\n", v.id); err != nil || !statement {
		return err
	}
	report.WriteHeadlines(w.paper, c, w.style)
	for _, g := range c.Guarantees {
		report.WriteWrapped(w.stdout, "", fmt.Sprintf("\n%s, %s: %s", g.ID, g.Predictor, g.Status), w.style)
		report.WriteWrapped(w.stdout, "  ", g.Statement, w.style) // no name starts a line of its own
	}
	return report.WriteDeclared(w.paper, c, w.style)
}

// A verdictDocument is what verify prints for machines.
type verdictDocument struct {
	Doubts     []string           `json:"doubts"`
	Verdict    string             `json:"verdict"`
	Evidence   bool               `json:"evidence_rechecked"`
	ID         string             `json:"id"`
	Checked    []string           `json:"checked"`
	Guarantees []verdictGuarantee `json:"guarantees"`
}

type verdictGuarantee struct {
	ID string `json:"id"`
	verdictRecord
}

func (v *verified) document() verdictDocument {
	d := verdictDocument{
		Doubts: append([]string{}, report.Doubts(v.certificate)...), Verdict: v.verdict(), Evidence: v.found.Evidence,
		ID: v.id, Checked: append([]string{}, v.found.Checked...), Guarantees: []verdictGuarantee{},
	}
	for _, g := range v.certificate.Guarantees {
		d.Guarantees = append(d.Guarantees, verdictGuarantee{g.ID, verdictRecord{g.Status, g.Bound, g.Headline}})
	}
	return d
}
