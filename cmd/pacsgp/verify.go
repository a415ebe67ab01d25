package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/report"
)

func verifyCommand(w system) *cobra.Command {
	var v verification
	var job string
	var asJSON, strict bool
	cmd := &cobra.Command{
		Use:   "verify (DIR | MODEL CERTIFICATE) [DATA ...]",
		Short: "Check a certificate against its model and, if given, its rows",
		Long: "Check a certificate. Given only model and certificate, verify checks the arithmetic and the model's " +
			"numbers. Given also the data (files, directories or globs, in the job's order), it computes everything " +
			"again from the rows. CERTIFICATE is the JSON document or the Parquet row: both say the same. An output " +
			"directory DIR means its current model. If the lake has grown since, a manifest next to the certificate " +
			"says which files were used.\n\n" +
			"Exit status 0: what was checked holds, and predictions are certified (with --require draw: a random draw " +
			"from the posterior is). 3: they are not certified, or with --strict, something that could be checked was " +
			"not. 1: the certificate is refused.",
		Args: between(1, 1<<20, "(DIR | MODEL CERTIFICATE) [DATA ...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var rest []string
			var err error
			if v.model, v.certificate, rest, err = config.ArtifactPaths(cmd.Context(), args); err != nil {
				return err
			}
			if v.from, err = dataOf(cmd.Context(), w, rest, job); err != nil {
				return err
			}
			if err := v.together(); err != nil {
				return err
			}
			found, err := v.run(cmd.Context(), w)
			if err == nil && args[0] != v.model { // it is a directory
				err = config.Pointed(args[0], found.Certificate, found.ID)
			}
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(w.stdout, documentOf(found))
			} else {
				err = found.Print(w.paper, w.style)
			}
			if err != nil {
				return err
			}
			return found.Uncertified(strict)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&job, "source", "", "a job file whose source has the rows, instead of DATA;\na topic is replayed as the certificate says")
	cmd.Flags().StringVar(&v.trusted, "trusted", "", config.TrustedKeys)
	cmd.Flags().StringVar(&v.id, "id", "", "demand this `id`, which you know from elsewhere")
	cmd.Flags().StringVar((*string)(&v.required), "require", string(certify.PredictorMean), "which claim the exit status is about:\nprediction or draw")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 3 if something that could be checked was not")
	budgetFlags(cmd, &v.Budget, "for duplicates and pages")
	cmd.Flags().BoolVar(&v.retrain, "retrain", false, "train again without the held-out rows, and compare")
	cmd.Flags().StringVar(&v.parent, "parent", "", "the model that training began with, if there is one")
	return cmd
}

// A verification is the options of verify: which certificate to check, and against which rows.
type verification struct {
	model, certificate string            // paths or addresses
	id                 string            // that the certificate must have; "" means any
	from               config.Origin     // origin of the rows; nil means that none are read
	trusted            string            // public keys; "" means that no signature is required
	required           certify.Predictor // which claim the exit status is about
	retrain            bool
	parent             string // path or address of the model that training began with; "" means none
	config.Budget
}

// together returns an error for options that exclude each other.
func (v *verification) together() error {
	switch {
	case v.required != certify.PredictorMean && v.required != certify.PredictorDraw:
		return config.Argument(fmt.Errorf("--require: %q is neither %s nor %s", v.required, certify.PredictorMean, certify.PredictorDraw))
	case v.retrain && v.from == nil:
		return config.Argument(errors.New("--retrain: name the data to train on"))
	case v.parent != "" && !v.retrain:
		return config.Argument(errors.New("--parent: it is for --retrain"))
	}
	return nil
}

// demanded returns an error if the certificate lacks a required id or signature. Otherwise it
// returns lines about what it has checked.
func (v verification) demanded(ctx context.Context, c certify.Certificate, id string) ([]string, error) {
	if v.id != "" && v.id != id {
		return nil, fmt.Errorf("%w: the certificate has the id %s, not %s", job.ErrRefused, id, v.id)
	}
	if v.trusted == "" {
		return nil, nil
	}
	by, err := config.SignedBy(ctx, v.certificate, id, c, v.trusted)
	return []string{"certificate and model are signed with the trusted key " + by}, err
}

// run checks the certificate and, with retrain, trains again.
func (v verification) run(ctx context.Context, w system) (out *verified, err error) {
	res := v.Resources()
	a, err := config.ReadArtifacts(ctx, v.model, v.certificate)
	if err != nil {
		return nil, err
	}
	signed, err := v.demanded(ctx, a.Certificate, a.ID)
	if err != nil {
		return nil, err
	}
	var open dataset.OpenData
	var lines, warnings []string
	var mismatch error
	if v.from != nil {
		replayed, fault := v.from.Replay(a.Certificate)
		if fault != nil {
			return nil, fault
		}
		defer func() { err = errors.Join(err, replayed.Release(false)) }()
		if v.from, lines, warnings, mismatch, err = config.Sampled(ctx, replayed, v.certificate, a.Certificate, a.ID); err != nil {
			return nil, err
		}
		open = config.OpenData(v.from, res)
	}
	found, err := pipeline.Verify(ctx, a.Certificate, a.Model, a.Digest, open, res)
	if errors.Is(err, job.ErrRefused) && mismatch != nil {
		err = fmt.Errorf("%w; %s", err, strings.TrimPrefix(mismatch.Error(), job.ErrRefused.Error()+": "))
	}
	if err != nil {
		return nil, err
	}
	found.Checked, found.Warnings = slices.Concat(signed, lines, found.Checked), append(warnings, found.Warnings...)
	out = &verified{Certificate: a.Certificate, ID: a.ID, Found: found, Required: v.required}
	if v.retrain {
		err = v.again(ctx, w, out, open, res)
	}
	return out, err
}

