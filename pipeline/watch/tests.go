package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A Promotion is the rule by which a certificate with the required guarantee becomes current. The
// zero value means always.
type Promotion struct {
	// Error is the probability that a challenger replaces a current model that is as good: the
	// challenger waits until it was better on rows that are new to both. 0 replaces at once.
	Error  float64
	MaxAge time.Duration // with Error: an older current certificate is replaced at once; 0 means no limit
}

// A Decision says whether a certificate becomes current, or waits for rows, and why.
type Decision struct {
	Moves, Waits bool
	Why          string
}

// Decide decides about a challenger; age is the time since the champion became current.
func (p Promotion) Decide(champion, challenger certify.Certificate, who pipeline.Judge, age time.Duration) Decision {
	why := pipeline.Incomparable(champion, challenger, who)
	switch {
	case why != "":
		return Decision{Why: "it cannot be compared with the current one: " + why}
	case p.Error > 0 && (p.MaxAge == 0 || age <= p.MaxAge):
		return Decision{Waits: true, Why: "it waits until it is better on rows that are new to both"}
	}
	has := challenger.Features()
	lost := slices.DeleteFunc(slices.Clone(champion.Features()), func(name string) bool { return slices.Contains(has, name) })
	switch {
	case len(lost) > 0:
		return Decision{Waits: p.Error > 0, Why: fmt.Sprintf("it lacks features of the current one, %q, which are constant or missing in its rows", lost)}
	case p.Error == 0:
		return Decision{Moves: true, Why: "it replaces the one before"}
	default:
		return Decision{Moves: true, Why: fmt.Sprintf("the one before was current for more than %v", p.MaxAge)}
	}
}

// Tests are those of the current certificate and of waiting ones on new rows, before any model was
// trained on these.
type Tests struct {
	Current     *Test        `json:"current,omitempty"`
	Challengers []Challenger `json:"challengers,omitempty"` // the newest last
}

// A Challenger is a certificate that becomes current once it is better on new rows.
type Challenger struct {
	ID      string         `json:"id"`
	Against string         `json:"against,omitempty"` // id of the current one; "" before the first row
	Paired  certify.Paired `json:"paired"`
}

// mostChallengers bounds the number of certificates that wait.
const mostChallengers = 3

// Validate reports the faults of stored tests.
func (t *Tests) Validate() error {
	var faults []error
	if t.Current != nil {
		faults = append(faults, t.Current.validate())
	}
	for i := range t.Challengers {
		if c := &t.Challengers[i]; c.Against != "" {
			faults = append(faults, c.Paired.Validate())
		}
	}
	return errors.Join(faults...)
}

// A Contender is a certificate whose model is ready to be tested.
type Contender struct {
	certify.Certificate

	ID    string
	Model pipeline.Model
	Ready *pipeline.Ready
}

// Close frees the models of contenders.
func Close(all []Contender) {
	for _, c := range all {
		if c.Ready != nil {
			c.Ready.Close()
		}
	}
}

// ErrGone says that a certificate is no longer there, or not to be tested.
var ErrGone = errors.New("it cannot be tested any more")

// Contenders returns the current certificate, then its challengers, and begins their tests. It
// drops challengers that are current or gone, with a message to told. Close what it returns, also
// with an error.
func (t *Tests) Contenders(ctx context.Context, current string, mistake float64, read func(ctx context.Context, id string) (Contender, error), told func(text string)) (all []Contender, err error) {
	champion, err := read(ctx, current)
	all = append(all, champion)
	if err != nil {
		return all, err
	}
	if t.Current == nil || t.Current.Certificate != current {
		alarm, err := certify.NewAlarm(BoundOf(champion.Certificate, nil), DefaultDelta)
		if err != nil {
			return all, err
		}
		t.Current = &Test{Certificate: current, Alarm: alarm}
	}
	var still []Challenger
	for _, c := range t.Challengers {
		m, err := read(ctx, c.ID)
		if c.ID == current || errors.Is(err, ErrGone) {
			Close([]Contender{m})
			why := "it is current"
			if c.ID != current {
				why = err.Error()
			}
			told(fmt.Sprintf("certificate %.12s… challenges no more: %s", c.ID, why))
			continue
		}
		if all = append(all, m); err != nil {
			return all, err
		}
		if c.Against != current {
			c.Against = current
			if c.Paired, err = certify.NewPaired(mistake); err != nil {
				return all, err
			}
		}
		still = append(still, c)
	}
	t.Challengers = still
	return all, nil
}

// Add tests contenders on rows that are new to all of them, from one source for each. The alarm is
// about the mean of the current one; challengers are compared by the losses of the judged predictor.
func (t *Tests) Add(ctx context.Context, all []Contender, sources []pipeline.Source, who pipeline.Judge) error {
	var models []*pipeline.Ready
	for _, c := range all {
		if models = append(models, c.Ready); who == pipeline.JudgeDraw && len(all) > 1 {
			c.Ready.WithDraws()
		}
	}
	loss := func(p *pipeline.Prediction) uint64 { return p.Loss }
	if who == pipeline.JudgeDraw {
		loss = func(p *pipeline.Prediction) uint64 { return p.DrawLoss }
	}
	return pipeline.PredictInStep(ctx, models, sources, func(rows [][]pipeline.Prediction) error { return t.add(rows, loss) })
}

// add adds the losses of some rows, of the current model and of each challenger.
func (t *Tests) add(rows [][]pipeline.Prediction, loss func(*pipeline.Prediction) uint64) error {
	champion := rows[0]
	if err := t.Current.Add(champion); err != nil {
		return err
	}
	for i := range t.Challengers {
		for k := range champion {
			if a, b := &champion[k], &rows[i+1][k]; a.Labelled && b.Labelled {
				if err := t.Challengers[i].Paired.Add(loss(a), loss(b)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Clone is a copy that can be added to.
func (t *Tests) Clone() Tests {
	c := Tests{Challengers: slices.Clone(t.Challengers)}
	for i := range c.Challengers {
		c.Challengers[i].Paired.Stakes = slices.Clone(c.Challengers[i].Paired.Stakes)
	}
	if t.Current != nil {
		test := *t.Current
		test.Alarm.Stakes = slices.Clone(test.Alarm.Stakes)
		c.Current = &test
	}
	return c
}

// Better is the index of the newest challenger that is better than the current certificate.
func (t *Tests) Better(current string) (i int, ok bool) {
	for i, c := range slices.Backward(t.Challengers) {
		if c.Paired.Better > 0 && c.Against == current {
			return i, true
		}
	}
	return 0, false
}

// Replace makes challenger i the current certificate. Newer challengers begin anew against it.
func (t *Tests) Replace(i int) { t.Current, t.Challengers = nil, t.Challengers[i+1:] }

// Why gives the evidence that a challenger is better.
func (c *Challenger) Why() string {
	return fmt.Sprintf("it was better at labelled row %d of %d that are new to both: if it were not, the probability of that would be at most %g", c.Paired.Better, c.Paired.Rows, c.Paired.Error)
}

// Wait adds a certificate that waits to be compared on new rows. If there are too many, it drops
// the one with the least evidence, of equal ones the oldest.
func (t *Tests) Wait(id string) {
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

// worth is the evidence for a challenger, 1 without rows.
func (c *Challenger) worth() (sum float64) {
	if c.Paired.Rows == 0 {
		return 1
	}
	for _, s := range c.Paired.Stakes {
		sum += s
	}
	return sum
}
