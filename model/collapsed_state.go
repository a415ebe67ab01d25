package model

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/internal/frame"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// collapsedFormat begins every state of a [Collapsed] and names its version.
const collapsedFormat = "pacsgp-collapsed/1"

// MarshalBinary returns the whole state between two passes. The passes of an evaluation
// that has begun are made again. It is an error to call it between Begin and End.
func (c *Collapsed) MarshalBinary() ([]byte, error) {
	if c.open {
		return nil, errors.New("model: state asked for inside a pass")
	}
	var out bytes.Buffer
	w := frame.NewWriter(&out, collapsedFormat)
	w.Text(linalg.InstructionSet())
	w.Text(c.cfg.fingerprint())
	w.Integers(int64(c.z0.Rows))
	w.Floats(c.z0.Data...)
	w.Integers(int64(c.stage), int64(c.start), int64(c.evaluated))
	w.Text(c.notice)
	w.Floats(c.last.Bound, c.last.Risk, c.last.KL, c.last.LnInverseWeight, c.best.value)
	for _, v := range [][]float64{c.best.point, c.mean, c.precision} {
		w.Integers(int64(len(v)))
		w.Floats(v...)
	}
	w.Integers(int64(len(c.answers)))
	for _, a := range c.answers {
		w.Floats(a.value)
		w.Floats(a.gradient...)
	}
	err := w.Close()
	return out.Bytes(), err
}

// ResumeCollapsed returns the trainer whose state was written, under the same
// configuration. Workers may differ.
func ResumeCollapsed(cfg CollapsedConfig, state []byte) (*Collapsed, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	const longest = 1 << 16 // of texts, bytes
	r := frame.NewReader(bytes.NewReader(state), int64(len(state)), collapsedFormat)
	if set := r.Text(longest); set != linalg.InstructionSet() {
		r.Failf("written with instruction set %q, this machine uses %q", set, linalg.InstructionSet())
	}
	if r.Text(longest) != cfg.fingerprint() {
		r.Failf("it belongs to another configuration")
	}
	list := func(n int) []float64 {
		if r.Err() != nil || n == 0 {
			return nil
		}
		v := make([]float64, n)
		r.Floats(v)
		return v
	}
	m := r.Count(8 * int64(cfg.Dim))
	c := &Collapsed{cfg: cfg}
	c.z0 = linalg.Mat{Rows: m, Cols: cfg.Dim, Stride: cfg.Dim, Data: list(m * cfg.Dim)}
	c.stage = stage(r.UpTo(int64(finished)))
	c.start, c.evaluated = int(r.UpTo(int64(len(cfg.Starts)))), int(r.Integer())
	c.notice = r.Text(longest)
	c.last.Bound, c.last.Risk, c.last.KL, c.last.LnInverseWeight, c.best.value = r.Float(), r.Float(), r.Float(), r.Float(), r.Float()
	for _, v := range []*[]float64{&c.best.point, &c.mean, &c.precision} {
		*v = list(r.Count(8))
	}
	coordinates := cfg.coordinates(m)
	for range r.Count(8 * int64(coordinates+1)) {
		value := r.Float()
		c.answers = append(c.answers, evaluation{value, list(coordinates)})
	}
	if !c.fits(m, len(cfg.Starts), coordinates) {
		r.Failf("its parts do not fit each other")
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	c.pool = linalg.NewPool(cfg.Workers)
	if c.Done() {
		return c, nil
	}
	c.allocate()
	if c.stage == settling {
		c.settle()
	} else {
		c.begin()
	}
	return c, nil
}

// coordinates is the number of free ones, of m inducing points.
func (c CollapsedConfig) coordinates(m int) int {
	n := c.Parameters() + 1
	if c.FreeAlpha {
		n++
	}
	if !c.Exact {
		n += m * c.Dim
	}
	return n
}

// fits reports whether the parts of a state belong together: a sum finds accidents, not
// forgeries.
func (s *collapsedState) fits(m, starts, coordinates int) bool {
	found := len(s.best.point) == coordinates
	switch s.stage {
	case searching:
		return m >= 1 && s.start < starts && (found || s.best.point == nil && len(s.answers) == 0)
	case settling:
		return m >= 1 && found
	case finished:
		return m >= 1 && found && len(s.mean) == m && len(s.precision) == m*m
	}
	return false
}

// fingerprint hashes what the course of training depends on.
func (c CollapsedConfig) fingerprint() string {
	posterior := c.Alpha
	if c.PosteriorAlpha != nil {
		posterior = *c.PosteriorAlpha
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %x %t %t %x %t %x %d", c.Config.fingerprint(), c.Objective, c.Alpha, c.FreeAlpha, c.PosteriorAlpha != nil, posterior, c.Exact, c.Starts, c.Evaluations))
	return string(sum[:])
}

// MemoryOfCollapsed counts for m inducing points, d features and up to the given number of
// evaluations, whose gradients a search that goes on from its state is given again.
func MemoryOfCollapsed(m, d, evaluations, workers int) Memory {
	number := func(counts ...int) (bytes int64) {
		for _, n := range counts {
			bytes += 8 * int64(n)
		}
		return bytes
	}
	square := m * m
	// K_ZZ, its slopes, L, inverses and scratch; six of the fold; six of the evaluator.
	trainer := number(18*square, 5*sweepBlock*m, evaluations*m*d, max(1, workers)*(3*sweepBlock*m/2+2*packedRows*min(m, packedDepth)))
	return Memory{
		Start:  trainer,
		Step:   trainer,
		State:  number(square, evaluations*m*d, 2*m*d),
		Result: trainer + number(4*square),
		Pass:   number(8*square, m*d, max(1, workers)*2*predictBlock*m),
	}
}
