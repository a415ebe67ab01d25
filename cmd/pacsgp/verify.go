package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
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
	cmd.Flags().Var((*config.Trust)(&v.trusted), "trusted", config.TrustedKeys)
	cmd.Flags().StringVar(&v.id, "id", "", "the certificate's id, as you know it from elsewhere")
	cmd.Flags().StringVar((*string)(&v.judge), "judge", string(pipeline.JudgeMean), "which guarantee the exit status speaks of: mean or draw")
	v.flags(cmd)
	cmd.Flags().BoolVar(&v.retrain, "retrain", false, "train again without the hold-out rows, and demand the same model")
	cmd.Flags().StringVar(&v.ancestor, "ancestor", "", "the model that training began with, where the certificate names one")
	return cmd
}

// A verification says which certificate to check, and against which rows.
type verification struct {
	model, certificate string         // their references
	id                 string         // that the certificate must have; "": any
	from               config.Origin  // nil: no rows are read
	trusted            string         // public keys; "": a signature is not asked for
	judge              pipeline.Judge // which guarantee the exit status speaks of
	retrain            bool
	ancestor           string // reference of the model that training began with; "": none
	budget
}

// read reads the arguments: artifacts, then data, in whose place a job file may stand.
func (v *verification) read(ctx context.Context, w system, args []string, job string) (err error) {
	if v.model, v.certificate, args, err = config.ArtifactPaths(ctx, args); err != nil {
		return err
	}
	v.from, err = dataOf(ctx, w, args, job)
	return err
}

// together refuses options that do not go together.
func (v *verification) together() error {
	switch {
	case v.judge != pipeline.JudgeMean && v.judge != pipeline.JudgeDraw:
		return config.Argument(fmt.Errorf("--judge: %q is neither %s nor %s", v.judge, pipeline.JudgeMean, pipeline.JudgeDraw))
	case v.retrain && v.from == nil:
		return config.Argument(errors.New("--retrain: name the data to train on"))
	case v.ancestor != "" && !v.retrain:
		return config.Argument(errors.New("--ancestor: it is for --retrain"))
	}
	return nil
}

// demanded refuses a certificate with another id or without a signature, where they are demanded,
// and says which trusted key has signed it.
func (v verification) demanded(ctx context.Context, c certify.Certificate, id string) ([]string, error) {
	if v.id != "" && v.id != id {
		return nil, fmt.Errorf("%w: the certificate has the id %s, not %s", pipeline.ErrRefused, id, v.id)
	}
	if v.trusted == "" {
		return nil, nil
	}
	by, err := config.SignedBy(ctx, v.certificate, id, c, v.trusted)
	return []string{"certificate and model are signed with the trusted key " + by}, err
}

// run checks the certificate, and trains again where that is asked for.
func (v verification) run(ctx context.Context, w system) (out *verified, err error) {
	res, err := v.resources()
	if err != nil {
		return nil, err
	}
	m, digest, err := config.ReadModel(ctx, v.model)
	if err != nil {
		return nil, err
	}
	c, id, err := config.ReadCertificate(ctx, v.certificate)
	if err != nil {
		return nil, err
	}
	signed, err := v.demanded(ctx, c, id)
	if err != nil {
		return nil, err
	}
	var open pipeline.OpenData
	var lines []string
	var doubt error
	if v.from != nil {
		replayed, fault := v.from.Replay(c)
		if fault != nil {
			return nil, fault
		}
		defer func() { err = errors.Join(err, replayed.Release(false)) }()
		if v.from, lines, doubt, err = config.Sampled(ctx, replayed, v.certificate, c, id); err != nil {
			return nil, err
		}
		open = config.OpenData(v.from, res)
	}
	found, err := pipeline.Verify(ctx, c, m, digest, open, res)
	if errors.Is(err, pipeline.ErrRefused) && doubt != nil {
		err = fmt.Errorf("%w; %w", err, doubt)
	}
	if err != nil {
		return nil, err
	}
	found.Checked = slices.Concat(signed, lines, found.Checked)
	out = &verified{Certificate: found.Certificate(), ID: id, Found: found, Judge: v.judge}
	if v.from != nil {
		checked, unplaced, err := config.CheckPlaces(ctx, v.from, c.Sample.Segments, res)
		if err != nil {
			return nil, err
		}
		if out.unplaced = unplaced; checked != "" {
			found.Checked = append(found.Checked, checked)
		}
	}
	if v.retrain {
		err = v.again(ctx, w, out, open, res)
	}
	return out, err
}

// again repeats the training.
func (v verification) again(ctx context.Context, w system, out *verified, open pipeline.OpenData, res pipeline.Resources) error {
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
	err := out.Found.Retrain(ctx, open, modelDigest, ancestor, config.Software(), res, show.observer())
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

func documentOf(v *verified) verdictDocument {
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
