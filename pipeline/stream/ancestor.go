package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
)

// Names of the note about the ancestor of a window, and of the ancestor's model.
const (
	ancestorNote  = "ancestor.json"
	ancestorModel = "ancestor.parquet"
)

// A notedAncestor is the content of the note; null means a training from the start.
type notedAncestor struct {
	certify.Ancestor

	Of pipeline.TopicIdentity `json:"of,omitzero"` // of the topic of its rows
}

// ancestor is the model that the training of a window begins with, or nil: the current one at the
// first call, which a note keeps for resumed windows. Neither it nor its own ancestors may have
// seen rows of the window.
func (s *Stream) ancestor(ctx context.Context, log Log, w *Window) (*pipeline.Ancestor, error) {
	if !s.Job.Train.WarmStart {
		return nil, nil
	}
	a, noted, err := s.noted(w)
	if noted || err != nil {
		return a, err
	}
	found, model, err := s.chosen(ctx, log, w)
	if err != nil {
		return nil, err
	}
	folder := s.Folders.Folder(w.N)
	if found != nil {
		if err := folder.PutNote(ancestorModel, model); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(found)
	if err == nil {
		err = folder.PutNote(ancestorNote, text)
	}
	if err != nil {
		return nil, err
	}
	a, _, err = s.noted(w)
	return a, err
}

// noted reads the note, if there is one about these rows of this topic.
func (s *Stream) noted(w *Window) (a *pipeline.Ancestor, noted bool, err error) {
	folder := s.Folders.Folder(w.N)
	text, where, err := folder.Note(ancestorNote)
	if text == nil || err != nil {
		return nil, false, err
	}
	var said *notedAncestor
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, false, fmt.Errorf("%s: %w (hint: remove it, and the window begins with the current model)", where, err)
	}
	switch {
	case said == nil:
		return nil, true, nil
	case said.Of != w.Of || s.seen(said.Rows, w):
		return nil, false, nil // it was noted for another window
	}
	m, digest, err := folder.Model(ancestorModel)
	if errors.Is(err, fs.ErrNotExist) { // of a folder that was being removed
		return nil, false, nil
	}
	if err == nil && digest != said.Model {
		err = fmt.Errorf("the SHA-256 of the model beside %s is not %s (hint: remove %[1]s, and the window begins with the current model)", where, said.Model)
	}
	return &pipeline.Ancestor{Ancestor: said.Ancestor, From: m}, true, err
}

// chosen is the current model of the stream, unless it or an ancestor has seen rows of the window.
// A replaced topic may have the same rows at other offsets.
func (s *Stream) chosen(ctx context.Context, log Log, w *Window) (*notedAncestor, []byte, error) {
	pointer, err := log.Current(ctx)
	if errors.Is(err, ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	c, model, err := s.artifact(ctx, log, pointer.ID)
	said := certify.Ancestor{Certificate: pointer.ID, Model: c.Model.Digest, Rows: c.Seen()}
	anew := ""
	switch unfit, ok := errors.AsType[unfitError](err); {
	case ok:
		anew = unfit.Error()
	case err != nil:
		return nil, nil, err
	case pointer.Of != w.Of:
		anew = "rows of this window may have trained the current model, of certificate " + pointer.ID + ": that is about another topic of the name " + s.Topic + ", which was made anew or is on another cluster"
	case s.seen(said.Rows, w):
		anew = "the model of certificate " + pointer.ID + ", which is current, has seen rows of this window"
	}
	if anew != "" {
		s.notice("training begins anew: " + anew)
		return nil, nil, nil
	}
	return &notedAncestor{said, w.Of}, model, nil
}

// An unfitError says why an artifact cannot be used.
type unfitError struct{ error }

// artifact is a certificate of this stream, and its model. An artifact that is missing or damaged,
// or not of this stream, is an unfitError.
func (s *Stream) artifact(ctx context.Context, log Log, id string) (c certify.Certificate, model []byte, err error) {
	a, err := s.Folders.Published(ctx, id)
	if err != nil {
		a, err = log.Pull(ctx, id)
	}
	if errors.Is(err, ErrNotFound) {
		return c, nil, unfitError{err}
	}
	if err != nil {
		return c, nil, err
	}
	c, err = certify.Parse(a.Document)
	switch {
	case err != nil:
		err = fmt.Errorf("certificate %s: %w", id, err)
	case hexOf(a.Document) != id:
		err = fmt.Errorf("the certificate %s has the SHA-256 %s", id, hexOf(a.Document))
	case hexOf(a.Model) != c.Model.Digest:
		err = fmt.Errorf("the model of certificate %s has another SHA-256 than the certificate says", id)
	case c.Delta.Sequence == nil || c.Delta.Sequence.Name != s.Name:
		err = fmt.Errorf("the certificate %s, which is current, is not of this stream", id)
	}
	if err != nil {
		return c, nil, unfitError{err}
	}
	return c, a.Model, nil
}

// seen reports whether spans of the topic reach into a window.
func (s *Stream) seen(rows []certify.Span, w *Window) bool {
	for _, r := range rows {
		if begin, ok := w.Firsts[int(r.Partition)]; ok && r.Topic == s.Topic && r.End > begin {
			return true
		}
	}
	return false
}
