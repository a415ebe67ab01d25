package schedule

import (
	"context"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// Tests is the test of the current model on new rows, before any model was trained on them.
type Tests struct {
	Current *watch.Test `json:"current,omitempty"`
	Lots    []string    `json:"lots,omitempty"` // keys of files and windows that have tested: by name, path and values
}

// A part is some rows of a run: a file, or a window.
type part struct {
	key    string
	path   string // of a file
	rows   pipeline.Rows
	window *pipeline.TopicWindow // or nil
}

// parts are the files of a run, or its window, without those that have tested already.
func (of lot) parts(j *Job, run *pipeline.Scheduled, state *State) (all []part) {
	had := map[string]bool{}
	for _, key := range state.Tests.Lots {
		had[key] = true
	}
	if run.Window != nil && !had[of.digest] {
		all = append(all, part{of.digest, "", of.rows, run.Window})
	}
	for _, f := range of.files {
		if key := contentOf(f.ManifestFile); !had[key] {
			all = append(all, part{key, f.Path, j.Lake.Rows([]File{f}), nil})
		}
	}
	return all
}

// note records the key of a part, and reports whether its path had other rows before: some of them
// may still be there.
func (t *Tests) note(p part) (again bool) {
	t.Lots = append(t.Lots, p.key)
	if p.path == "" {
		return false
	}
	key := hexOf(p.path)[:24]
	if again = slices.Contains(t.Lots, key); !again {
		t.Lots = append(t.Lots, key)
	}
	return again
}

// test tests the current model on the rows of a run that are new to it, before anything is trained
// on these. The caller stores the result, which is in state. Rows that could not be read do not
// count.
func (s *Scheduler) test(ctx context.Context, j *Job, state *State, run *pipeline.Scheduled, of lot) error {
	parts := of.parts(j, run, state)
	current, err := j.current()
	if err != nil || len(parts) == 0 {
		return err
	}
	if current == nil {
		for _, p := range parts {
			state.Tests.note(p)
		}
		return nil
	}
	model, err := j.ready(ctx, current.ID)
	if err != nil {
		return err
	}
	defer model.Ready.Close()
	for _, p := range parts {
		next := &Tests{Lots: slices.Clone(state.Tests.Lots)}
		if next.Current, err = model.Of(state.Tests.Current); err != nil {
			return err
		}
		if next.note(p) {
			s.tell(true, fmt.Sprintf("%s: %s was written again since its rows tested: it has no new rows (hint: put new rows into new files)", j.Name, p.path))
		} else if err := j.testBy(ctx, p, model, next); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			s.untested(j, run, err)
			continue
		}
		state.Tests = *next
	}
	return s.tellTest(j, state, run, model.Certificate)
}

// untested records why some rows of a run could not test the current model.
func (s *Scheduler) untested(j *Job, run *pipeline.Scheduled, fault error) {
	run.Untested = pipeline.Shortened(fault.Error())
	s.tell(true, fmt.Sprintf("%s: new rows cannot test the current model: %s", j.Name, run.Untested))
}

// ready reads a certificate of the output with its model.
func (j *Job) ready(ctx context.Context, id string) (c watch.Contender, err error) {
	c.ID = id
	if c.Certificate, err = j.contender(ctx, id); err == nil {
		if c.Model, err = j.Output.GetModel(ctx, c.Certificate.Model.Digest); err == nil {
			c.Ready, err = pipeline.NewReady(c.Model, j.How.Resources.WithDefaults().Workers)
		}
	}
	return c, err
}

// testBy tests a model on a part, unless its rows have tested before: under another name, or before
// the model was trained on them.
func (j *Job) testBy(ctx context.Context, p part, m watch.Contender, to *Tests) error {
	res := j.How.Resources.WithDefaults()
	choice := pipeline.Choice{Features: m.Model.Meta.Inputs(), Encoded: m.Model.Meta.Encode, Target: m.Model.Meta.Target.Name, Mark: true, Decoders: res.Workers, Pages: res.PageMemory()}
	src, err := p.rows.Open(ctx, choice)
	if err != nil {
		return m.Model.Meta.Lacks(err)
	}
	all := src
	if whole := choice.WithLabels(m.Sample); whole.Labels != nil {
		if all, err = p.rows.Open(ctx, whole); err != nil {
			return fmt.Errorf("whether its rows are of the sample cannot be told: %w", err)
		}
	}
	if news, err := j.isNew(ctx, p, m, src, all, to); !news || err != nil {
		return err
	}
	return m.Test(ctx, to.Current, src)
}

// isNew reports whether rows are not of a model's sample, and have not tested under another name. all
// has the columns of the sample.
func (j *Job) isNew(ctx context.Context, p part, m watch.Contender, src, all pipeline.Opened, to *Tests) (bool, error) {
	if p.window != nil {
		return !slices.ContainsFunc(m.Sample.Segments, func(s certify.Segment) bool {
			return s.Topic == p.window.Topic && slices.ContainsFunc(p.window.Partitions, func(of pipeline.WindowPart) bool { return int64(of.Partition) == s.Partition && s.End > of.First })
		}), nil
	}
	workers := j.How.Resources.WithDefaults().Workers
	digest, err := pipeline.RowsDigest(ctx, src, workers)
	if err != nil {
		return false, err
	}
	if slices.Contains(to.Lots, digest.String()) {
		return false, nil
	}
	to.Lots = append(to.Lots, digest.String())
	list, err := j.Output.GetManifest(m.Certificate, m.ID)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(list.Files, func(f pipeline.ManifestFile) bool { return f.Path == p.path }) {
		return false, nil // these rows, or others before it was written again
	}
	has, err := list.Holds(ctx, all, workers)
	return !has, err
}

// tellTest reports the test of the current model, and adds it to the run's record.
func (s *Scheduler) tellTest(j *Job, state *State, run *pipeline.Scheduled, c certify.Certificate) error {
	t := state.Tests.Current
	r, err := t.Report(c)
	if err != nil {
		return err
	}
	run.Tested = r.Words()
	if n := t.Losses.Count(); n > 0 {
		run.Test = &pipeline.RowsTest{Certificate: t.Certificate, Rows: n, Loss: t.Losses.Upper(), Bound: r.Bound, Alarm: r.Alarm != ""}
	}
	s.tell(r.Alarm != "", fmt.Sprintf("%s: certificate %.12s…, which is current: %s", j.Name, t.Certificate, run.Tested))
	if s.Tested != nil {
		s.Tested(j, *t, r.Bound)
	}
	return nil
}
