package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A Place has one current certificate, and its tests.
type Place struct {
	Name      string
	Partition int     // whose rows it is about; negative: all partitions of the member
	Current   Pointer // zero if nothing is current
	Known     Known
}

// Known is what is known of a place before a window. Zero means that no row has come. It is
// published in one transaction with the offsets of its rows, or before them: so a resumed window
// finds what was known before it, or that its own rows have tested.
type Known struct {
	Current *watch.Test            `json:"current,omitempty"`
	Of      pipeline.TopicIdentity `json:"of"`      // of the topic of the rows
	Offsets map[int]int64          `json:"offsets"` // behind the rows that have tested, by partition
	Pointed string                 `json:"pointed"` // id of a certificate
}

// Validate reports the faults of a stored value.
func (k *Known) Validate() error {
	var err error
	if k.Current != nil {
		err = k.Current.Validate()
	}
	for _, end := range k.Offsets {
		if end < 0 {
			err = errors.Join(err, errors.New("it has a negative offset"))
		}
	}
	return err
}

// A Turn is the change of a place by a window.
type Turn struct {
	Place

	Next   Known                // replaces Known
	Points *certify.Certificate // becomes current; nil: the pointer stays
	again  bool                 // the rows have tested before: that decision stays
	why    string               // reason of the decision about the window's certificate

	current *certify.Certificate // the one that was current, if it was read
}

// test tests the current certificates on the rows of a window, before anything is trained on all of
// them. The result is published with the window.
func (w *work) test(ctx context.Context, full *Window) (turns []Turn, err error) {
	places, err := w.Log.Places(ctx, full)
	if err != nil {
		return nil, err
	}
	inUse := map[string]Artifact{}
	for _, at := range places {
		t, err := w.testAt(ctx, at, full)
		if err != nil {
			return nil, err
		}
		if a, kept := w.kept[at.Current.ID]; kept {
			inUse[at.Current.ID] = a
		}
		turns = append(turns, t)
	}
	w.kept = inUse
	return turns, nil
}

// testAt tests the current certificate of a place.
func (w *work) testAt(ctx context.Context, at Place, full *Window) (t Turn, err error) {
	t = Turn{Place: at, Next: Known{Current: at.Known.Current, Of: full.Of, Offsets: maps.Clone(at.Known.Offsets), Pointed: at.Current.ID}}
	if at.Known.Of != full.Of || t.Next.Offsets == nil {
		t.Next.Current, t.Next.Offsets = nil, map[int]int64{}
	}
	rows := t.rows(full)
	if len(rows) == 0 {
		return t, w.decided(ctx, &t)
	}
	for _, i := range rows {
		partition := int(full.Segments[i].Partition)
		t.Next.Offsets[partition] = max(t.Next.Offsets[partition], full.Ends[partition])
	}
	if at.Current.ID == "" {
		return t, nil
	}
	tested, err := w.testBy(ctx, &t, full, rows)
	if ctx.Err() != nil {
		return t, ctx.Err()
	}
	if unfit, ok := errors.AsType[unfitError](err); ok {
		w.notice(fmt.Sprintf("new rows cannot test certificate %.12s…, which is current%s: %v", at.Current.ID, at.about(), unfit))
		return t, nil
	}
	if err != nil {
		return t, err
	}
	t.Next.Current = tested
	return t, w.tellTest(&t)
}

// decided repeats the decision of an earlier process about the same rows. Without a transaction
// the pointer may not have moved yet.
func (w *work) decided(ctx context.Context, t *Turn) error {
	t.again, t.Next, t.why = true, t.Known, "an earlier process has decided that"
	if id := t.Next.Pointed; id != "" && id != t.Current.ID {
		c, _, err := w.artifact(ctx, w.Log, id)
		if _, unfit := errors.AsType[unfitError](err); unfit {
			return nil // it may be the certificate of this window; otherwise the pointer stays
		}
		t.Points = &c
		return err
	}
	return nil
}

// about names the partition of a place, if it is about one.
func (p *Place) about() string {
	if p.Partition < 0 {
		return ""
	}
	return fmt.Sprintf(" for partition %d", p.Partition)
}

// rows are the segments of a window that a place is about, without those that have tested there.
func (t *Turn) rows(full *Window) (all []int) {
	for i, g := range full.Segments {
		if (t.Partition < 0 || int64(t.Partition) == g.Partition) && g.First >= t.Next.Offsets[int(g.Partition)] {
			all = append(all, i)
		}
	}
	return all
}

