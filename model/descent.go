package model

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/optimize"
)

// An evaluation is an objective's value and gradient by free coordinates.
type evaluation struct {
	value    float64
	gradient []float64
}

// A descent is a minimisation by L-BFGS in a goroutine of its own: it asks for the objective at
// a point and waits for the answer. It depends on the start and the answers alone: the same
// answers restore it.
type descent struct {
	points  chan []float64
	answers chan evaluation
	quit    chan struct{}
	gone    chan struct{}
}

// newDescent starts a descent of at most the given number of evaluations.
func newDescent(from []float64, evaluations int) *descent {
	s := &descent{points: make(chan []float64), answers: make(chan evaluation), quit: make(chan struct{}), gone: make(chan struct{})}
	go func() {
		defer close(s.gone)
		s.minimize(from, evaluations)
	}()
	return s
}

// The tolerance of the published experiments: for the value, relative to max(|F|, 1), and for the
// largest element of the gradient.
const tolerance = 1e-8

// remembered is the number of gradients in L-BFGS's model of the curvature. Fifty instead of ten
// lower the bound by half a percent after a hundred gradients.
const remembered = 50

// repeats bounds the evaluations of one point: a line search with steps below the rounding of x
// repeats it for ever. A working search needs two, for value and gradient.
const repeats = 20

var errStalled = errors.New("model: the line search makes no progress")

func (s *descent) minimize(from []float64, evaluations int) {
	var at []float64
	var known evaluation
	asked, repeated := 0, 0
	evaluate := func(x []float64) (evaluation, bool) {
		if at != nil && equal(at, x) {
			repeated++
			return known, true
		}
		repeated = 0
		if asked == evaluations {
			return evaluation{}, false
		}
		asked++
		point := append([]float64(nil), x...)
		select {
		case s.points <- point:
		case <-s.quit:
			return evaluation{}, false
		}
		select {
		case known = <-s.answers:
			at = point
			return known, true
		case <-s.quit:
			return evaluation{}, false
		}
	}
	ended := false
	least := math.Inf(1)
	lowest := from
	visit := func(x []float64) evaluation {
		e, ok := evaluate(x)
		ended = ended || !ok
		if ok && e.value < least {
			least, lowest = e.value, append([]float64(nil), x...)
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
	// A line search without a lower point ends L-BFGS. It may restart from the lowest point with
	// a new model of the curvature.
	for {
		before := least
		settings := &optimize.Settings{GradientThreshold: tolerance, Converger: &optimize.FunctionConverge{Absolute: tolerance, Iterations: 3}}
		_, err := optimize.Minimize(problem, lowest, settings, &optimize.LBFGS{Store: remembered, Linesearcher: &optimize.MoreThuente{}})
		if err == nil || ended || asked == evaluations || !(least < before-tolerance) {
			return
		}
	}
}

func equal(a, b []float64) bool {
	for i, v := range a {
		if v != b[i] {
			return false
		}
	}
	return true
}

// next returns the next point, nil at the end.
func (s *descent) next() []float64 {
	select {
	case p := <-s.points:
		return p
	case <-s.gone:
		return nil
	}
}

func (s *descent) answer(e evaluation) {
	select {
	case s.answers <- e:
	case <-s.gone:
	}
}

func (s *descent) stop() {
	close(s.quit)
	<-s.gone
}
