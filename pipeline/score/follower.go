package score

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// An Artifact is a certificate and its model, as read.
type Artifact struct {
	Certificate certify.Certificate
	ID          string // of the certificate that was read
	Model       pass.Model
	Digest      string   // of the model's bytes
	Signatures  [][]byte // on topics, where they are with the certificate
}

// Pointers reads the pointer and its artifact.
type Pointers interface {
	// Current reads the pointer. It is an error if nothing is current.
	Current(ctx context.Context) (pipeline.Current, error)
	// Artifact reads the artifact of a pointer. The error is [Later] if a later call may succeed.
	Artifact(ctx context.Context, p pipeline.Current) (Artifact, error)
}

// ErrNoModel says that there is no model to predict with yet.
var ErrNoModel = errors.New("no prediction without a model")

// errOddRows says that the next rows lack features of a model. Later rows may have them.
var errOddRows = fmt.Errorf("%w for these rows", job.ErrRefused)

// A laterError marks a fault that may pass.
type laterError struct{ error }

func (e laterError) Unwrap() error { return e.error }

// Later marks an error that may pass: a later call may succeed. The text stays the same, and nil
// stays nil.
func Later(err error) error {
	if err == nil {
		return nil
	}
	return laterError{err}
}

// IsLater reports whether an error wraps one marked by [Later], or [ErrNoModel].
func IsLater(err error) bool {
	_, later := errors.AsType[laterError](err)
	return later || errors.Is(err, ErrNoModel)
}

// A Predictor is a model that predicts, with its certificate. Several goroutines may use it.
type Predictor struct {
	Artifact

	Ready   *pipeline.Ready
	Subject string    // what its predictions are about: see [pipeline.Subject]
	Carries string    // the id that its predictions carry: see [pipeline.CarriedID]
	Since   time.Time // when it became current, by the pointer

	ends  map[string]map[int]int64 // offsets behind the rows of its sample, by topic and partition
	users sync.WaitGroup
}

// SpeaksOf reports whether the certificate covers the rows of a partition of a topic. Where keys
// choose the partition, other partitions may hold another population. A certificate of rows from
// elsewhere names no partition: then it is the user's decision.
func (p *Predictor) SpeaksOf(topic string, partition int) bool {
	_, own := p.ends[topic][partition]
	return own || len(p.ends[topic]) == 0
}

// End is the offset behind the rows of its sample in a partition of a topic; false: it has none of the topic.
func (p *Predictor) End(topic string, partition int) (offset int64, ok bool) {
	return p.ends[topic][partition], len(p.ends[topic]) > 0
}

// CarriedIn is the id that predictions of rows of a partition carry.
func (p *Predictor) CarriedIn(topic string, partition int) string {
	if !p.SpeaksOf(topic, partition) {
		return ""
	}
	return p.Carries
}

// reads returns an error unless it reads all features of a model.
func (p *Predictor) reads(m pass.Model) error {
	own := p.Model.Meta.Inputs()
	for _, name := range m.Meta.Inputs() {
		if !slices.Contains(own, name) {
			return fmt.Errorf("it waits for rows with the column %q", name)
		}
	}
	return nil
}

// Config sets up a [Follower].
type Config struct {
	Pointers Pointers
	// Ready makes the model of an artifact ready, and refuses a model that does not match its
	// certificate, as [Verified] does.
	Ready func(ctx context.Context, a Artifact) (*pipeline.Ready, error)
	// Warning gets messages; nil drops them.
	Warning func(text string)
	// ModelWarnings are messages about a certificate, given once for each model; nil means none.
	ModelWarnings func(c certify.Certificate) []string
	// Keeps names the record of the predictions' subject, after the reason for refusing a model
	// with another subject; nil or "" adds nothing.
	Keeps func() string
	// Again completes the hint for predictions with another subject, if the subject comes from
	// [Follower.Continue]: what to choose.
	Again string
}

// Verified returns a [Config.Ready] that verifies models before it makes them ready.
func Verified(res job.Resources) func(ctx context.Context, a Artifact) (*pipeline.Ready, error) {
	return func(ctx context.Context, a Artifact) (*pipeline.Ready, error) {
		if _, err := pipeline.Verify(ctx, a.Certificate, a.Model, a.Digest, nil, res); err != nil {
			return nil, err
		}
		return pipeline.NewReady(a.Model, res.Workers)
	}
}

// A Follower has the current model. Its methods are for one goroutine.
type Follower struct {
	cfg     Config
	refused string               // certificate id of the last refused model, which is reported once
	waiting string               // likewise of the last model that waits for rows with its features
	fault   string               // why the current model cannot be read, which is reported once
	warned  map[string]bool      // certificate ids whose warnings were given
	first   *certify.Certificate // models with another subject than this are refused
	subject string               // of the predictions so far; "" for any
	now     *Predictor           // nil if there is none yet
}

// NewFollower returns a follower that has no model yet.
func NewFollower(cfg Config) *Follower {
	if cfg.Warning == nil {
		cfg.Warning = func(string) {}
	}
	if cfg.Keeps == nil {
		cfg.Keeps = func() string { return "" }
	}
	return &Follower{cfg: cfg, warned: map[string]bool{}}
}

