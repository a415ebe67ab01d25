package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/cmd/program"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
)

func verifyCommand(w system) *cobra.Command {
	var v verification
	var job string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify (DIR | MODEL CERTIFICATE) [DATA ...]",
		Short: "Check a certificate against its model and, if given, its rows",
		Long: "Check a certificate. With model and certificate alone, the arithmetic and the model's\n" +
			"numbers are checked; with the data (files, directories or globs, in the job's order),\n" +
			"everything is computed again from the rows. A certificate is its JSON document or its\n" +
			"Parquet row: both say the same. An output directory DIR stands for what is current in it. A\n" +
			"manifest beside the certificate says which files of the data are the sample, for a lake that\n" +
			"has grown since.\n\n" +
			"What a model was trained on cannot be seen, nor who chose the split. A guarantee from\n" +
			"hold-out rows is therefore its maker's word. --retrain trains again without these rows and\n" +
			"demands the same model.\n\n" +
			"Exit status 0 says that nothing contradicts the certificate and that it certifies something\n" +
			"about the mean; 3 that it certifies nothing about it, but by such a word (--judge draw: about\n" +
			"a draw); 1 that it is refused.",
		Args: between(1, 1<<20, "(DIR | MODEL CERTIFICATE) [DATA ...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := v.read(cmd.Context(), w, args, job)
			if err == nil {
				err = v.together()
			}
			if err != nil {
				return err
			}
			found, err := v.run(cmd.Context(), w)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(w.stdout, documentOf(found))
			} else {
				err = found.Print(w.stdout, w.paper, w.style, true)
			}
			if err != nil {
				return err
			}
			return found.Uncertified()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&job, "source", "", "a job file whose section source says where the rows are, in the place of DATA: a lake, or a\ntopic, from which the segments of the certificate are replayed")
	cmd.Flags().StringVar(&v.Manifest, "manifest", "", "the list of the sample's files among the data (default: the one beside the certificate)")
	cmd.Flags().Var((*program.Trust)(&v.Trusted), "trusted", program.TrustedKeys)
	cmd.Flags().StringVar(&v.ID, "id", "", "the certificate's id, as you know it from elsewhere")
	cmd.Flags().StringVar((*string)(&v.Judge), "judge", string(pipeline.JudgeMean), "which guarantee the exit status speaks of: mean or draw")
	v.flags(cmd)
	cmd.Flags().BoolVar(&v.retrain, "retrain", false, "train again without the hold-out rows, and demand the same model")
	cmd.Flags().StringVar(&v.ancestor, "ancestor", "", "the model that training began with, where the certificate names one")
	return cmd
}

// A verification is a check with what this command adds to it.
type verification struct {
	program.Check
	retrain  bool
	ancestor string // reference of the model that training began with; "": none
	budget
}

// read reads the arguments: artifacts, then data, in whose place a job file may stand.
func (v *verification) read(ctx context.Context, w system, args []string, job string) (err error) {
	if v.Model, v.Certificate, args, err = program.ArtifactPaths(ctx, args); err != nil {
		return err
	}
	v.From, err = dataOf(ctx, w, args, job)
	return err
}

// together refuses options that do not go together.
func (v *verification) together() error {
	switch {
	case v.retrain && v.From == nil:
		return config.Argument(errors.New("--retrain: name the data to train on"))
	case v.ancestor != "" && !v.retrain:
		return config.Argument(errors.New("--ancestor: it is for --retrain"))
	}
	return nil
}

// run checks a certificate.
func (v verification) run(ctx context.Context, w system) (*program.Verified, error) {
	res, err := v.resources()
	if err != nil {
		return nil, err
	}
	v.Resources = res
	return v.Run(ctx, func(found *program.Verified, open pipeline.OpenData) (err error) {
		if v.retrain {
			err = v.again(ctx, w, found, open)
		}
		return err
	})
}

// again repeats the training.
func (v verification) again(ctx context.Context, w system, out *program.Verified, open pipeline.OpenData) error {
	show := newDisplay(w)
	defer show.end()
	var ancestor *pipeline.Model
	if v.ancestor != "" {
		began, _, err := config.ReadModel(ctx, v.ancestor)
		if err != nil {
			return err
		}
		ancestor = &began
	}
	err := out.Found.Retrain(ctx, open, modelDigest, ancestor, program.Software(), v.Resources, show.observer())
	if errors.Is(err, pipeline.ErrNotRepeatable) {
		out.Unrepeated, err = err, nil
	}
	return err
}

// modelDigest is the SHA-256 of a model's file.
func modelDigest(m pipeline.Model) (string, error) {
	data, err := sink.EncodeModel(m)
	return sink.DigestOf(data), err
}

// A verdictDocument is the output of verify --json.
type verdictDocument struct {
	Doubts     []string           `json:"doubts"`
	Verdict    string             `json:"verdict"`
	Evidence   bool               `json:"evidence_rechecked"`
	Retrained  bool               `json:"retrained"`
	NotChecked []string           `json:"not_checked"` // what guarantees and predictive deviations rest on
	ID         string             `json:"id"`
	Checked    []string           `json:"checked"`
	Guarantees []verdictGuarantee `json:"guarantees"`
}

type verdictGuarantee struct {
	ID certify.GuaranteeID `json:"id"`
	pipeline.Verdict
}

func documentOf(v *program.Verified) verdictDocument {
	d := verdictDocument{
		Doubts: append([]string{}, v.Certificate.Doubts()...), Verdict: v.Verdict(), Evidence: v.Found.Evidence,
		Retrained: v.Found.Retrained, NotChecked: append([]string{}, v.NotChecked()...),
		ID: v.ID, Checked: append([]string{}, v.Found.Checked...), Guarantees: []verdictGuarantee{},
	}
	for _, g := range v.Certificate.Guarantees {
		d.Guarantees = append(d.Guarantees, verdictGuarantee{g.ID, pipeline.Verdict{Status: v.Status(g), Bound: g.Bound, Headline: g.Headline}})
	}
	return d
}
