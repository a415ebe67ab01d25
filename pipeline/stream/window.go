package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/fit"
)

// windowNote is the name of the note about a window.
const windowNote = "window.json"

// A reservation is the number of a window's certificate and the model that training begins with. It is noted before
// training, so that a resumed window has the same.
type reservation struct {
	Number int64           `json:"run"`
	For    string          `json:"for"`              // digest of topic, segments, job, program and instruction set; another one needs another number
	Parent *certify.Parent `json:"parent,omitempty"` // nil if training begins without a model

	from *fit.Parent // the parent with its model
}

// reserve returns the reservation of a window: the noted one, or a new one whose number is durable in the log. A number
// that was noted for something else is not used, because its certificate's bound may be known.
func (s *Stream) reserve(ctx context.Context, log Log, w *Window, out pipeline.Output) (r reservation, err error) {
	job, err := s.Job.Digest()
	if err != nil {
		return r, err
	}
	of := digest.OfValues(w.Identity, w.Segments, job.String(), s.Software)
	folder := s.Folders.Folder(w.N)
	text, where, err := folder.Note(windowNote)
	if err != nil {
		return r, err
	}
	if text != nil {
		if text, err = digest.Unseal(text); err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil || r.Number < 1 {
			return r, fmt.Errorf("%s: it is damaged (hint: remove it, and the window gets a new number)", where)
		}
		if r.For == of && s.load(ctx, &r, out) == nil {
			return r, nil
		}
	}
	r = reservation{For: of}
	if s.Job.Train.WarmStart {
		if r.Parent, err = s.parent(ctx, log, w, out); err != nil {
			return r, err
		}
	}
	if err := s.load(ctx, &r, out); err != nil {
		return r, err
	}
	if r.Number, err = log.TakeNumber(ctx); err != nil {
		return r, err
	}
	if text, err = json.Marshal(r); err != nil {
		return r, err
	}
	return r, folder.PutNote(windowNote, digest.Seal(text))
}

// load reads the parent's model, if there is a parent.
func (s *Stream) load(ctx context.Context, r *reservation, out pipeline.Output) error {
	if r.Parent == nil {
		return nil
	}
	m, err := out.GetModel(ctx, r.Parent.Model)
	r.from = &fit.Parent{Parent: *r.Parent, From: m}
	return err
}

// parent returns the current model, or nil, with a warning, if it or one of its parents may have seen rows of the
// window. If the topic was made again, the same rows may be at other offsets.
func (s *Stream) parent(ctx context.Context, log Log, w *Window, out pipeline.Output) (*certify.Parent, error) {
	pointer, c, err := s.follow(ctx, log, out)
	said := certify.Parent{Certificate: pointer.ID, Model: c.Model.Digest, Rows: c.Seen()}
	again := ""
	switch unfit, ok := errors.AsType[unfitError](err); {
	case ok:
		again = unfit.Error()
	case err != nil || pointer.ID == "":
		return nil, err
	case pointer.Of != w.Identity:
		again = "rows of this window may have trained the current model, of certificate " + pointer.ID + ": its pointer does not say which topic of the name " + s.Topic + " that is about"
	case slices.ContainsFunc(said.Rows, func(r certify.Span) bool {
		return r.Topic == s.Topic && slices.ContainsFunc(w.Partitions, func(p pipeline.WindowPart) bool { return p.Partition == int(r.Partition) && r.End > p.First })
	}):
		again = "the model of certificate " + pointer.ID + ", which is current, has seen rows of this window"
	}
	if again != "" {
		s.How.Observer.ReportWarning("training begins again: " + again)
		return nil, nil
	}
	return &said, nil
}

// An unfitError marks an artifact that cannot be used, and says why.
type unfitError struct{ error }

// follow moves the output's pointer to the current artifact of the stream, which it first fetches from the log if the
// output lacks it. The pointer is zero if nothing is current. An artifact that is missing, damaged or not of this
// stream is an [unfitError].
func (s *Stream) follow(ctx context.Context, log Log, out pipeline.Output) (pointer Pointer, c certify.Certificate, err error) {
	pointer, err = log.Current(ctx)
	if errors.Is(err, ErrNotFound) {
		return Pointer{}, c, nil
	}
	if err != nil {
		return pointer, c, err
	}
	if c, err = out.GetCertificate(ctx, pointer.ID); err == nil {
		_, err = out.GetModel(ctx, c.Model.Digest)
	}
	if err != nil && ctx.Err() == nil {
		c, err = s.fetch(ctx, log, out, pointer.ID)
	}
	if err == nil {
		err = s.own(c, pointer.ID)
	}
	if err == nil {
		err = pipeline.PointTo(out, c, pipeline.ArtifactRef{ID: pointer.ID, Model: c.Model.Digest}, s.How.Required, time.Now())
	}
	return pointer, c, err
}

// pull returns an artifact of the log. A missing or damaged one is an [unfitError].
func pull(ctx context.Context, log Log, id string) (Artifact, error) {
	a, err := log.Pull(ctx, id)
	if err == nil && digest.Of(a.Document) != id {
		return a, unfitError{fmt.Errorf("the certificate %s has the SHA-256 %s", id, digest.Of(a.Document))}
	}
	if errors.Is(err, ErrNotFound) {
		return a, unfitError{err}
	}
	return a, err
}

// fetch writes an artifact of the log to the output, with a record of a run, so that it is removed when it is old.
func (s *Stream) fetch(ctx context.Context, log Log, out pipeline.Output, id string) (c certify.Certificate, err error) {
	a, err := pull(ctx, log, id)
	if err != nil {
		return c, err
	}
	if c, err = certify.Parse(a.Document); err == nil {
		err = s.Folders.Put(ctx, out, a)
	}
	if err != nil {
		return c, unfitError{fmt.Errorf("certificate %s: %w", id, err)}
	}
	now := time.Now()
	r, err := pipeline.NewRun(out, id[:12], s.Job, now, nil)
	if err != nil {
		return c, err
	}
	r.Artifacts = []pipeline.ArtifactRef{{ID: id, Model: c.Model.Digest}}
	return c, r.End(out, pipeline.StateNothing, nil, "its model was published before by another member, or from another disk", now)
}

// own returns an error if a certificate is of another stream.
func (s *Stream) own(c certify.Certificate, id string) error {
	if c.Delta.Sequence == nil || c.Delta.Sequence.Name != s.Name {
		return unfitError{fmt.Errorf("the certificate %s, which is current, is not of this stream", id)}
	}
	return nil
}

// certificate returns a certificate of this stream from the output or, if it is not there, from the log.
func (s *Stream) certificate(ctx context.Context, log Log, out pipeline.Output, id string) (certify.Certificate, error) {
	c, err := out.GetCertificate(ctx, id)
	if err != nil && ctx.Err() == nil {
		var a Artifact
		if a, err = pull(ctx, log, id); err == nil {
			c, err = certify.Parse(a.Document)
		}
	}
	if err == nil {
		err = s.own(c, id)
	}
	return c, err
}
