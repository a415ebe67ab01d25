package model

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
)

// An evaluation is the value of an objective and its gradient by the free coordinates. A nil gradient says that
// the computation failed.
type evaluation struct {
	value    float64
	gradient []float64
}

// A descent is a minimisation by L-BFGS in a goroutine of its own. It sends a point and waits for the evaluation of
// the objective there. It depends on its start and the answers alone, so that the same answers restore it.
type descent struct {
	points  chan []float64  // to evaluate; closed at the end
	answers chan evaluation // closed by stop
}

// newDescent starts a descent with at most the given number of evaluations.
func newDescent(from []float64, evaluations int) *descent {
	s := &descent{make(chan []float64), make(chan evaluation)}
	go func() {
		defer close(s.points)
		s.minimize(from, evaluations)
	}()
	return s
}

// tolerance is that of the published experiments: for the value, relative to max(|F|, 1), and for the largest
// element of the gradient.
const tolerance = 1e-8

// remembered is the number of gradients in L-BFGS's model of the curvature. Fifty of them lower the bound half
// a percent further than ten after a hundred gradients.
const remembered = 50

// repeats bounds the evaluations of one point, because a line search with steps below the rounding of x would
// repeat it for ever. A working search needs two, for value and gradient.
const repeats = 20

var errStalled = errors.New("model: the line search makes no progress")

// minimize sends points and receives their evaluations, until L-BFGS or the number of evaluations ends it.
func (s *descent) minimize(from []float64, evaluations int) {
	var at []float64
	var known evaluation
	asked, repeated, ended := 0, 0, false
	least, lowest := math.Inf(1), from
	visit := func(x []float64) evaluation {
		if at != nil && slices.Equal(at, x) {
			repeated++
			return known
		}
		if repeated = 0; asked == evaluations {
			ended = true
			return evaluation{}
		}
		asked++
		at = slices.Clone(x)
		s.points <- at
		e, ok := <-s.answers
		if known, ended = e, ended || !ok; ok && e.value < least {
			least, lowest = e.value, at
		}
		return e
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { return visit(x).value },
		Grad: func(g, x []float64) { copy(g, visit(x).gradient) },
		Status: func() (optimize.Status, error) {
			if ended || asked == evaluations {
				return optimize.FunctionEvaluationLimit, nil
			}
			if repeated > repeats {
				return optimize.Failure, errStalled
			}
			return optimize.NotTerminated, nil
		},
	}
	// L-BFGS ends when a line search finds no lower point. While that lowers the value, it restarts from the
	// lowest point with a new model of the curvature.
	for {
		before := least
		settings := &optimize.Settings{GradientThreshold: tolerance, Converger: &optimize.FunctionConverge{Absolute: tolerance, Iterations: 3}}
		_, err := optimize.Minimize(problem, lowest, settings, &optimize.LBFGS{Store: remembered, Linesearcher: &optimize.MoreThuente{}})
		if err == nil || ended || asked == evaluations || !(least < before-tolerance) {
			return
		}
	}
}

// next returns the next point to evaluate; nil at the end.
func (s *descent) next() []float64 { return <-s.points }

func (s *descent) answer(e evaluation) { s.answers <- e }

// stop ends the goroutine and waits for it.
func (s *descent) stop() {
	close(s.answers)
	for range s.points { // the last one has no answer
	}
}
