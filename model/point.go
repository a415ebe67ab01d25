package model

import (
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// parameters determine a [Collapsed] posterior.
type parameters struct {
	theta   []float64 // ln lengthscales, ln variance
	lnNoise float64
	z       linalg.Mat
}

// logarithms are the limits of v, the logarithm of a positive parameter. A search moves a free number u instead,
//
//	exp v = exp least + ln(1 + exp u),
//
// and above most v is constant. These are the coordinates of the published experiments (GPflow): a long first
// step makes a variance large, but not exponentially large. With v as coordinate, most searches on the data set
// boston ended at a noise so large that it explains most rows.
type logarithms struct{ least, most float64 }

// value returns the v of u, and dv/du.
func (l logarithms) value(u float64) (v, slope float64) {
	positive := math.Exp(l.least) + max(0, u) + math.Log1p(math.Exp(-math.Abs(u)))
	if v = math.Log(positive); v >= l.most {
		return l.most, 0
	}
	return v, 1 / (1 + math.Exp(-u)) / positive
}

// free returns the u of a value v, which it first moves a little inside the limits.
func (l logarithms) free(v float64) float64 {
	const edge = 1e-3
	inside := edge * (l.most - l.least)
	if inside == 0 {
		return 0
	}
	x := math.Exp(max(l.least+inside, min(l.most-inside, v))) - math.Exp(l.least)
	return x + math.Log(-math.Expm1(-x))
}

var ofNoise = logarithms{math.Log(1e-8), math.Log(1e8)}

// ofTheta returns the limits of hyper-parameter i, those of its grid.
func (c *Collapsed) ofTheta(i int) logarithms {
	g := c.cfg.Grids[i]
	return logarithms{g.Min, g.Value(g.Count - 1)}
}

// free returns the free coordinates of a position: those of θ, ln σ_n² and, unless the process is exact, Z. Z
// is in lengthscales of the position, so that one step size suits all coordinates.
func (c *Collapsed) free(p position) []float64 {
	var u []float64
	for i, v := range p.theta {
		u = append(u, c.ofTheta(i).free(v))
	}
	u = append(u, ofNoise.free(p.lnNoise))
	if !c.cfg.Exact {
		u = append(u, p.z.Data...)
		scaleColumns(u[len(u)-len(p.z.Data):], p.unit, true)
	}
	return u
}

// scaleColumns multiplies the columns of z [M×d] by unit [d], or divides them.
func scaleColumns(z, unit []float64, divide bool) {
	for i := range z {
		if u := unit[i%len(unit)]; divide {
			z[i] /= u
		} else {
			z[i] *= u
		}
	}
}

// parametersAt returns the parameters at a point in free coordinates.
func (c *Collapsed) parametersAt(u []float64) parameters {
	p := parameters{theta: make([]float64, c.cfg.Parameters()), z: c.start.z}
	for i := range p.theta {
		p.theta[i], _ = c.ofTheta(i).value(u[i])
	}
	u = u[len(p.theta):]
	p.lnNoise, _ = ofNoise.value(u[0])
	u = u[1:]
	if !c.cfg.Exact {
		p.z.Data = append([]float64(nil), u...)
		scaleColumns(p.z.Data, c.start.unit, false)
	}
	return p
}

// flatten returns the evaluation of a point: the value, and the gradient by its free coordinates.
func (c *Collapsed) flatten(point []float64, value float64, g hyperGradient, byLnNoise float64) evaluation {
	out := evaluation{value: value}
	for i, v := range g.theta {
		_, slope := c.ofTheta(i).value(point[i])
		out.gradient = append(out.gradient, v*slope)
	}
	i := len(g.theta)
	_, slope := ofNoise.value(point[i])
	out.gradient = append(out.gradient, byLnNoise*slope)
	if !c.cfg.Exact {
		out.gradient = append(out.gradient, g.z.Data...)
		scaleColumns(out.gradient[len(out.gradient)-len(g.z.Data):], c.start.unit, false)
	}
	return out
}
