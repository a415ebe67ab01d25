package pass

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// TrainingStateFormat names the version of the document.
const TrainingStateFormat = "pacsgp-training-state/4"

// A TrainingState holds the results of training that the last pass needs, except the model. The last pass gets nothing
// else: it opens the source again, reads the model back, and computes everything else again. In its JSON form it lets
// other processes make the pass in parts. Before training, the state of a first pass has only job, columns, split and
// secret.
type TrainingState struct {
	Format        string            `json:"format"`
	Arithmetic    string            `json:"arithmetic"`         // of the program; all parts must have the same
	Configuration json.RawMessage   `json:"configuration"`      // of the job
	Model         string            `json:"model"`              // SHA-256 of the model's bytes; "" for a first pass
	Sample        string            `json:"dataset"`            // digest of the rows that training read
	Targets       string            `json:"targets"`            // digest of their targets
	Segments      []dataset.Segment `json:"segments,omitempty"` // their positions in a log
	Prior         string            `json:"prior"`              // digest of the prior rows, by which scaling and prior were chosen
	Constant      float64           `json:"constant"`           // of the baseline
	Groups        []float64         `json:"groups,omitempty"`   // values with a group of their own
	Attempt       certify.Attempt   `json:"attempt"`

	// Sequence is the certificate's position in a sequence, or nil.
	Sequence *certify.Sequence `json:"sequence,omitempty"`
	// Reuse lists earlier uses of the held-out rows. It is nil if there are none.
	Reuse *certify.Reuse `json:"holdout_reuse,omitempty"`

	// Order lists the ordinals of the rows of [dataset.Split.Order], which include the prior rows, and Outside is the
	// number of outside rows. With them a part needs only the hashes of its own rows. Certifying computes the split
	// again. If rows are left out, Order is nil, and each part computes the split.
	Order   []int64 `json:"order,omitempty"`
	Outside int64   `json:"outside,omitempty"`

	// Repeats is true if there are duplicates that the job drops. Then each part finds them first.
	Repeats bool `json:"repeats,omitempty"`

	// Columns are the columns of the source, and Distinct the indices of those in which duplicates are equal. They are
	// set for a first pass only.
	Columns  []string `json:"columns,omitempty"`
	Distinct []int    `json:"distinct,omitempty"`

	// Secret keys the hashes by which the parts find equal rows. For a last pass it is drawn after Sample has fixed the
	// rows, so that no rows with equal hashes could be made for it.
	Secret string `json:"secret"`

	// For the run record.
	Training         Training `json:"training"`
	Warnings         []string `json:"warnings,omitempty"`
	FirstPassSeconds float64  `json:"first_pass_seconds"`
	TrainSeconds     float64  `json:"train_seconds"`
}

// newTrainingState returns the training state of a job before its training.
func newTrainingState(j job.Job, split dataset.Split, secret dataset.Secret) (*TrainingState, error) {
	configuration, err := j.Canonical()
	h := &TrainingState{
		Format: TrainingStateFormat, Arithmetic: model.Arithmetic, Configuration: configuration,
		Sequence: j.Numbering, Repeats: j.Repeats, Secret: secret.String(),
	}
	h.noteSplit(j, split)
	return h, err
}

// ParseTrainingState returns a training state from its JSON form. A state with faults is an error.
func ParseTrainingState(data []byte) (*TrainingState, error) {
	var h TrainingState
	text, err := digest.Unseal(data)
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&h)
	}
	if err != nil {
		return nil, fmt.Errorf("training state: %w", err)
	}
	if h.Format != TrainingStateFormat {
		return nil, fmt.Errorf("training state of format %q, want %s", h.Format, TrainingStateFormat)
	}
	var compact bytes.Buffer
	err = cmp.Or(sameArithmetic("the model was trained", h.Arithmetic), json.Compact(&compact, h.Configuration))
	h.Configuration = compact.Bytes()
	if err == nil {
		_, err = h.Job()
	}
	if err != nil {
		return nil, fmt.Errorf("training state: %w", err)
	}
	if _, _, err := h.known(); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(h.Distinct, func(c int) bool { return c < 0 || c >= len(h.Columns) }); i >= 0 {
		return nil, fmt.Errorf("training state: it has %d columns, and none with the index %d", len(h.Columns), h.Distinct[i])
	}
	return &h, nil
}

// Job returns the job of the training.
func (h *TrainingState) Job() (job.Job, error) {
	job, err := job.Stated(certify.Configuration{Digest: digest.Of(h.Configuration), Values: h.Configuration})
	job.Repeats, job.Numbering = h.Repeats, h.Sequence
	return job, err
}

// Of returns an error unless the training state is of the job j, which must have its defaults filled in.
func (h *TrainingState) Of(j job.Job) error {
	want, err := j.Canonical()
	if err != nil {
		return err
	}
	if !bytes.Equal(want, h.Configuration) {
		return fmt.Errorf("%w: the model there was trained for another job than this one: %s", job.ErrConfig, certify.Contrast(want, h.Configuration, "here", "was there"))
	}
	return nil
}

// known returns the part of the pass's subject that comes from training, and the secret of its marks.
func (h *TrainingState) known() (s subject, hidden dataset.Secret, err error) {
	s.constant, s.groups = h.Constant, dataset.Packed(h.Groups)
	err = hidden.Parse(h.Secret)
	if !h.First() {
		err = errors.Join(s.model.Parse(h.Model), s.sample.Parse(h.Sample), err)
	}
	return s, hidden, err
}

