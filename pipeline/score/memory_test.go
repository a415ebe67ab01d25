package score_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/pipeline/score/scoretest"
)

// Pointers are artifacts and a pointer in memory. They may be used by several goroutines.
type Pointers struct {
	mu        sync.Mutex
	now       string
	artifacts map[string]score.Artifact
}

var _ score.Pointers = (*Pointers)(nil)

// Put adds an artifact whose model has these features, and whose certificate is about a target
// of these words: with others it is about something else.
func (p *Pointers) Put(id string, rules []string, features ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := score.Artifact{ID: id, Certificate: certify.Certificate{Evidence: certify.Evidence{Loss: certify.TargetLoss{Target: strings.Join(rules, " ")}}}}
	for _, name := range features {
		a.Model.Meta.Features = append(a.Model.Meta.Features, job.Affine{Name: name})
	}
	if p.artifacts == nil {
		p.artifacts = map[string]score.Artifact{}
	}
	p.artifacts[id] = a
}

// Move moves the pointer, also to what is not there; "": nothing is current.
func (p *Pointers) Move(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = id
}

// Current returns the pointer.
func (p *Pointers) Current(context.Context) (pipeline.Current, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == "" {
		return pipeline.Current{}, errors.New("nothing is current")
	}
	return pipeline.Current{ArtifactRef: pipeline.ArtifactRef{ID: p.now}, Predictor: certify.PredictorMean}, nil
}

// Artifact returns an artifact.
func (p *Pointers) Artifact(_ context.Context, at pipeline.Current) (score.Artifact, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, ok := p.artifacts[at.ID]
	if !ok {
		return a, score.Later(fmt.Errorf("%s: %w", at.ID, fs.ErrNotExist))
	}
	return a, nil
}

// Nothing stands next to predictions in memory.
type Nothing struct{}

// Files are files of rows in memory. A row's prediction is its number.
type Files struct {
	Names   []string
	Rows    int // of each
	Batch   int // rows of a piece
	Columns []string
	Bad     map[string]int // number of the first row that cannot be read, by file
	Before  func()         // is called before each piece is predicted; or nil
	Idle    func()         // is called before the reader says that no file is there at the moment; nil: it never says so
}

var _ score.Reader[Nothing] = (*Files)(nil)

// Read hands on the files.
func (r *Files) Read(ctx context.Context, use func(score.Unit[Nothing]) error) error {
	for _, name := range r.Names {
		if err := cmp.Or(ctx.Err(), use(file{r, name})); err != nil {
			return err
		}
	}
	if r.Idle == nil {
		return nil
	}
	r.Idle()
	return use(nil)
}

type file struct {
	of   *Files
	name string
}

// File names the file.
func (f file) File(context.Context) (score.File, error) {
	return score.File{Path: f.name, Name: f.name, Digest: "digest"}, nil
}

// Fits compares the columns.
func (f file) Fits(_ context.Context, m pass.Model) error {
	for _, name := range m.Meta.FeatureNames() {
		if !slices.Contains(f.of.Columns, name) {
			return fmt.Errorf("%s has no column %q", f.name, name)
		}
	}
	return nil
}

// Cut hands on batches.
func (f file) Cut(ctx context.Context, _ *score.Predictor, next func(score.Piece[Nothing]) error) error {
	for first := 0; ; first += f.of.Batch {
		end := min(first+f.of.Batch, f.of.Rows)
		if bad, ok := f.of.Bad[f.name]; ok && bad < end {
			return fmt.Errorf("%s: row %d cannot be read", f.name, bad)
		}
		p := Piece(first, end-first, end == f.of.Rows)
		predict := p.Predict
		p.Predict = func(ctx context.Context, use func([]pipeline.Prediction, Nothing) error) error {
			if f.of.Before != nil {
				f.of.Before()
			}
			return predict(ctx, use)
		}
		if err := cmp.Or(ctx.Err(), next(p)); err != nil || end == f.of.Rows {
			return err
		}
	}
}

// Piece is the predictions of so many rows from one on: their numbers.
func Piece(first, rows int, last bool) score.Piece[Nothing] {
	return scoretest.PieceWith(first, rows, last, Nothing{})
}

// A Row is a prediction that is there.
type Row struct {
	Row int64
	By  string // id of the certificate
}

// Memory is where predictions go in memory. It outlives the writers to it.
type Memory struct {
	mu   sync.Mutex
	rows map[string][]Row
	done map[string]bool
}

// Rows are the predictions that are there for good, by file. The caller owns the map.
func (p *Memory) Rows() map[string][]Row {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.rows)
}

// Writer writes to a memory: what is not committed is lost with it.
type Writer struct {
	of *Memory
	// Step is called before each step; its error ends the step. Nil: nothing happens.
	Step func(what string) error

	rows map[string][]Row // sent, and not committed
	done map[string]bool
}

var _ score.Writer[Nothing] = (*Writer)(nil)

// Open begins to write, as another process does.
func (p *Memory) Open() *Writer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rows == nil {
		p.rows, p.done = map[string][]Row{}, map[string]bool{}
	}
	return &Writer{of: p, rows: map[string][]Row{}, done: map[string]bool{}}
}

func (w *Writer) step(what string) error {
	if w.Step == nil {
		return nil
	}
	return w.Step(what)
}

// Has reports whether a file has all its predictions.
func (w *Writer) Has(f score.File) (bool, error) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	return w.of.done[f.Name], nil
}

// Pack keeps the predictions of a piece that are not there yet.
func (w *Writer) Pack(ctx context.Context, p score.Piece[Nothing]) (_ func(context.Context) error, n score.Counts, err error) {
	if err := w.step("pack"); err != nil {
		return nil, n, err
	}
	name := p.File.Name
	var rows []Row
	err = p.Predict(ctx, func(batch []pipeline.Prediction, _ Nothing) error {
		w.of.mu.Lock()
		known := int64(len(w.of.rows[name]))
		w.of.mu.Unlock()
		for _, one := range batch {
			if one.Ordinal >= known {
				rows = append(rows, Row{one.Ordinal, p.By.ID})
			}
		}
		n.Rows = int64(len(rows))
		return nil
	})
	return func(context.Context) error {
		if err := w.step("send"); err != nil {
			return err
		}
		w.rows[name] = append(w.rows[name], rows...)
		w.done[name] = w.done[name] || p.Last
		return nil
	}, n, err
}

// Commit makes what was sent be there for good.
func (w *Writer) Commit(context.Context) error {
	if err := w.step("commit"); err != nil {
		return err
	}
	w.of.mu.Lock()
	for name, rows := range w.rows {
		w.of.rows[name] = append(w.of.rows[name], rows...)
	}
	maps.Copy(w.of.done, w.done)
	w.rows, w.done = map[string][]Row{}, map[string]bool{}
	w.of.mu.Unlock()
	return w.step("committed")
}
