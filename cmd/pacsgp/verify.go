package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/sign"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/cmd/program"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/report"
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
			"demands the same model; pacsgp audit trains under a key of yours.\n\n" +
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
			if err == nil && v.key != nil {
				err = v.countersign(w, found)
			}
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(w.stdout, found.document())
			} else {
				err = found.print(w, true)
			}
			if err != nil {
				return err
			}
			return found.uncertified()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&job, "source", "", "a job file whose section source says where the rows are, in the place of DATA: a lake, or a\ntopic, from which the segments of the certificate are replayed")
	cmd.Flags().StringVar(&v.manifest, "manifest", "", "the list of the sample's files among the data (default: the one beside the certificate)")
	cmd.Flags().Var((*trust)(&v.trusted), "trusted", trustedKeys)
	cmd.Flags().StringVar((*string)(&v.sign), "sign", "", "a private key: sign the certificate if nothing contradicts it")
	cmd.Flags().StringVar(&v.id, "id", "", "the certificate's id, as you know it from elsewhere")
	cmd.Flags().StringVar((*string)(&v.judge), "judge", string(pipeline.JudgeMean), "which guarantee the exit status speaks of: mean or draw")
	v.flags(cmd)
	cmd.Flags().BoolVar(&v.retrain, "retrain", false, "train again without the hold-out rows, and demand the same model")
	cmd.Flags().StringVar(&v.ancestor, "ancestor", "", "the model that training began with, where the certificate names one")
	return cmd
}

// trustedKeys is what the flag --trusted means.
const trustedKeys = "public keys, a file or a folder of some: demand a signature by one of them"

// trust is the value of the flag --trusted. A variable of a script that is not set would trust anybody.
type trust string

func (t *trust) String() string { return string(*t) }
func (*trust) Type() string     { return "string" }

func (t *trust) Set(path string) error {
	if path == "" {
		return errors.New("want public keys; leave the flag out to demand no signature")
	}
	*t = trust(path)
	return nil
}

// A verification says what to check, and against which rows.
type verification struct {
	model, certificate, id string
	manifest               string        // "": the one beside the certificate, if there is one
	from                   config.Origin // nil: no rows are read
	trusted                string        // public keys; "": a signature is not asked for
	sign                   sign.KeyFile  // of a further signature; "": none
	key                    *sign.Key
	retrain                bool
	audit                  func(context.Context, *pipeline.Verification, pipeline.OpenData, pipeline.Resources) error // nil: none
	ancestor               string                                                                                     // reference of the model that training began with; "": none
	judge                  pipeline.Judge                                                                             // which guarantee the exit status speaks of
	budget
}

// read reads the arguments: artifacts, then data, in whose place a job file may stand.
func (v *verification) read(ctx context.Context, w system, args []string, job string) (err error) {
	if v.model, v.certificate, args, err = artifactPaths(ctx, args); err != nil {
		return err
	}
	if v.key, err = v.sign.Read(); err != nil {
		return config.Argument(fmt.Errorf("--sign: %w", err))
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
	case v.key != nil && v.from == nil:
		return config.Argument(errors.New("--sign: name the data to check before it is signed"))
	case v.ancestor != "" && !v.retrain:
		return config.Argument(errors.New("--ancestor: it is for --retrain"))
	}
	return nil
}

// demanded refuses a certificate with another id or without a signature, where they are demanded,
// and says which trusted key has signed it.
func (v *verification) demanded(ctx context.Context, c certify.Certificate, id string) ([]string, error) {
	if v.id != "" && v.id != id {
		return nil, fmt.Errorf("%w: the certificate has the id %s, not %s", pipeline.ErrRefused, id, v.id)
	}
	if v.trusted == "" {
		return nil, nil
	}
	by, err := config.SignedBy(ctx, v.certificate, id, c, v.trusted)
	return []string{"certificate and model are signed with the trusted key " + by}, err
}

// A verified certificate does not contradict its model nor, where they were read
// again, its rows.
type verified struct {
	certificate certify.Certificate
	id          string
	found       *pipeline.Verification
	judge       pipeline.Judge
	unrepeated  error  // why training could not be repeated with --retrain
	unplaced    string // what the data, but not the certificate, say of their place in a topic; or ""
}

