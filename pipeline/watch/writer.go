package watch

import (
	"context"
	"errors"
	"sync"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// A Store stores a state.
type Store interface {
	// Put replaces the stored state, atomically and durably.
	Put(s *State) error
}

// Config sets up a [Writer].
type Config[B any] struct {
	Store Store
	State *State   // the state to continue with
	Delta float64  // the probability of a false alarm
	Unit  []string // columns of files that identify units; nil if rows are counted
	// UnitOf returns the id of the unit of a row, "" if the row has none. It is nil if rows are counted.
	UnitOf func(extra B, row int) string
	// Known returns a function that returns why a row of a piece is not new, so that it does not count: it is in the
	// certificate's dataset, is older than the model, or is from elsewhere. For new rows it returns "".
	Known func(ctx context.Context, p score.Piece[B]) (func(extra B, row int) string, error)
	// Again reports whether the rows of a file were counted before, in a copy of the file. It is called after
	// AddPosition was called for all earlier files. If it is nil, no file is a copy.
	Again func(p score.Piece[B]) bool
	// AddPosition adds the position of a counted piece to the state. For files it is called with the last piece only.
	AddPosition func(s *State, p score.Piece[B], extra B)
	// Where returns the position of a row of a piece, for messages; for a file, its path.
	Where func(p score.Piece[B], extra B, row int) string
	// Left, if not nil, is called with the numbers of rows of a file that do not count, by reason.
	Left func(p score.Piece[B], rows map[string]int64)
	// Counted, if not nil, is called with the latest test each time it is stored.
	Counted func(by *score.Predictor, t Test)
}

// A Writer counts the losses of predictions. It writes no predictions.
type Writer[B any] struct {
	cfg Config[B]

	mu   sync.Mutex // guards the fields below
	done *State     // up to the last whole file or batch of records
	now  *State     // done and the pieces after it
	put  bool       // whether done is stored
	by   *score.Predictor
	left map[string]int64 // rows of the file so far that do not count, by reason
}

var _ score.Writer[score.Records] = (*Writer[score.Records])(nil)

// NewWriter returns a writer that continues with the state of cfg.
func NewWriter[B any](cfg Config[B]) *Writer[B] {
	return &Writer[B]{cfg: cfg, done: cfg.State, now: cfg.State.clone(), put: true}
}

// A counted holds what the rows of a piece add to a test.
type counted struct {
	losses                 []uint64       // of labelled rows, if rows are counted
	at                     []int          // for each loss, the number of the row in the piece
	units                  []unitRows     // in the order of their first rows
	positions              map[string]int // in units, by id
	unlabelled, bad, known int64
	left                   map[string]int64 // unlabelled, bad and known, by reason
}

// rows returns the number of rows of the piece.
func (c *counted) rows() int64 {
	n := int64(len(c.losses)) + c.unlabelled + c.bad + c.known
	for _, u := range c.units {
		n += u.losses.Count()
	}
	return n
}

// add adds what was counted in a piece, except for units.
func (t *Test) add(c counted) error {
	t.Unlabelled, t.Bad, t.Known = t.Unlabelled+c.unlabelled, t.Bad+c.bad, t.Known+c.known
	for _, loss := range c.losses {
		if err := t.Losses.AddUnits(loss); err != nil {
			return err
		}
	}
	return t.Alarm.Add(c.losses)
}

// Pack predicts a piece, and returns a function that counts its losses.
func (w *Writer[B]) Pack(ctx context.Context, p score.Piece[B]) (func(context.Context) error, score.Counts, error) {
	c := counted{left: map[string]int64{}}
	var n score.Counts
	var extra B // valid only during the call below, except for positions of records
	known, err := w.cfg.Known(ctx, p)
	if err != nil {
		return nil, n, err
	}
	err = p.Predict(ctx, func(rows []pipeline.Prediction, records B) error {
		extra = records
		n = n.Plus(score.Count(rows))
		for i := range rows {
			why := known(records, i)
			switch {
			case why != "":
				c.known++
			case rows[i].Labelled && w.cfg.UnitOf != nil:
				if why, err = c.seeIn(w.cfg.UnitOf(records, i), rows[i].Loss); err != nil {
					return err
				}
			case rows[i].Labelled:
				c.losses, c.at = append(c.losses, rows[i].Loss), append(c.at, i)
			case rows[i].Reason == "":
				c.unlabelled, why = c.unlabelled+1, "no target"
			default:
				c.bad, why = c.bad+1, rows[i].Reason
			}
			if why != "" {
				c.left[why]++
			}
		}
		return nil
	})
	return func(context.Context) error { return w.add(p, c, extra) }, n, err
}

// add counts a piece. The pieces of a file count once its last piece was added.
func (w *Writer[B]) add(p score.Piece[B], c counted, extra B) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.First == 0 { // drops the pieces of a file that failed before its end
		w.now, w.left = w.done.clone(), map[string]int64{}
	}
	if w.cfg.Again != nil && w.cfg.Again(p) {
		c = counted{known: c.rows(), left: map[string]int64{"counted before, in a copy": c.rows()}}
	}
	for why, rows := range c.left {
		w.left[why] += rows
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
	if w.cfg.Left != nil && len(w.left) > 0 {
		w.cfg.Left(p, w.left)
	}
	w.done, w.by, w.put = w.now, p.By, false
	w.now = w.done.clone()
	return nil
}

// Commit stores the state up to the last whole file or batch of records.
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

// Test returns the test of a predictor's certificate up to the last whole file or batch of records.
func (w *Writer[B]) Test(by *score.Predictor) (Test, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.done.clone().of(by, w.cfg.Delta, w.cfg.Unit)
	if err != nil {
		return Test{}, err
	}
	return *t, nil
}