// testBy returns the test of the current certificate after some segments of a window.
func (w *work) testBy(ctx context.Context, t *Turn, full *Window, rows []int) (*watch.Test, error) {
	if t.Place.Current.Of != full.Of {
		return nil, unfitError{fmt.Errorf("it is about another topic of the name %s, which was made anew or is on another cluster", w.Topic)}
	}
	c := watch.Contender{ID: t.Place.Current.ID}
	var model []byte
	var err error
	if c.Certificate, model, err = w.artifact(ctx, w.Log, c.ID); err != nil {
		return nil, err
	}
	t.current = &c.Certificate
	if c.Model, c.Ready, err = w.ready(c.Certificate, model, full); err != nil {
		return nil, err
	}
	defer c.Ready.Close()
	res := w.How.Resources.WithDefaults()
	src, err := full.Rows.Open(ctx, pipeline.Choice{Features: c.Model.Meta.Inputs(), Encoded: c.Model.Meta.Encode, Target: c.Model.Meta.Target.Name, Mark: true, Decoders: res.Workers, Pages: res.PageMemory()})
	if err != nil {
		return nil, unfitError{c.Model.Meta.Lacks(err)}
	}
	if n := len(src.Shards()); n != len(full.Segments) {
		return nil, fmt.Errorf("the window has %d segments, and %d can be read", len(full.Segments), n)
	}
	test, err := c.Of(t.Next.Current)
	if err != nil {
		return nil, err
	}
	return test, c.Test(ctx, test, someShards{src, rows})
}

// ready makes a model ready, unless it has seen rows of the window.
func (w *work) ready(c certify.Certificate, model []byte, full *Window) (pipeline.Model, *pipeline.Ready, error) {
	if w.seen(c.Seen(), full) {
		return pipeline.Model{}, nil, unfitError{errors.New("its model has seen rows of this window")}
	}
	if err := certify.Recompute(c); err != nil {
		return pipeline.Model{}, nil, unfitError{err}
	}
	m, err := w.Decode(model)
	if err != nil {
		return m, nil, unfitError{err}
	}
	r, err := pipeline.NewReady(m, w.How.Resources.WithDefaults().Workers)
	if err != nil {
		err = unfitError{err}
	}
	return m, r, err
}

// tellTest reports the test of the current certificate.
func (w *work) tellTest(t *Turn) error {
	test := t.Next.Current
	r, err := test.Report(*t.current)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("certificate %.12s…, which is current%s: %s", test.Certificate, t.about(), r.Words())
	if r.Alarm != "" {
		w.notice(text)
	} else {
		w.event(text)
	}
	w.Events.Tested(t.Name, *test, r.Bound)
	return nil
}

// someShards are some shards of a source, as a source.
type someShards struct {
	pipeline.Source

	at []int
}

// Shards are the chosen ones, with ordinals from 0 on.
func (s someShards) Shards() (some []pipeline.Shard) {
	all, first := s.Source.Shards(), int64(0)
	for _, i := range s.at {
		shard := all[i]
		shard.First = first
		some, first = append(some, shard), first+shard.Rows
	}
	return some
}

// Open opens one of them.
func (s someShards) Open(ctx context.Context, i int) (pipeline.Batches, error) {
	return s.Source.Open(ctx, s.at[i])
}

// A deciding publisher decides what becomes current, once a window has its certificate.
type deciding struct {
	Publisher

	s     *Stream
	turns []Turn
}

// Publish publishes the results of a window with the decisions.
func (d deciding) Publish(ctx context.Context, all []*pipeline.Result, best *pipeline.Result, verdict error) error {
	for i := range d.turns {
		if err := d.s.decide(&d.turns[i], best, verdict); err != nil {
			return err
		}
	}
	return d.Publisher.Publish(ctx, all, d.turns)
}

// decide decides about the certificate of a window.
func (s *Stream) decide(t *Turn, best *pipeline.Result, verdict error) error {
	current := t.Place.Current.ID
	if t.again {
		if best != nil && best.ID == t.Next.Pointed && best.ID != current {
			t.Points = &best.Certificate
		}
		return nil
	}
	if certified := best != nil && verdict == nil; !certified || best.ID == current {
		return nil
	}
	d := watch.Decision{Moves: true}
	if t.current != nil && s.Promote.Within > 0 {
		var err error
		if d, err = s.Promote.Decide(*t.current, best.Certificate, s.How.Judge); err != nil {
			return err
		}
	}
	if t.why = d.Why; d.Moves {
		t.Points, t.Next.Pointed, t.Next.Current = &best.Certificate, best.ID, nil
	}
	return nil
}

// outcome says whether a window's certificate is current.
func outcome(turns []Turn, id string) string {
	var reasons []string
	for _, t := range turns {
		if t.Next.Pointed != id && !slices.Contains(reasons, t.why) {
			reasons = append(reasons, t.why)
		}
	}
	if len(reasons) == 0 {
		return "it is current"
	}
	return fmt.Sprintf("it is not current: %s", reasons[0])
}
