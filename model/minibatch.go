package model

import "slices"

// A searcher asks for an objective's value and gradient at one point after another. It depends on its start and
// the answers alone, so that the same answers restore it.
type searcher interface {
	next() []float64 // the next point; nil at the end
	answer(e evaluation)
	stop()
}

// A drift is a search by Adam with a fixed number of evaluations, since values of mini-batches are too noisy
// for a line search. The rate falls to zero over the second half.
type drift struct {
	point []float64
	moves adam
	most  int
}

// driftRate is the size of the first steps in each coordinate.
const driftRate = 0.03

func (d *drift) next() []float64 {
	if d.moves.steps == d.most {
		return nil
	}
	return slices.Clone(d.point)
}

// answer moves the point by a step of Adam.
func (d *drift) answer(e evaluation) {
	rate := driftRate * min(1, 2-2*float64(d.moves.steps)/float64(d.most))
	step := slices.Clone(e.gradient)
	d.moves.direction(step)
	for i, v := range step {
		d.point[i] -= float64(rate * v)
	}
}

func (*drift) stop() {}

// newSearch starts a search from c.start: a drift for mini-batches, a descent for all rows.
func (c *Collapsed) newSearch() searcher {
	if c.cfg.Batch > 0 {
		point := c.free(c.start)
		return &drift{point: point, moves: newAdam(len(point)), most: c.cfg.Evaluations}
	}
	return newDescent(c.free(c.start), c.cfg.Evaluations)
}

// batching reports whether the next pass is a mini-batch. Its n rows represent all: the objective, Q included,
// is that of N rows like these.
func (c *Collapsed) batching() bool { return c.stage == searching && c.cfg.Batch > 0 }
