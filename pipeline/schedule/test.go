package schedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// Tests are what new rows have said of models, before any model was trained on them.
type Tests struct {
	Current     *watch.Test  `json:"current,omitempty"`     // of the current certificate
	Challengers []Challenger `json:"challengers,omitempty"` // the newest last
	Lots        []string     `json:"lots,omitempty"`        // what tells files and windows that have tested: by name, by path, and by their values
}

// A Challenger is a certificate that is to become current once it is better on new rows.
type Challenger struct {
	ID      string         `json:"id"`
	Against string         `json:"against,omitempty"` // id of the current one; "": no row has come yet
	Paired  certify.Paired `json:"paired"`
}

const (
	// alarmDelta is the probability of a false alarm of a certificate.
	alarmDelta = watch.DefaultDelta
	// mostChallengers is how many wait at the same time.
	mostChallengers = 3
)

// A part is new rows of a run: a file, or a window.
type part struct {
	key    string
	path   string // of a file
	rows   pipeline.Rows
	window *pipeline.TopicWindow // or nil
}

// parts are those of a run's files or its window that have tested no model.
func (of lot) parts(j *Job, run *pipeline.Scheduled, known *State) (all []part) {
	had := map[string]bool{}
	for _, key := range known.Tests.Lots {
		had[key] = true
	}
	if run.Window != nil && !had[of.digest] {
		all = append(all, part{of.digest, "", of.rows, run.Window})
	}
	for _, f := range of.files {
		if key := takenKey(f.ManifestFile); !had[key] {
			all = append(all, part{key, f.Path, j.Lake.Rows([]File{f}), nil})
		}
	}
	return all
}

// note notes a part that tests, and reports whether its path had other rows before: then some of
// its rows may have been there.
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

// A tested model is one that rows test.
type tested struct {
	certify.Certificate

	id    string
	ready *pipeline.Ready
	model pipeline.Model
}

// test tests the current model and its challengers by the rows of a run that are new to them, before
// anything is trained on them. Its result is in known, to be stored by the caller: rows that could
// not be read have tested nothing.
func (s *Scheduler) test(ctx context.Context, j *Job, known *State, run *pipeline.Scheduled, of lot) error {
	parts := of.parts(j, run, known)
	current, err := j.Output.Current()
	if err != nil || len(parts) == 0 {
		return err
	}
	if current == nil {
		for _, p := range parts {
			known.Tests.note(p)
		}
		return nil
	}
	models, err := s.models(ctx, j, known, current.ID)
	defer func() {
		for _, m := range models {
			m.ready.Close()
		}
	}()
	if err != nil {
		return err
	}
	for _, p := range parts {
		next := known.Tests.clone()
		if next.note(p) {
			s.tell(true, fmt.Sprintf("%s: %s was written again since it tested: it has no new rows (hint: put rows that come into new files)", j.Name, p.path))
			known.Tests = *next
			continue
		}
		if err := j.testBy(ctx, p, models, next); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			s.tell(true, fmt.Sprintf("%s: new rows cannot test the current model: %v", j.Name, err))
			continue
		}
		known.Tests = *next
	}
	return s.tellTest(j, known, run, models[0].Certificate)
}

// models are the current model and its challengers, ready to predict, with their tests in known. A
// challenger that is gone is dropped.
func (s *Scheduler) models(ctx context.Context, j *Job, known *State, current string) (all []tested, err error) {
	champion, err := j.ready(ctx, current)
	if err != nil {
		return nil, err
	}
	all = append(all, champion)
	if t := known.Tests.Current; t == nil || t.Certificate != current {
		alarm, err := certify.NewAlarm(watch.BoundOf(champion.Certificate), alarmDelta)
		if err != nil {
			return all, err
		}
		known.Tests.Current = &watch.Test{Certificate: current, Alarm: alarm}
	}
	var still []Challenger
	for _, c := range known.Tests.Challengers {
		m, err := j.ready(ctx, c.ID)
		if c.ID == current || err != nil && j.gone(ctx, c.ID) {
			s.tell(false, fmt.Sprintf("%s: certificate %.12s… challenges no more: it is current, or not in the output any more", j.Name, c.ID))
			continue
		}
		if err != nil {
			return all, err
		}
		if c.Against != current {
			c.Against = current
			if c.Paired, err = certify.NewPaired(j.Promote.Error); err != nil {
				return append(all, m), err
			}
		}
		all, still = append(all, m), append(still, c)
	}
	known.Tests.Challengers = still
	return all, nil
}

// ready reads a certificate of the output with its model.
func (j *Job) ready(ctx context.Context, id string) (t tested, err error) {
	t.id = id
	if t.Certificate, err = j.contender(ctx, id); err != nil {
		return t, err
	}
	if t.model, err = j.Output.GetModel(ctx, t.Model.Digest); err == nil {
		t.ready, err = pipeline.NewReady(t.model, j.How.Resources.WithDefaults().Workers)
	}
	return t, err
}

