package stream

import (
	"context"
	"errors"
	"strconv"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// Publisher publishes in one transaction, or in steps.
func (w *world) Publisher(window *Window) Publisher { return publisher{w, window} }

type publisher struct {
	w  *world
	of *Window
}

func (p publisher) Check(context.Context) error { return nil }

func (p publisher) Publish(ctx context.Context, r *pipeline.Result, points []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	steps := []func() error{
		func() error { return p.put(r) }, func() error { return p.point(r, points) },
		func() error { p.w.committed = p.of.Partitions[0].End; return nil },
	}
	if each := steps; !p.w.loose {
		steps = []func() error{func() error {
			var errs []error
			for _, step := range each {
				errs = append(errs, step())
			}
			return errors.Join(errs...)
		}}
	}
	if p.w.committed == p.of.Partitions[0].End && r != nil && p.w.artifacts[r.ID].Document != nil {
		return nil // by a process that was killed
	}
	if p.w.committed != p.of.Partitions[0].First {
		return ErrOvertaken
	}
	for _, step := range steps {
		if err := p.w.change(step); err != nil {
			return err
		}
	}
	return nil
}

func (p publisher) put(r *pipeline.Result) error {
	if r == nil || p.w.artifacts[r.ID].Document != nil {
		return nil
	}
	document, err := certify.Marshal(r.Certificate)
	p.w.published = append(p.w.published, r.Certificate)
	p.w.artifacts[r.ID] = Artifact{Document: document, Model: modelText(r.Certificate.Delta.Sequence.Number)}
	return err
}

func (p publisher) point(r *pipeline.Result, points []string) error {
	if len(points) > 0 {
		p.w.current = Pointer{r.ID, p.of.Identity}
	}
	return nil
}

// Folder is that of a window.
func (w *world) Folder(n int64) Folder { return folder{w, n} }

// Output is the store, each change of which is one of the world.
func (w *world) Output() pipeline.Output {
	return output{&pipelinetest.Output{Store: w.store}, w}
}

// Put puts the model that a text stands for.
func (w *world) Put(ctx context.Context, out pipeline.Output, a Artifact) error {
	k, err := strconv.ParseInt(string(a.Model), 10, 64)
	if err != nil {
		return err
	}
	c, err := certify.Parse(a.Document)
	if err != nil {
		return err
	}
	if sum, err := out.PutModel(ctx, modelOf(k)); err != nil || sum != c.Model.Digest {
		return errors.Join(err, errors.New("another model"))
	}
	_, err = out.PutCertificate(ctx, c)
	return err
}

type output struct {
	*pipelinetest.Output
	w *world
}

func (o output) PutCertificate(ctx context.Context, c certify.Certificate) (id string, err error) {
	err = o.w.change(func() error { id, err = o.Output.PutCertificate(ctx, c); return err })
	return id, err
}

func (o output) PutRun(r *pipeline.RunState) error {
	return o.w.change(func() error { return o.Output.PutRun(r) })
}

func (o output) Point(to pipeline.Current) error {
	return o.w.change(func() error { return o.Output.Point(to) })
}

type folder struct {
	w *world
	n int64
}

func (f folder) Note(name string) ([]byte, string, error) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	return f.w.notes[f.n][name], name, nil
}

func (f folder) PutNote(name string, text []byte) error {
	return f.w.change(func() error {
		if f.w.notes[f.n] == nil {
			f.w.notes[f.n] = map[string][]byte{}
		}
		f.w.notes[f.n][name] = text
		return nil
	})
}

func (f folder) Remove() error {
	return f.w.change(func() error { delete(f.w.notes, f.n); return nil })
}
