package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// HandoverFormat names the version of the document.
const HandoverFormat = "pacsgp-handover/4"

// A Handover passes the results of training, beside the model, to the last pass. The last
// pass gets nothing else: it opens the source again, reads the model back, and computes
// everything else anew. As JSON it lets other processes make the pass, in parts. That of a first pass,
// before training, has no results yet: it has job, columns, roles and secret.
type Handover struct {
	Format        string          `json:"format"`
	Arithmetic    string          `json:"arithmetic"`         // of the program; parts have the same
	Configuration json.RawMessage `json:"configuration"`      // of the job
	Model         string          `json:"model"`              // SHA-256 of its bytes; "": of a first pass
	Sample        string          `json:"sample"`             // digest of the rows that training read
	Targets       string          `json:"targets"`            // digest of their targets
	Segments      []Segment       `json:"segments,omitempty"` // their places in a log
	Reference     string          `json:"reference"`          // digest of the reference rows, by which scaling and prior were chosen
	Constant      float64         `json:"constant"`           // of the baseline
	Groups        []float64       `json:"groups,omitempty"`   // values with a group of their own
	Attempt       certify.Attempt `json:"attempt"`

	// Sequence is the certificate's place in a sequence; nil: none.
	Sequence *certify.Sequence `json:"sequence,omitempty"`
	// Looks are the earlier looks at the hold-out rows.
	Looks *certify.Looks `json:"looks,omitempty"`

	// Order has the ordinals of the rows of lowest rank, in their order, which the reference rows are
	// among, and Outside is the number of outside rows: each part looks at the hashes of its own rows
	// alone. Certify finds the roles anew. Without an order the parts do, where rows are left out.
	Order   []int64 `json:"order,omitempty"`
	Outside int64   `json:"outside,omitempty"`

	// Repeats says that rows equal an earlier one, which the job drops: each part looks for them first.
	Repeats bool `json:"repeats,omitempty"`

	// Columns of a first pass are those of the source, and Distinct the indices of those in which copies
	// are equal.
	Columns  []string `json:"columns,omitempty"`
	Distinct []int    `json:"distinct,omitempty"`

	// Secret keys the hashes by which the parts find equal rows. That of a last pass is drawn after
	// Sample has fixed the rows, so that nobody could make rows for it.
	Secret string `json:"secret"`

	// For the run record.
	Training      Training `json:"training"`
	Notices       []string `json:"notices,omitempty"`
	SurveySeconds float64  `json:"survey_seconds"`
	TrainSeconds  float64  `json:"train_seconds"`
}

// ParseHandover reads the JSON form of a Handover.
func ParseHandover(data []byte) (*Handover, error) {
	var h Handover
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&h); err != nil {
		return nil, fmt.Errorf("pipeline: handover: %w", err)
	}
	if h.Format != HandoverFormat {
		return nil, fmt.Errorf("pipeline: handover of format %q, want %s", h.Format, HandoverFormat)
	}
	if err := sameArithmetic("the model was trained", h.Arithmetic); err != nil {
		return nil, fmt.Errorf("pipeline: handover: %w", err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, h.Configuration); err != nil {
		return nil, fmt.Errorf("pipeline: handover: %w", err)
	}
	h.Configuration = compact.Bytes()
	if _, err := h.job(); err != nil {
		return nil, fmt.Errorf("pipeline: handover: %w", err)
	}
	if _, _, err := h.known(); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(h.Distinct, func(c int) bool { return c < 0 || c >= len(h.Columns) }); i >= 0 {
		return nil, fmt.Errorf("pipeline: handover: it has %d columns, and none with the index %d", len(h.Columns), h.Distinct[i])
	}
	return &h, nil
}

// job is the job that was trained for.
func (h *Handover) job() (Job, error) {
	digest := sha256.Sum256(h.Configuration)
	job, err := statedJob(certify.Configuration{Digest: hex.EncodeToString(digest[:]), Values: h.Configuration})
	job.repeats = h.Repeats
	return job.in(h.Sequence), err
}

// Of returns an error unless the handover is that of this job, which has its defaults
// filled in.
func (h *Handover) Of(job Job) error {
	want, err := job.canonical()
	if err != nil {
		return err
	}
	if !bytes.Equal(want, h.Configuration) {
		return fmt.Errorf("%w: the model there was trained for another job than this one: %s", ErrConfig, certify.Contrast(want, h.Configuration, "here", "was there"))
	}
	return nil
}

// known is the part of the pass's subject that comes from training, and the secret of its marks.
func (h *Handover) known() (s subject, hidden secret, err error) {
	s.constant, s.groups = h.Constant, packed(h.Groups)
	err = hidden.parse(h.Secret)
	if !h.First() {
		err = errors.Join(s.model.Parse(h.Model), s.sample.Parse(h.Sample), err)
	}
	return s, hidden, err
}

// Fit is [Run] without the last pass: it trains, stores the model and returns the handover
// for [Handover.Pass] and [Handover.Certify].
func Fit(ctx context.Context, job Job, env Environment) (found *Handover, err error) {
	if job.Unit.given() {
		return nil, fmt.Errorf("%w: unit: the last pass over units is not made in parts", ErrConfig)
	}
	env.Resources = env.Resources.WithDefaults()
	b, err := begin(ctx, job, env)
	if err != nil {
		return nil, err
	}
	return fit(ctx, job, b.src, b.survey, b.attempt, env, b.at)
}