// Owns returns an error unless a pass is over all rows, belongs to this training state as far as that can be checked
// without the rows, and has the split of the job.
func (h *TrainingState) Owns(ctx context.Context, job job.Job, p *Pass, res job.Resources) error {
	known, hidden, err := h.known()
	if err != nil {
		return err
	}
	want := p.of
	want.model, want.sample, want.constant, want.groups = known.model, known.sample, known.constant, known.groups
	if want.configuration, err = job.Digest(); err != nil {
		return err
	}
	if !job.Drops() {
		want.secret = hidden.Digest()
	}
	if err := errors.Join(want.same(p.of), p.missing()); err != nil {
		return err
	}
	return h.sameSplit(ctx, job, p, res)
}

// Result returns what a last pass has found. It returns an error if the pass has read other rows than training.
func (h *TrainingState) Result(ctx context.Context, j job.Job, m Model, all *Pass) (*Found, error) {
	found, err := all.result(ctx, j, m)
	if err != nil {
		return nil, err
	}
	switch {
	case found.Sample.Digest != h.Sample || found.Sample.Targets != h.Targets:
		return nil, fmt.Errorf("%w: the last pass read rows with digest %s, training had %s: "+
			"the source was changed meanwhile; run again on a source that does not change", job.ErrChanged, found.Sample.Digest, h.Sample)
	case found.priorDigest != h.Prior:
		return nil, fmt.Errorf("%w: the last pass read other prior rows than training had: run again", job.ErrChanged)
	case found.Constant.Value != h.Constant:
		return nil, fmt.Errorf("%w: the best constant of the baseline is %v, training found %v", job.ErrChanged, found.Constant.Value, h.Constant)
	case !slices.Equal(found.GroupValues(), h.Groups):
		return nil, fmt.Errorf("%w: the prior rows give the groups %v, training found %v", job.ErrChanged, found.GroupValues(), h.Groups)
	}
	found.Sample.Segments = h.Segments
	return found, nil
}

// noteSplit sets Order and Outside, unless the split depends on the rows' values.
func (h *TrainingState) noteSplit(job job.Job, r dataset.Split) {
	if !job.FiltersRows() {
		h.Order, h.Outside = r.Order(), r.Outside()
	}
}

// hasSplit reports whether the training state has the split of a job.
func (h *TrainingState) hasSplit(job job.Job) bool { return h.Order != nil && !job.FiltersRows() }

// split returns the split of n rows with the prior rows of the training state. Its held-out and outside rows are empty
// and still to be added, by the hashes.
func (h *TrainingState) split(job job.Job, n int64) (dataset.Split, error) {
	if i := slices.IndexFunc(h.Order, func(ordinal int64) bool { return ordinal < 0 || ordinal >= n }); i >= 0 {
		return dataset.Split{}, fmt.Errorf("%w: the training state has a row %d, and there are %d: were rows changed since training?", ErrPart, h.Order[i], n)
	}
	return dataset.SplitInOrder(job, n, h.Order), nil
}

// sameSplit returns an error if the split that the training state gave to the parts is not that of the job for their rows.
func (h *TrainingState) sameSplit(ctx context.Context, job job.Job, p *Pass, res job.Resources) error {
	if !h.hasSplit(job) {
		return nil
	}
	n := p.of.rows
	job = job.ForRows(n)
	if err := job.SplitFits(n, res); err != nil {
		return err
	}
	r, err := dataset.NewSplit(ctx, job, n, dataset.LeftOut{}, res.Workers)
	if err != nil {
		return err
	}
	var found TrainingState
	if found.noteSplit(job, r); !slices.Equal(found.Order, h.Order) || found.Outside != h.Outside || found.Outside != p.of.outside {
		return fmt.Errorf("%w: the training state has another split than that of %d rows under the key of the job", ErrPart, n)
	}
	return nil
}

// Training describes the fit, for the run record.
type Training struct {
	certify.Training // as a certificate states it

	Kernel    string         `json:"kernel"`     // of the chosen candidate
	Inducing  int            `json:"inducing"`   // of the chosen candidate
	Steps     int            `json:"steps"`      // made by the chosen candidate
	StoppedBy string         `json:"stopped_by"` // plan (its end, or no more gain) or time
	Resumed   bool           `json:"resumed"`
	Noise     float64        `json:"noise_variance,omitempty"` // of a method of the paper: σ_n², in squared scales of the target
	Trace     []job.Progress `json:"trace"`
}

// The first pass can be made in parts, like the last one. A part of either is a [Pass] in the same format, made by a
// [TrainingState]. The parts get the split, which follows from the numbers of rows in the files. If the split depends on
// values, as with dropped duplicates or tolerated rejected rows, the rows must be read twice, and training reads them
// itself.
//
// Features, scaling, start values and the model follow from the parts. The last pass computes again everything that the
// certificate claims, but does not read the columns that are left out, which [FirstPass.CheckLeftOut] checks.

// ErrUntrained means that a training state is for a first pass, where one for a last pass is needed.
var ErrUntrained = errors.New("the training state is for a first pass, of a training that has not ended: train again")

// First reports whether the training state is for a first pass.
func (h *TrainingState) First() bool { return h.Model == "" }

// PrepareFirst prepares a first pass over a source.
func (h *TrainingState) PrepareFirst(ctx context.Context, src dataset.Source, j job.Job, res job.Resources) (*Prepared, error) {
	if columns := src.Columns(); !slices.Equal(columns, h.Columns) {
		return nil, fmt.Errorf("%w: the source has the columns %s, and had %s", job.ErrChanged, strings.Join(columns, ", "), strings.Join(h.Columns, ", "))
	}
	p, err := beginPass(ctx, src, j, h.Distinct, h, res)
	if err != nil {
		return nil, err
	}
	p.wanted, p.first = dataset.OrdinalsOf(p.split.Starts()), true
	return p, nil
}