// Continue sets the subject of earlier predictions (see [pipeline.Subject]), unless one is set.
func (f *Follower) Continue(subject string) { f.subject = cmp.Or(f.subject, subject) }

// ContinueFrom sets the subject from the certificate of an earlier model.
func (f *Follower) ContinueFrom(first certify.Certificate) {
	f.first, f.subject = &first, pipeline.Subject(first)
}

// Close frees the model.
func (f *Follower) Close() {
	if f.now == nil {
		return
	}
	f.now.users.Wait() // until it is no longer in use
	if f.now.Ready != nil {
		f.now.Ready.Close()
	}
}

// Follow returns the current model if it fits, else the one before. A model that does not fit is
// refused with a message. fits returns an error if the next rows lack features of a model; nil means
// that no rows are there: then a model with features that the one before lacks waits for them, and the
// next model may have another subject. Without any model the error is [ErrNoModel].
func (f *Follower) Follow(ctx context.Context, fits func(pass.Model) error) (*Predictor, error) {
	if err := f.follow(ctx, fits); err != nil {
		return nil, err
	}
	if fits != nil && f.first == nil {
		f.first, f.subject = &f.now.Certificate, f.now.Subject
	}
	return f.now, nil
}

// follow follows the pointer, unless the model before stays.
func (f *Follower) follow(ctx context.Context, fits func(pass.Model) error) error {
	p, err := f.cfg.Pointers.Current(ctx)
	known := err == nil
	if known && f.now != nil && (p.ID == f.now.ID || p.ID == f.refused || fits == nil && p.ID == f.waiting) {
		return nil
	}
	if known {
		err = f.adopt(ctx, p, fits)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return nil
	case f.now == nil:
		return fmt.Errorf("%w: %w", ErrNoModel, err)
	case known && fits == nil && errors.Is(err, errOddRows):
		f.waiting = p.ID
	case known && !errors.Is(err, errOddRows) && !IsLater(err):
		f.refused = p.ID
	case f.fault == err.Error():
		return nil
	default:
		f.fault = err.Error()
	}
	what := "the current model is refused"
	if !known {
		what = "the pointer cannot be read"
	} else if IsLater(err) {
		what = "the current model cannot be read"
	}
	f.cfg.Warning(fmt.Sprintf("%s, and the model of certificate %.12s… stays: %v", what, f.now.ID, err))
	return nil
}

// adopt begins to predict with the model of a pointer.
func (f *Follower) adopt(ctx context.Context, p pipeline.Current, fits func(pass.Model) error) error {
	a, err := f.cfg.Pointers.Artifact(ctx, p)
	if err != nil {
		return err
	}
	if a.ID != p.ID {
		return fmt.Errorf("%w: %s has the id %s, and the pointer names %s", job.ErrRefused, pipeline.CertificateName(p.ID), a.ID, p.ID)
	}
	ready, err := f.cfg.Ready(ctx, a)
	if err != nil {
		return err
	}
	next, err := f.suits(a, ready)
	if err == nil && f.now != nil {
		if fits == nil {
			fits = f.now.reads
		}
		if odd := fits(a.Model); odd != nil && fits(f.now.Model) == nil {
			err = fmt.Errorf("%w: %w", errOddRows, odd)
		}
	}
	if err != nil {
		if ready != nil {
			ready.Close()
		}
		return err
	}
	f.Close()
	next.Since = p.Since
	f.now, f.refused = next, ""
	if f.cfg.ModelWarnings == nil || f.warned[next.ID] {
		return nil
	}
	f.warned[next.ID] = true
	for _, text := range f.cfg.ModelWarnings(next.Certificate) {
		f.cfg.Warning(fmt.Sprintf("certificate %.12s…: %s", next.ID, text))
	}
	return nil
}

// suits returns the predictor of an artifact, unless it has another subject than the predictions
// so far.
func (f *Follower) suits(a Artifact, ready *pipeline.Ready) (*Predictor, error) {
	if f.first != nil {
		if why := pipeline.Incomparable(*f.first, a.Certificate); why != "" {
			return nil, fmt.Errorf("%w: %s%s", job.ErrRefused, why, f.cfg.Keeps())
		}
	}
	subject := pipeline.Subject(a.Certificate)
	if f.first == nil && f.subject != "" && f.subject != subject {
		return nil, fmt.Errorf("%w: it has another target, loss, tolerance or row rules than the predictions that were made before (hint: to begin again, choose %s)", job.ErrRefused, f.cfg.Again)
	}
	p := &Predictor{
		Artifact: a, Ready: ready, Subject: subject, Carries: pipeline.CarriedID(a.Certificate, a.ID, certify.PredictorMean),
		ends: map[string]map[int]int64{},
	}
	for _, s := range a.Certificate.Sample.Segments {
		if p.ends[s.Topic] == nil {
			p.ends[s.Topic] = map[int]int64{}
		}
		p.ends[s.Topic][int(s.Partition)] = max(p.ends[s.Topic][int(s.Partition)], s.End)
	}
	return p, nil
}
