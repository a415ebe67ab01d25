package watch

import (
	"context"
	"errors"
	"sync"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// A Store keeps the state.
type Store interface {
	// Put replaces it as a whole, durably.
	Put(s *State) error
}

// Config sets up a [Writer].
type Config[B any] struct {
	Store Store
	State *State   // to go on with
	Delta float64  // of the alarm
	Unit  []string // columns that tell units apart, whose values are next to the rows of files; nil: rows are counted
	// UnitOf is the id of the unit of a row, "" if it has none. nil: rows are counted.
	UnitOf func(extra B, row int) string
	// Known returns a function that reports which rows of a piece are not new to its certificate:
	// rows of its sample, from before it, or from elsewhere.
	Known func(ctx context.Context, p score.Piece[B]) (func(extra B, row int) bool, error)
	// Again reports whether the rows of a file were counted before, in a copy of it. It is called
	// after AddPosition for all earlier files. nil means no.
	Again func(p score.Piece[B]) bool
	// AddPosition adds the position of a counted piece to the state; of a file, of its last piece.
	AddPosition func(s *State, p score.Piece[B], extra B)
	// Where is the position of a row of a counted piece; of a file, its path.
	Where func(p score.Piece[B], extra B, row int) string
	// Counted, if it is not nil, receives the latest test when it is stored.
	Counted func(by *score.Predictor, t Test)
}

// A Writer counts losses.
type Writer[B any] struct {
	cfg Config[B]

	mu   sync.Mutex // of the fields below
	done *State     // up to the last whole unit
	now  *State     // with the pieces behind it
	put  bool       // whether done is stored
	by   *score.Predictor
}

var _ score.Writer[score.Records] = (*Writer[score.Records])(nil)

// NewWriter returns a writer that goes on with a state.
func NewWriter[B any](cfg Config[B]) *Writer[B] {
	return &Writer[B]{cfg: cfg, done: cfg.State, now: cfg.State.clone(), put: true}
}

// counted is the addition of some rows to a test.
type counted struct {
	losses                 []uint64       // without units
	at                     []int          // their rows in the piece
	units                  []unitRows     // in the order of their first rows
	positions              map[string]int // of units
	unlabelled, bad, known int64
}

// rows are all rows of it.
func (c *counted) rows() int64 {
	n := int64(len(c.losses)) + c.unlabelled + c.bad + c.known
	for _, u := range c.units {
		n += u.losses.Count()
	}
	return n
}

// add adds what was counted.
func (t *Test) add(c counted) error {
	t.Unlabelled, t.Bad, t.Known = t.Unlabelled+c.unlabelled, t.Bad+c.bad, t.Known+c.known
	for _, loss := range c.losses {
		if err := t.Losses.AddUnits(loss); err != nil {
			return err
		}
	}
	return t.Alarm.Add(c.losses)
}

// Pack predicts a piece.
func (w *Writer[B]) Pack(ctx context.Context, p score.Piece[B]) (func(context.Context) error, score.Counts, error) {
	var c counted
	var n score.Counts
	var extra B // valid during the call below, except for positions of records, which the piece owns
	known, err := w.cfg.Known(ctx, p)
	if err != nil {
		return nil, n, err
	}
	err = p.Predict(ctx, func(rows []pipeline.Prediction, of B) error {
		extra = of
		n = n.Plus(score.Count(rows))
		for i := range rows {
			switch {
			case known(of, i):
				c.known++
			case rows[i].Labelled && w.cfg.UnitOf != nil:
				if err := c.seeIn(w.cfg.UnitOf(of, i), rows[i].Loss); err != nil {
					return err
				}
			case rows[i].Labelled:
				c.losses, c.at = append(c.losses, rows[i].Loss), append(c.at, i)
			case rows[i].Reason == "":
				c.unlabelled++
			default:
				c.bad++
			}
		}
		return nil
	})
	return func(context.Context) error { return w.add(p, c, extra) }, n, err
}

// add counts a piece. A file counts when it is whole.
func (w *Writer[B]) add(p score.Piece[B], c counted, extra B) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.First == 0 { // drops the pieces of a file that ended early
		w.now = w.done.clone()
	}
	if w.cfg.Again != nil && w.cfg.Again(p) {
		c = counted{known: c.rows()}
	}
	t, err := w.now.of(p.By, w.cfg.Delta, w.cfg.Unit)
	if err == nil {
		before := t.Alarm.Rows
		err = errors.Join(t.add(c), w.now.addUnits(t, c.units))
		if row := t.Alarm.Raised - before - 1; t.Where == "" && row >= 0 && row < int64(len(c.at)) {
			t.Where = w.cfg.Where(p, extra, c.at[row])
		}
	}
	if err != nil || p.File != (score.File{}) && !p.Last {
		return err
	}
	if err := w.now.endUnits(); err != nil {
		return err
	}
	for i := range w.now.Tests {
		if t := &w.now.Tests[i]; t.Alarm.Raised > 0 && t.Where == "" { // a unit that ended with this file
			t.Where = w.cfg.Where(p, extra, 0)
		}
	}
	w.now.Subject = p.By.Subject
	w.cfg.AddPosition(w.now, p, extra)
	w.done, w.by, w.put = w.now, p.By, false
	w.now = w.done.clone()
	return nil
}

// Commit stores what was counted.
func (w *Writer[B]) Commit(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.put {
		return nil
	}
	if err := w.cfg.Store.Put(w.done); err != nil {
		return err
	}
	w.put = true
	t, err := w.done.of(w.by, w.cfg.Delta, w.cfg.Unit)
	if err == nil && w.cfg.Counted != nil {
		w.cfg.Counted(w.by, *t)
	}
	return err
}

// Test is the test of a certificate up to the last whole unit.
func (w *Writer[B]) Test(by *score.Predictor) (Test, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.done.clone().of(by, w.cfg.Delta, w.cfg.Unit)
	if err != nil {
		return Test{}, err
	}
	return *t, nil
}
