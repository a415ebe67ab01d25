package model

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A position is the start of a search of a [Collapsed].
type position struct {
	parameters
	unit []float64 // [d]: the lengthscales in which Z moves
}

// findStart chooses the start, by trials if there are several, and allocates memory for it.
func (c *Collapsed) findStart(rows Rows) error {
	usual := rows
	if !c.cfg.Exact {
		usual = usualRows(rows.Slice(0, min(rows.Len(), c.cfg.startRows())))
	}
	positions, err := c.positions(rows, usual)
	if err != nil {
		return err
	}
	c.allocate(positions[0].z.Rows)
	if c.start = positions[0]; len(positions) == 1 {
		return nil
	}
	least, best := math.Inf(1), positions[0]
	for _, p := range positions {
		if value, end := c.try(p, usual); value < least {
			least, best = value, end
		}
	}
	c.start = best
	return nil
}

// positions returns those of the configured starts. Without any, it returns the published start and one found
// on the start rows.
func (c *Collapsed) positions(rows, usual Rows) ([]position, error) {
	var all []position
	for _, s := range c.cfg.Starts {
		all = append(all, c.positionOf(s, rows, usual))
	}
	if len(all) > 0 {
		return all, nil
	}
	all = append(all, c.positionOf(Start{Theta: make([]float64, c.cfg.Parameters())}, rows, usual))
	if c.cfg.Objective.bounds() && !c.cfg.Exact {
		p, err := c.trainedPosition(usual)
		return append(all, p), err
	}
	s, err := c.estimatedStart(usual)
	return append(all, c.positionOf(s, rows, usual)), err
}

// positionOf returns the position of a start. Its inducing points are the configured ones, k-means centres by
// its lengthscales or, for an exact process, all rows.
func (c *Collapsed) positionOf(s Start, rows, usual Rows) position {
	p := c.newPosition(parameters{theta: s.Theta, lnNoise: s.LnNoise})
	if c.cfg.Exact {
		p.z = view(slices.Clone(rows.X), rows.Dim)
		return p
	}
	if c.cfg.Z != nil {
		p.z = view(slices.Clone(c.cfg.Z), rows.Dim)
		return p
	}
	invScale := make([]float64, c.cfg.Dim)
	expandScales(s.Theta, c.cfg.of(c.cfg.Dim), invScale)
	rng := rand.New(rand.NewPCG(c.cfg.Seed, 0x7061637367700001)) //nolint:gosec // reproducible by intent
	p.z = kmeans(c.pool, usual, invScale, c.cfg.Inducing, rng.Perm)
	c.warning = fewerInducing(p.z.Rows, c.cfg.Inducing)
	return p
}

// trainedPosition returns the result of a [Trainer] on mini-batches of the start rows. That takes fewer
// operations than a few gradients on many rows.
func (c *Collapsed) trainedPosition(rows Rows) (position, error) {
	t, err := NewTrainer(c.cfg.Config, rows)
	if err != nil {
		return position{}, err
	}
	defer t.Close()
	for from := 0; t.phase == Joint; {
		if err := t.Begin(); err != nil {
			return position{}, err
		}
		for left := t.Want().Rows; left > 0; {
			n := min(left, rows.Len()-from)
			some := rows.Slice(from, from+n)
			if err := t.Add(some.X, some.Y); err != nil {
				return position{}, err
			}
			left, from = left-n, (from+n)%rows.Len()
		}
		if err := t.End(); err != nil {
			return position{}, err
		}
	}
	const noise = 0.3 // σ_n² where bounds are small, roughly
	p := c.newPosition(parameters{theta: t.theta, lnNoise: math.Log(noise)})
	p.z = t.z
	return p, nil
}

// estimatedStart returns the estimate of the exact process on some rows.
func (c *Collapsed) estimatedStart(rows Rows) (Start, error) {
	s, err := estimate(c.pool, rows.Slice(0, min(rows.Len(), EstimateRows)), 0, c.cfg.Kernel, c.cfg.Scales, func() {})
	if err != nil {
		return s, err
	}
	for i, g := range c.cfg.Grids {
		s.Theta[i] = g.clamp(s.Theta[i])
	}
	return s, nil
}

// newPosition returns the position with these parameters, in units of their lengthscales.
func (c *Collapsed) newPosition(p parameters) position {
	at := position{parameters: p, unit: make([]float64, c.cfg.Dim)}
	expandScales(p.theta, c.cfg.of(c.cfg.Dim), at.unit)
	for j, v := range at.unit {
		at.unit[j] = 1 / v
	}
	return at
}

// A trial is a short search on some of the start rows, with weights that sum to N.
const (
	trialRows = 4096 // or two for each inducing point, if that is more
	trial     = 20   // gradients
)

// try makes a trial from a position, and returns the lowest value and its position.
func (c *Collapsed) try(p position, rows Rows) (least float64, end position) {
	rows = rows.Slice(0, min(rows.Len(), max(trialRows, 2*p.z.Rows)))
	c.start, end, least = p, p, math.Inf(1)
	search := newDescent(c.free(p), trial)
	defer search.stop()
	for point := search.next(); point != nil; point = search.next() {
		e := c.evaluate(point, rows).orUnusable(len(point))
		if e.value < least {
			least, end = e.value, c.newPosition(c.parametersAt(point))
		}
		search.answer(e)
	}
	return least, end
}

// evaluate computes objective and gradient from rows in memory. The result has no gradient if the computation failed.
func (c *Collapsed) evaluate(point []float64, rows Rows) evaluation {
	c.point, c.at, c.pass = point, c.parametersAt(point), gatherPass
	c.fold.rowWeight = float64(c.cfg.N) / float64(rows.Len())
	defer func() { c.fold.rowWeight = 1 }()
	if c.prepare(c.at) != nil {
		return evaluation{}
	}
	for {
		c.fold.begin(c.pass)
		c.fold.add(rows.X, rows.Y)
		c.fold.flush()
		if done, err := c.complete(); err != nil {
			return evaluation{}
		} else if done {
			return c.pulled()
		}
	}
}