// Pass makes a part of the pass. It opens the source again and reads the model back. Of
// env it uses Open, Sink and Resources. Close the returned pass.
func (h *Handover) Pass(ctx context.Context, part Part, env Environment) (*Pass, error) {
	if err := part.check(); err != nil {
		return nil, err
	}
	p, err := h.Prepare(ctx, env)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Pass(ctx, part)
}

// Certify publishes the certificate that follows from a pass over all rows, whole or merged
// from parts. Of env it uses Sink, Resources, Observer and Software. A pass that lacks rows,
// or belongs to another handover, is an error that wraps [ErrPart].
func (h *Handover) Certify(ctx context.Context, pass *Pass, env Environment) (*Result, error) {
	job, err := h.job()
	if err := errors.Join(err, env.needs("Sink", "Software")); err != nil {
		return nil, err
	}
	if h.First() {
		return nil, ErrUntrained
	}
	env.Resources = env.Resources.WithDefaults()
	if err := errors.Join(h.owns(job, pass), pass.missing()); err != nil {
		return nil, err
	}
	if err := h.sameRoles(ctx, job, pass.of, env.Resources); err != nil {
		return nil, err
	}
	return h.certify(ctx, job, pass, env, time.Now())
}

func (h *Handover) certify(ctx context.Context, job Job, pass *Pass, env Environment, began time.Time) (*Result, error) {
	if err := h.owns(job, pass); err != nil {
		return nil, err
	}
	job.looks = h.Looks
	m, err := env.Sink.GetModel(ctx, h.Model)
	if err != nil {
		return nil, err
	}
	found, err := pass.result(ctx, job, m)
	if err != nil {
		return nil, err
	}
	if found.Sample.Digest != h.Sample || found.Sample.Targets != h.Targets {
		return nil, fmt.Errorf("%w: the last pass read rows with digest %s, training had %s: "+
			"the source was changed meanwhile; run again on a source that does not change", ErrChanged, found.Sample.Digest, h.Sample)
	}
	if found.Referred != h.Reference {
		return nil, fmt.Errorf("%w: the last pass read other reference rows than training had: run again", ErrChanged)
	}
	if found.Constant.Value != h.Constant {
		return nil, fmt.Errorf("%w: the best constant of the baseline is %v, training found %v", ErrChanged, found.Constant.Value, h.Constant)
	}
	if !slices.Equal(found.GroupValues(), h.Groups) {
		return nil, fmt.Errorf("%w: the reference rows give the groups %v, training found %v", ErrChanged, found.GroupValues(), h.Groups)
	}
	found.Sample.Segments = h.Segments
	r := &Result{ModelDigest: h.Model, Model: m, Training: h.Training, Shards: pass.shardDigests(indices(pass.of.columns))}
	r.Diagnostics = Diagnostics{
		Unproven: found.Tallies.Of(certify.PredictorDraw, certify.RoleTrain).Unproven, Instructions: model.InstructionSet(),
		Notices: append([]string{}, h.Notices...), SurveySeconds: h.SurveySeconds, TrainSeconds: h.TrainSeconds,
	}
	word := certify.Declared{
		Software: env.Software, Attempt: h.Attempt,
		Training: certify.Training{Machine: h.Training.Machine, Hurried: int64(h.Training.Hurried), Ancestor: h.Training.Ancestor},
	}
	if r.Certificate, err = derive(job, h.Configuration, m, h.Model, found, word); err != nil {
		return nil, err
	}
	if r.Certificate.Warned(certify.WarnDependence) && !job.Unit.given() {
		env.Observer.notice("near rows are more alike than chance brings about once in 1,000 times: unless the rows were sorted, they depend on each other, and the bound may be too low; roles.holdout: {last: 10 %} holds out rows that are later than all others")
	}
	env.Observer.progress(Progress{Phase: PhasePublish, Elapsed: Seconds(time.Since(began))})
	if r.ID, err = env.Sink.PutCertificate(ctx, r.Certificate); err != nil {
		return nil, err
	}
	r.PlotRows, err = plotRows(job, found.kept, m, env.Resources.Workers)
	r.Diagnostics.Residuals = r.PlotRows.residuals(r.Certificate.Ledger.Reference == 0)
	r.Diagnostics.Residuals.Known = r.Certificate.Mean != nil && r.Certificate.Ledger.Outside == 0
	return r, err
}

// owns returns an error unless the pass belongs to this handover, as far as that is known
// without the rows.
func (h *Handover) owns(job Job, pass *Pass) error {
	known, hidden, err := h.known()
	if err != nil {
		return err
	}
	want := pass.of
	want.model, want.sample, want.constant, want.groups = known.model, known.sample, known.constant, known.groups
	if want.configuration, err = job.Digest(); err != nil {
		return err
	}
	if !job.drops() {
		want.secret = hidden.digest()
	}
	return want.same(pass.of)
}