// foreseen opens data and refuses them, before it reads a row, if the check needs too much.
func (v verification) foreseen(w system, open config.Opening, c certify.Certificate, m pipeline.Model, res pipeline.Resources) pipeline.OpenData {
	met := false // the data are opened several times
	return func(ctx context.Context, want pipeline.Choice) (pipeline.Source, error) {
		src, err := open(ctx, want)
		if err != nil || met {
			return src, err
		}
		sample, err := pipeline.SampleOf(ctx, src, res.Workers)
		if err != nil {
			return nil, err
		}
		need, instead := needs{sample.Reader, pipeline.CheckMemory(c, m, sample, res), pipeline.CheckSpill(c, res)}, lessHere
		if v.retrain || v.audit != nil || c.Model.ByRule {
			need.memory = max(need.memory, pipeline.RetrainMemory(c, sample, res))
		}
		if v.retrain {
			instead += ", or leave out --retrain"
		}
		met = true
		return src, need.met(w, res.Memory, instead)
	}
}

// run checks a certificate.
func (v verification) run(ctx context.Context, w system) (out *verified, err error) {
	res, err := v.resources()
	if err != nil {
		return nil, err
	}
	m, digest, err := config.ReadModel(ctx, v.model)
	if err != nil {
		return nil, err
	}
	c, got, err := config.ReadCertificate(ctx, v.certificate)
	if err != nil {
		return nil, err
	}
	signed, err := v.demanded(ctx, c, got)
	if err != nil {
		return nil, err
	}
	if err := (needs{memory: pipeline.CheckMemory(c, m, pipeline.Sample{}, res)}).met(w, res.Memory, ""); err != nil {
		return nil, err
	}
	var open pipeline.OpenData
	var lines []string
	var doubt error
	if v.from != nil {
		if v.from, err = v.from.Replay(c); err != nil {
			return nil, err
		}
		replayed := v.from
		defer func() { err = errors.Join(err, replayed.Release(false)) }()
		if v.from, lines, doubt, err = config.Sampled(ctx, replayed, v.manifest, v.certificate, c, got); err != nil {
			return nil, err
		}
		open = v.foreseen(w, config.OpenData(v.from, res), c, m, res)
	}
	found, err := pipeline.Verify(ctx, c, m, digest, open, res)
	if errors.Is(err, pipeline.ErrRefused) && doubt != nil {
		err = fmt.Errorf("%w; %w", err, doubt)
	}
	if err != nil {
		return nil, err
	}
	found.Checked = slices.Concat(signed, lines, found.Checked)
	out = &verified{certificate: found.Certificate(), id: got, found: found, judge: cmp.Or(v.judge, pipeline.JudgeMean)}
	if v.from != nil {
		checked, open, err := config.CheckPlaces(ctx, v.from, c.Sample.Segments, res)
		if err != nil {
			return nil, err
		}
		if out.unplaced = open; checked != "" {
			found.Checked = append(found.Checked, checked)
		}
	}
	if v.retrain {
		err = v.again(ctx, w, out, open, res)
	}
	if v.audit != nil {
		err = v.audit(ctx, found, open, res)
	}
	return out, err
}

// countersign adds a signature to a checked certificate.
func (v verification) countersign(w system, of *verified) error {
	path, err := config.Sign(w.fs, v.certificate, of.id, of.certificate, v.key)
	of.found.Checked = append(of.found.Checked, "signed: "+path)
	return err
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
	err := out.found.Retrain(ctx, open, modelDigest, ancestor, program.Software(), res, show.observer())
	if errors.Is(err, pipeline.ErrNotRepeatable) {
		out.unrepeated, err = err, nil
	}
	return err
}

// modelDigest is the SHA-256 of a model's file.
func modelDigest(m pipeline.Model) (string, error) {
	data, err := sink.EncodeModel(m)
	return sink.DigestOf(data), err
}

// byWord reports whether only the maker's word certifies something about the mean of Q.
func (v *verified) byWord() bool {
	mean := v.certificate.About(certify.PredictorMean)
	return mean.Status != certify.StatusCertified && len(v.certificate.Conditional()) > 0
}

// conditional reports whether a guarantee rests on the maker's word about hold-out rows.
func (v *verified) conditional() bool {
	return slices.ContainsFunc(v.certificate.Conditional(), func(g certify.Guarantee) bool { return g.Role == certify.RoleHoldout })
}

// notChecked lists the unchecked premises of the guarantees.
func (v *verified) notChecked() []string {
	open := v.found.NotChecked()
	if v.unrepeated != nil && v.conditional() {
		open[0] += ": " + v.unrepeated.Error()
	}
	if v.unplaced != "" {
		open = append(open, v.unplaced)
	}
	return open
}

// said is the guarantee for the judged predictor.
func (v *verified) said() certify.Guarantee {
	return v.certificate.About(v.judge.Predictor())
}