func (v verification) again(ctx context.Context, w system, out *verified, open dataset.OpenData, res job.Resources) error {
	show := newDisplay(w)
	defer show.end()
	var parent *pass.Model
	if v.parent != "" {
		began, _, err := config.ReadModel(ctx, v.parent)
		if err != nil {
			return err
		}
		parent = &began
	}
	digestOf := func(m pass.Model) (string, error) {
		data, err := sink.EncodeModel(m)
		return digest.Of(data), err
	}
	err := out.Found.Retrain(ctx, open, digestOf, parent, config.Software(), res, show.observer(nil))
	if errors.Is(err, pipeline.ErrNotRepeatable) {
		out.Unrepeated, err = err, nil
	}
	return err
}

// A verdictDocument is the JSON output of verify.
type verdictDocument struct {
	Verdict     string         `json:"verdict"`
	ID          string         `json:"id"`
	Checked     []string       `json:"checked"`
	NotChecked  []string       `json:"not_checked"` // what could be checked but was not
	Uncheckable []string       `json:"cannot_be_checked"`
	Warnings    []string       `json:"warnings"`
	Claims      []verdictClaim `json:"claims"`
}

type verdictClaim struct {
	ID certify.ClaimID `json:"id"`
	pipeline.Verdict

	Headline string `json:"headline"`
}

func documentOf(v *verified) verdictDocument {
	could, cannot := v.NotChecked()
	d := verdictDocument{
		Verdict: v.Verdict(), ID: v.ID, Checked: append([]string{}, v.Found.Checked...),
		NotChecked: append([]string{}, could...), Uncheckable: append([]string{}, cannot...), Warnings: v.warnings(), Claims: []verdictClaim{},
	}
	for _, g := range v.Certificate.Claims {
		d.Claims = append(d.Claims, verdictClaim{g.ID, pipeline.Verdict{Status: g.Status, Bound: g.Bound}, report.Headline(v.Certificate, g)})
	}
	return d
}

// A verified certificate agrees with its model and, if they were read, with its rows.
type verified struct {
	Certificate certify.Certificate
	ID          string
	Found       *pipeline.Verification
	Required    certify.Predictor // which claim the exit status is about
	Unrepeated  error             // why training could not be repeated; nil if it was, or was not requested
}

// NotChecked lists what was not checked: what another check could check, and what no check can.
func (v *verified) NotChecked() (could, cannot []string) {
	if !v.Found.Evidence {
		could = append(could, "prior, split, baseline and losses are taken as stated: name the rows, as in pacsgp verify out/ lake/")
	}
	for _, a := range v.Found.NotChecked() {
		text, how := report.Assumption(v.Certificate, a)
		switch {
		case a.Checked == certify.CheckVerify: // covered by the line above
		case a.Checked == certify.CheckNone:
			cannot = append(cannot, text)
		case a.Checked == certify.CheckRetraining && v.Unrepeated != nil:
			could = append(could, text+" ("+v.Unrepeated.Error()+")")
		default:
			could = append(could, text+" ("+how+")")
		}
	}
	return could, cannot
}

// claim returns the claim that the exit status is about.
func (v *verified) claim() certify.Claim { return v.Certificate.About(v.Required) }

// Uncertified returns an error if the claim is not certified, or if a requested retraining was
// impossible. If strict is set, it also does so if something that could be checked was not.
func (v *verified) Uncertified(strict bool) error {
	could, _ := v.NotChecked()
	switch g := v.claim(); {
	case v.Unrepeated != nil:
		return pipeline.NotCertified("%s", v.Unrepeated.Error())
	case g.Status != certify.StatusCertified:
		return pipeline.NotCertified("the certificate is correct, but nothing useful is certified about the %s: the claim is %s (hint: %s)", g.Predictor, g.Status, pipeline.Useless(v.Certificate, g))
	case strict && len(could) > 0:
		return pipeline.NotCertified("not checked, though it could be: %s", strings.Join(could, "; "))
	default:
		return nil
	}
}

func (v *verified) warnings() []string {
	return append(report.Warnings(v.Certificate), v.Found.Warnings...)
}

// Verdict returns the result in a word: VERIFIED if the rows were read, otherwise CONSISTENT.
func (v *verified) Verdict() string {
	if v.Found.Evidence {
		return "VERIFIED"
	}
	return "CONSISTENT"
}

// Print prints the checks, what was not checked, and the verdict.
func (v *verified) Print(out io.Writer, style report.Style) error {
	for _, line := range v.Found.Checked {
		report.WriteWrapped(out, "ok   ", line, style)
	}
	could, cannot := v.NotChecked()
	for _, line := range could {
		report.WriteWrapped(out, "--   ", "not checked: "+line, style)
	}
	if len(cannot) > 0 {
		report.WriteWrapped(out, "--   ", "cannot be checked: "+strings.Join(cannot, "; "), style)
	}
	for _, text := range v.warnings() {
		report.WriteWrapped(out, "warning  ", text, style)
	}
	report.WriteWrapped(out, v.Verdict()+"  ", report.Headline(v.Certificate, v.claim()), style)
	_, err := fmt.Fprintf(out, "certificate %s\n", v.ID)
	return err
}
