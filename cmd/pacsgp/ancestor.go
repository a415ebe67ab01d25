package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// Names in the folder of a window: which model its training begins with, and that model.
const (
	ancestorFile  = "ancestor.json"
	ancestorModel = "ancestor.parquet"
)

// ancestor is the model that the training of a window begins with: the one that the
// stream's pointer named when this was first asked of the window. It is noted on the disk,
// so that a window that is gone on with keeps it. No row of the window may have been seen
// by it or by an ancestor of it.
func (s *service) ancestor(ctx context.Context, t tenure, folder string, window *kafkalog.Window) (a pipeline.Ancestor, there bool, err error) {
	if !s.Job.Train.WarmStart {
		return a, false, nil
	}
	a, there, err = s.readAncestor(ctx, folder, window)
	if !errors.Is(err, fs.ErrNotExist) {
		return a, there, err
	}
	found, there, err := s.chosen(ctx, t, window)
	if err != nil {
		return a, false, err
	}
	dir, err := sinklake.Open(folder, s.w.fs)
	if err != nil {
		return a, false, err
	}
	defer func() { _ = dir.Close() }() // what Put has acknowledged is durable
	text := []byte("null")
	if there {
		if err := dir.Put(ancestorModel, found.model); err != nil {
			return a, false, err
		}
		if text, err = json.Marshal(notedAncestor{found.said, window.Identity}); err != nil {
			return a, false, err
		}
	}
	if err := dir.Put(ancestorFile, text); err != nil {
		return a, false, err
	}
	return s.readAncestor(ctx, folder, window)
}

// A notedAncestor is what the file of an ancestor holds.
type notedAncestor struct {
	certify.Ancestor

	Of broker.Identity `json:"of,omitzero"` // which topic its rows are of
}

// readAncestor reads what was noted, if it was, for a window of this topic and these rows.
func (s *service) readAncestor(ctx context.Context, folder string, window *kafkalog.Window) (a pipeline.Ancestor, there bool, err error) {
	path := filepath.Join(folder, ancestorFile)
	text, err := durable.ReadSmall(path, "an ancestor", 1<<20)
	if err != nil {
		return a, false, err
	}
	var said *notedAncestor
	if err := json.Unmarshal(text, &said); err != nil {
		return a, false, fmt.Errorf("%s: %w (hint: remove it, and the window takes the model that is current)", path, err)
	}
	if said == nil {
		return a, false, nil
	}
	if said.Of != window.Identity || sees(said.Rows, s.from.Topic, window.Firsts) {
		return a, false, fmt.Errorf("%s: it was noted for another window: %w", path, fs.ErrNotExist)
	}
	m, digest, err := readModel(ctx, filepath.Join(folder, ancestorModel))
	if err == nil && digest != said.Model {
		err = fmt.Errorf("%s: its SHA-256 is not %s (hint: remove %s, and the window takes the model that is current)", filepath.Join(folder, ancestorModel), said.Model, path)
	}
	return pipeline.Ancestor{Ancestor: said.Ancestor, From: m}, true, err
}

// A chosenAncestor is what is noted.
type chosenAncestor struct {
	said  certify.Ancestor
	model []byte
}

// chosen is the current model of the stream, if it has not seen rows of the window: neither it
// nor an ancestor of it, which it was held against in the same way. Offsets of a topic that was
// made anew, or is on another cluster, are not known to be those of other rows.
func (s *service) chosen(ctx context.Context, t tenure, window *kafkalog.Window) (a chosenAncestor, there bool, err error) {
	client, err := s.Shelf.Cluster.Client()
	if err != nil {
		return a, false, err
	}
	defer func() { _ = client.Close() }()
	name := s.Shelf.Name
	if t.share != nil {
		name = sinklog.NameOf(name, t.share.Partitions[0])
	}
	pointer, err := sinklog.Current(ctx, client, s.Shelf.Topics, name)
	if errors.Is(err, sinklog.ErrNotFound) {
		return a, false, nil
	}
	if err != nil {
		return a, false, err
	}
	id := pointer.Certificate
	document, model, err := s.kept(id)
	if err != nil {
		pulled, err := sinklog.Pull(ctx, client, s.Shelf.Topics, id)
		if errors.Is(err, sinklog.ErrNotFound) {
			s.show.notice("training begins anew: " + err.Error())
			return a, false, nil
		}
		if err != nil {
			return a, false, err
		}
		document, model = pulled.Document, pulled.Model
	}
	c, got, err := certificateIn(id, document)
	if err == nil && hexOf(model) != c.Model.Digest {
		err = fmt.Errorf("the model of certificate %s has another SHA-256 than the certificate says", id)
	}
	if err != nil {
		s.show.notice("training begins anew: " + err.Error())
		return a, false, nil
	}
	said := certify.Ancestor{Certificate: got, Model: c.Model.Digest, Rows: c.Seen()}
	switch at := c.Delta.Sequence; {
	case at == nil || at.Name != s.name:
		s.show.notice("training begins anew: the certificate " + id + ", which is current, is not of this stream")
		return a, false, nil
	case pointer.Rows != window.Identity:
		s.show.notice("training begins anew: it is not known whether the model of certificate " + id + ", which is current, has seen rows of this window: they are of another topic of the name " + s.from.Topic + ", which was made anew or is on another cluster")
		return a, false, nil
	case sees(said.Rows, s.from.Topic, window.Firsts):
		s.show.notice("training begins anew: the model of certificate " + id + ", which is current, has seen rows of this window")
		return a, false, nil
	}
	return chosenAncestor{said, model}, true, nil
}

// sees reports whether ranges of a topic reach into what begins at these offsets.
func sees(rows []certify.Span, topic string, begins map[int]int64) bool {
	for _, r := range rows {
		if begin, ok := begins[int(r.Partition)]; ok && r.Topic == topic && r.End > begin {
			return true
		}
	}
	return false
}

// kept reads an artifact that this member has published and still has.
func (s *service) kept(id string) (document, model []byte, err error) {
	found, err := filepath.Glob(filepath.Join(s.Output, donePrefix+"*", "certificate-"+id+".json"))
	if err != nil || len(found) == 0 {
		return nil, nil, errors.Join(err, fs.ErrNotExist)
	}
	if document, err = os.ReadFile(found[0]); err != nil {
		return nil, nil, err
	}
	c, _, err := certificateIn(id, document)
	if err != nil {
		return nil, nil, err
	}
	name := sinklake.ModelName(c.Model.Digest)
	model, err = os.ReadFile(filepath.Join(filepath.Dir(found[0]), name)) //nolint:gosec // of the output
	if err == nil && hexOf(model) != c.Model.Digest {
		err = fmt.Errorf("%s: its SHA-256 is not in its name", name)
	}
	return document, model, err
}
