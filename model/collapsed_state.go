package model

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// collapsedFormat begins every state of a [Collapsed] and names its version.
const collapsedFormat = "pacsgp-collapsed/4"

// MarshalBinary returns the whole state between two passes. A trainer resumed from it repeats the passes of an
// unfinished evaluation. It is an error to call it between Begin and End.
func (c *Collapsed) MarshalBinary() ([]byte, error) {
	if c.open {
		return nil, errors.New("model: state asked for inside a pass")
	}
	var out bytes.Buffer
	w := beginState(&out, collapsedFormat, c.cfg.fingerprint())
	w.Integers(int64(c.Inducing()))
	w.Floats(c.start.theta...)
	w.Floats(c.start.lnNoise)
	w.Floats(c.start.z.Data...)
	w.Integers(int64(len(c.answers)))
	for _, a := range c.answers {
		w.Floats(a.value)
		w.Floats(a.gradient...)
	}
	w.Integers(int64(c.stage), int64(c.evaluated))
	w.Text(c.warning)
	w.Floats(c.last.Bound, c.last.Risk, c.last.KL, c.last.LnInverseWeight, c.best.value)
	for _, v := range [][]float64{c.best.point, c.mean, c.precision} {
		w.Integers(int64(len(v)))
		w.Floats(v...)
	}
	err := w.Close()
	return out.Bytes(), err
}

// ResumeCollapsed returns the trainer whose state was written, under the same configuration except for Workers.
// A state that does not fit is an [ErrState]. Close the trainer after use.
func ResumeCollapsed(cfg CollapsedConfig, state []byte) (*Collapsed, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	r := openState(state, collapsedFormat, cfg.fingerprint())
	list := func(n int) []float64 {
		if r.Err() != nil || n == 0 {
			return nil
		}
		v := make([]float64, n)
		r.Floats(v)
		return v
	}
	m := r.Count(8 * int64(cfg.Dim))
	if m < 1 || !cfg.Exact && m > cfg.Inducing {
		r.Failf("it has %d inducing points", m)
	}
	c, coordinates := &Collapsed{cfg: cfg}, cfg.coordinates(m)
	if theta := list(cfg.Parameters()); theta != nil {
		c.start = c.newPosition(parameters{theta: theta, lnNoise: r.Float()})
	}
	c.start.z = view(list(m*cfg.Dim), cfg.Dim)
	for range r.Count(8 * int64(coordinates+1)) {
		c.answers = append(c.answers, evaluation{r.Float(), list(coordinates)})
	}
	c.stage, c.evaluated = stage(r.UpTo(int64(finished))), int(r.Integer())
	c.warning = r.Text(longestText)
	c.last.Bound, c.last.Risk, c.last.KL, c.last.LnInverseWeight, c.best.value = r.Float(), r.Float(), r.Float(), r.Float(), r.Float()
	for _, v := range []*[]float64{&c.best.point, &c.mean, &c.precision} {
		*v = list(r.Count(8))
	}
	if r.Err() == nil && !c.fits(m, coordinates) {
		r.Failf("its parts do not fit each other")
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	c.pool = linalg.NewPool(cfg.Workers)
	if c.Done() {
		return c, nil
	}
	c.allocate(m)
	if c.stage == settling {
		c.settle()
	} else if !c.launch() {
		c.Close()
		return nil, fmt.Errorf("%w: its search ends before its answers do", ErrState)
	}
	return c, nil
}

// coordinates returns the number of free coordinates of a search with m inducing points.
func (c CollapsedConfig) coordinates(m int) int {
	n := c.Parameters() + 1
	if !c.Exact {
		n += m * c.Dim
	}
	return n
}

// fits reports whether the parts of a state belong together. The checksum finds accidents, not forgeries.
func (c *Collapsed) fits(m, coordinates int) bool {
	found := len(c.best.point) == coordinates
	switch c.stage {
	case searching:
		return found || c.best.point == nil && len(c.answers) == 0
	case settling:
		return found
	case finished:
		return found && len(c.mean) == m && len(c.precision) == m*m
	}
	return false
}

// fingerprint hashes everything that the course of training depends on.
func (c CollapsedConfig) fingerprint() string {
	posterior := c.Alpha
	if c.PosteriorAlpha != nil {
		posterior = *c.PosteriorAlpha
	}
	text := fmt.Appendf(nil, "%s %d %x %t %x %t %x %d", c.Config.fingerprint(), c.Objective, c.Alpha, c.PosteriorAlpha != nil, posterior, c.Exact, c.Starts, c.Evaluations)
	if c.Z != nil {
		text = fmt.Appendf(text, " %x", c.Z)
	}
	if c.Batch > 0 {
		text = fmt.Appendf(text, " batch %d", c.Batch)
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}