// testBy tests models by some rows. Those that were tested by under another name are no news, nor are
// those of the sample of one of the models: before it was trained on them they have tested.
func (j *Job) testBy(ctx context.Context, p part, models []tested, to *Tests) error {
	before := to.Lots
	res := j.How.Resources.WithDefaults()
	var sources []pipeline.Source
	var readies []*pipeline.Ready
	for _, m := range models {
		src, err := p.rows.Open(ctx, pipeline.Choice{Features: m.model.Meta.Inputs(), Target: m.model.Meta.Target.Name, Mark: true, Decoders: res.Workers, Pages: res.PageMemory() / int64(len(models))})
		if err != nil {
			return m.model.Meta.Lacks(err)
		}
		if news, err := j.isNews(ctx, p, m, src, before, to); !news || err != nil {
			return err
		}
		sources, readies = append(sources, src), append(readies, m.ready)
	}
	return pipeline.PredictInStep(ctx, readies, sources, to.add)
}

// isNews reports whether rows are none of a model's sample, and were not tested by before under
// another name.
func (j *Job) isNews(ctx context.Context, p part, m tested, src pipeline.Opened, before []string, to *Tests) (bool, error) {
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
	if slices.Contains(before, digest.String()) {
		return false, nil
	}
	if !slices.Contains(to.Lots[len(before):], digest.String()) {
		to.Lots = append(to.Lots, digest.String())
	}
	list, err := j.Output.GetManifest(m.Certificate, m.id)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(list.Files, func(f pipeline.ManifestFile) bool { return f.Path == p.path }) {
		return false, nil // these rows, or others before it was written again
	}
	has, err := list.Holds(ctx, src, workers)
	return !has, err
}

// add adds the losses of some rows: those of the current model, and those of each challenger.
func (t *Tests) add(rows [][]pipeline.Prediction) error {
	champion := rows[0]
	if err := t.Current.Add(champion); err != nil {
		return err
	}
	for i := range t.Challengers {
		for k := range champion {
			if a, b := &champion[k], &rows[i+1][k]; a.Labelled && b.Labelled {
				if err := t.Challengers[i].Paired.Add(a.Loss, b.Loss); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// clone is a copy that can be added to.
func (t *Tests) clone() *Tests {
	c := *t
	c.Lots, c.Challengers = slices.Clone(t.Lots), slices.Clone(t.Challengers)
	for i := range c.Challengers {
		c.Challengers[i].Paired.Stakes = slices.Clone(c.Challengers[i].Paired.Stakes)
	}
	if t.Current != nil {
		test := *t.Current
		test.Alarm.Stakes = slices.Clone(test.Alarm.Stakes)
		c.Current = &test
	}
	return &c
}

// tellTest says what new rows have said of the current model, and notes it in the run's record.
func (s *Scheduler) tellTest(j *Job, known *State, run *pipeline.Scheduled, c certify.Certificate) error {
	t := known.Tests.Current
	r, err := t.Report(c)
	if err != nil {
		return err
	}
	run.Tested = r.Statement
	if r.Alarm != "" {
		run.Tested = "alarm: " + r.Alarm + ". " + r.Statement
	}
	s.tell(r.Alarm != "", fmt.Sprintf("%s: certificate %.12s…, which is current: %s", j.Name, t.Certificate, run.Tested))
	if s.Tested != nil {
		s.Tested(j, *t, r.Bound)
	}
	return nil
}

// replace makes the newest challenger current that is better. Those behind it begin anew against it.
// It comes when the rows that decided are recorded as such, lest they test the new one too.
func (s *Scheduler) replace(ctx context.Context, j *Job, known *State, now time.Time) error {
	all := known.Tests.Challengers
	current, err := j.Output.Current()
	if err != nil || current == nil {
		return err
	}
	for i, c := range slices.Backward(all) {
		if c.Paired.Better == 0 || c.Against != current.ID {
			continue
		}
		next, err := j.contender(ctx, c.ID)
		if err != nil {
			return err
		}
		why := fmt.Sprintf("it was better at row %d of %d that are new to both: if it were not, the probability of that would be at most %g", c.Paired.Better, c.Paired.Rows, c.Paired.Error)
		if err := pipeline.PointTo(j.Output, next, pipeline.ArtifactRef{ID: c.ID, Model: next.Model.Digest}, j.Judge, now); err != nil {
			return err
		}
		s.tell(false, fmt.Sprintf("%s: certificate %.12s… is now current: %s", j.Name, c.ID, why))
		known.Tests.Current, known.Tests.Challengers = nil, all[i+1:]
		r, err := j.last(func(r *pipeline.RunState) bool { return Certificate(r) == c.ID })
		if err == nil && r != nil {
			r.Scheduled.Current, r.Scheduled.Waits, r.Scheduled.Why = true, false, why
			err = j.Output.PutRun(r)
		}
		return err
	}
	return nil
}

// challenger notes a certificate that waits for rows to be compared on. If there is no room, the one
// goes for which rows speak least, of equal ones the oldest.
func (t *Tests) challenger(id string) {
	if slices.ContainsFunc(t.Challengers, func(c Challenger) bool { return c.ID == id }) {
		return
	}
	for len(t.Challengers) >= mostChallengers {
		least := 0
		for i := range t.Challengers {
			if t.Challengers[i].worth() < t.Challengers[least].worth() {
				least = i
			}
		}
		t.Challengers = slices.Delete(t.Challengers, least, least+1)
	}
	t.Challengers = append(t.Challengers, Challenger{ID: id})
}

// worth is the evidence for a challenger: 1 without any row.
func (c *Challenger) worth() (sum float64) {
	if c.Paired.Rows == 0 {
		return 1
	}
	for _, s := range c.Paired.Stakes {
		sum += s
	}
	return sum
}