// uncertified is an error unless all that was asked for was done, and the guarantee for the
// judged predictor is certified by what was checked.
func (v *verified) uncertified() error {
	said := v.said()
	switch {
	case v.unrepeated != nil:
		return pipeline.NotCertified("%s", v.unrepeated.Error())
	case said.Status == certify.StatusCertified && !v.found.Evidence:
		return pipeline.NotCertified("nothing is certified without the rows: how often the model missed is its maker's word. Give the data to check it")
	case said.Status == certify.StatusCertified:
		return nil
	case v.judge != pipeline.JudgeDraw && v.byWord():
		return pipeline.NotCertified("nothing is certified about the mean of Q by what was checked: its guarantee rests on its maker's word (NOT CHECKED)%s", v.advice())
	default:
		return pipeline.NotCertified("the certificate is what it says, and certifies nothing about the %s: its guarantee is %s", said.Predictor, said.Status)
	}
}

// advice says how to check the maker's word about hold-out rows.
func (v *verified) advice() string {
	if v.certificate.Mean != nil {
		return ". No command shows how a column was made, and --retrain no more than that training here did not see the hold-out rows"
	}
	if v.certificate.Declared.Training.Ancestor != nil {
		return ". Training began with the model of an earlier certificate: what that has seen is not checked by training this one again"
	}
	if v.found.Retrained {
		return ". pacsgp audit checks the first of these, under a key of yours; only rows that come later show the second"
	}
	return ". Give the data and --retrain to check the first of these; pacsgp audit checks the second"
}

// verdict is the result in a line.
func (v *verified) verdict() string {
	switch {
	case !v.found.Evidence:
		return "arithmetic consistent, evidence not rechecked: give the data to check everything"
	case v.judge != pipeline.JudgeDraw && v.byWord() && v.found.Retrained:
		return "by the maker's word: the certificate follows from the model and these rows, and the model from training again; that says nothing of who chose the hold-out rows"
	case v.judge != pipeline.JudgeDraw && v.byWord():
		return "by the maker's word: the certificate follows from the model and these rows, if the model was trained as it says"
	case v.said().Status != certify.StatusCertified:
		return fmt.Sprintf("nothing is certified about the %s: so says the certificate, which follows from the model and these rows", v.said().Predictor)
	}
	text := "verified: the certificate follows from the model and these rows"
	if len(v.certificate.Sample.Segments) > 0 && !v.found.Log {
		text = "verified, but for the topic that its sentences name: the certificate follows from the model and these rows"
	}
	if v.found.Retrained {
		text += ", and the model from training again"
	}
	return text
}

// print prints the checks, the verdict and, with statement, the certificate.
func (v *verified) print(w system, statement bool) error {
	c := v.certificate
	for _, line := range v.found.Checked {
		report.WriteWrapped(w.stdout, "ok: ", line, w.style)
	}
	for _, line := range v.notChecked() {
		report.WriteWrapped(w.stdout, "NOT CHECKED: ", line, w.style)
	}
	report.WriteWrapped(w.stdout, "", v.verdict(), w.style)
	if _, err := fmt.Fprintf(w.stdout, "id %s\n", v.id); err != nil || !statement {
		return err
	}
	who := report.Anybody
	if !v.found.Evidence {
		who = report.Unread
	}
	report.WriteHeadlines(w.paper, c, w.style, who)
	if split := c.Split(); split != "" {
		report.WriteWrapped(w.stdout, "", split, w.style)
	}
	if v.found.Retrained && v.conditional() && c.Declared.Training.Ancestor == nil {
		report.WriteWrapped(w.stdout, "", "Training did not see the hold-out rows: trained again here without them, the model is the same to the last byte.", w.style)
	}
	for _, g := range c.Guarantees {
		report.WriteWrapped(w.stdout, "", fmt.Sprintf("\n%s, %s: %s", g.ID, g.Predictor, v.status(g)), w.style)
		report.WriteWrapped(w.stdout, "  ", g.Statement, w.style) // no name starts a line of its own
	}
	return report.WriteDeclared(w.paper, c, w.style, v.found.Retrained)
}

// status is the status of a guarantee after these checks.
func (v *verified) status(g certify.Guarantee) certify.Status {
	if g.Status.Promises() && !v.found.Evidence {
		return report.Claimed
	}
	return g.Status
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

func (v *verified) document() verdictDocument {
	d := verdictDocument{
		Doubts: append([]string{}, v.certificate.Doubts()...), Verdict: v.verdict(), Evidence: v.found.Evidence,
		Retrained: v.found.Retrained, NotChecked: append([]string{}, v.notChecked()...),
		ID: v.id, Checked: append([]string{}, v.found.Checked...), Guarantees: []verdictGuarantee{},
	}
	for _, g := range v.certificate.Guarantees {
		d.Guarantees = append(d.Guarantees, verdictGuarantee{g.ID, pipeline.Verdict{Status: v.status(g), Bound: g.Bound, Headline: g.Headline}})
	}
	return d
}
