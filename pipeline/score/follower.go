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

// An Artifact is a certificate and its model, as they were read. They are not verified.
type Artifact struct {
	Certificate certify.Certificate
	ID          string // of the certificate that was read
	Model       pass.Model
	Digest      string   // of the model's bytes
	Signatures  [][]byte // of the certificate, on topics only
}

// Pointers reads the pointer to the current certificate, and artifacts.
type Pointers interface {
	// Current returns the pointer, or an error if nothing is current.
	Current(ctx context.Context) (pipeline.Current, error)
	// Artifact returns the artifact of a pointer. Its error is marked by [Later] if a later call may succeed.
	Artifact(ctx context.Context, p pipeline.Current) (Artifact, error)
}

// ErrNoModel means that there is no model to predict with yet.
var ErrNoModel = errors.New("no prediction without a model")

// errOddRows means that the next rows lack features of a model. Later rows may have them.
var errOddRows = fmt.Errorf("%w for these rows", job.ErrRefused)

// A laterError is an error marked by [Later].
type laterError struct{ error }

func (e laterError) Unwrap() error { return e.error }

// Later marks an error after which a later call may succeed. The text does not change. Later returns nil for nil.
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

// A Predictor is a model that is ready to predict, with its certificate. It may be used by several goroutines.
type Predictor struct {
	Artifact

	Ready   *pipeline.Ready
	Subject string                 // what its predictions are about: [pipeline.Subject]
	Since   time.Time              // when it became current, by the pointer
	Source  pipeline.TopicIdentity // as in the pointer

	ends  map[string]map[int]int64 // offsets after the rows of its dataset, by topic and partition
	users sync.WaitGroup
}

// SpeaksOf reports whether the certificate is about rows of this partition of a topic. If it has rows of the topic, but
// none of the partition, it is not: keys may choose partitions, so that this one may hold another population. If it has
// no rows of the topic, SpeaksOf returns true and leaves the decision to the user.
func (p *Predictor) SpeaksOf(topic string, partition int) bool {
	_, own := p.ends[topic][partition]
	return own || len(p.ends[topic]) == 0
}

// End returns the offset after the rows of the model's dataset in a partition, 0 if none is of the partition. ok is
// false if none is of the topic.
func (p *Predictor) End(topic string, partition int) (offset int64, ok bool) {
	return p.ends[topic][partition], len(p.ends[topic]) > 0
}

// CarriedIn returns the certificate id that predictions for rows of a partition carry, "" if the certificate is not
// about them.
func (p *Predictor) CarriedIn(topic string, partition int) string {
	if !p.SpeaksOf(topic, partition) {
		return ""
	}
	return pipeline.CarriedID(p.Certificate, p.ID, certify.PredictorMean)
}

// reads returns an error if the model m has features that this predictor's model lacks.
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
	// Ready makes the model of an artifact ready to predict. It returns an error if the model does not match its
	// certificate.
	Ready func(ctx context.Context, a Artifact) (*pipeline.Ready, error)
	// Warning is called with warnings. It may be nil.
	Warning func(text string)
	// ModelWarnings returns warnings about a certificate, which are given once for each model. It may be nil.
	ModelWarnings func(c certify.Certificate) []string
	// Keeps returns a text that is added to the error for a model with another subject, and says where the subject of
	// the predictions so far is recorded. It may be nil.
	Keeps func() string
	// Again says what to choose for predictions with another subject. It completes the hint of the error for such a
	// model if the subject was set by [Follower.Continue].
	Again string
}

// A Follower holds the current model. Only one goroutine may call its methods.
type Follower struct {
	cfg     Config
	refused string               // certificate id of the last refused model, which is reported once
	waiting string               // certificate id of the last model that waits for rows with its features, likewise
	fault   string               // why the current model cannot be read, which is reported once
	warned  map[string]bool      // certificate ids whose warnings were given
	first   *certify.Certificate // models with another subject than this certificate are refused; may be nil
	subject string               // of the predictions so far; "" if any subject is allowed
	now     *Predictor           // the current model; nil if there is none yet
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

// Continue sets the subject of earlier predictions ([pipeline.Subject]), unless one is set.
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
	f.now.users.Wait()
	if f.now.Ready != nil {
		f.now.Ready.Close()
	}
}

// Follow returns the current model if it fits, or else the model before, with a warning. fits returns an error if the
// next rows lack features of a model. It is nil if there are no rows yet: then a model with features that the one
// before lacks is not used until there are rows, and the subject is not fixed by the returned model. Without any model
// the error wraps [ErrNoModel].
func (f *Follower) Follow(ctx context.Context, fits func(pass.Model) error) (*Predictor, error) {
	if err := f.follow(ctx, fits); err != nil {
		return nil, err
	}
	if fits != nil && f.first == nil {
		f.first, f.subject = &f.now.Certificate, f.now.Subject
	}
	return f.now, nil
}

// follow replaces the model by that of the pointer, unless the model before stays.
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

// adopt makes the model of a pointer the one that predicts, or returns an error if it does not fit.
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
	next, err := f.newPredictor(a, ready)
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
	next.Since, next.Source = p.Since, p.Source
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

// newPredictor returns the predictor of an artifact, or an error if its subject differs from that of the predictions so far.
func (f *Follower) newPredictor(a Artifact, ready *pipeline.Ready) (*Predictor, error) {
	if f.first != nil {
		if why := pipeline.Incomparable(*f.first, a.Certificate); why != "" {
			return nil, fmt.Errorf("%w: %s%s", job.ErrRefused, why, f.cfg.Keeps())
		}
	}
	subject := pipeline.Subject(a.Certificate)
	if f.first == nil && f.subject != "" && f.subject != subject {
		return nil, fmt.Errorf("%w: it has another target, loss, tolerance or row rules than the predictions that were made before (hint: to begin again, choose %s)", job.ErrRefused, f.cfg.Again)
	}
	p := &Predictor{Artifact: a, Ready: ready, Subject: subject, ends: map[string]map[int]int64{}}
	for _, s := range a.Certificate.Sample.Segments {
		if p.ends[s.Topic] == nil {
			p.ends[s.Topic] = map[int]int64{}
		}
		p.ends[s.Topic][int(s.Partition)] = max(p.ends[s.Topic][int(s.Partition)], s.End)
	}
	return p, nil
}
