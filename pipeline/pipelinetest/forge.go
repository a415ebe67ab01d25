package pipelinetest

import (
	"math"

	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline"
)

// NextValue forges a model: it moves hyper-parameter i to the next value of its grid, and computes
// L of the new kernel, so that the jitter condition holds.
func NextValue(m *pipeline.Model, i int) {
	theta, p := m.Meta.Theta, m.Posterior
	theta[i].Index++
	last := len(theta) - 1
	for j := range last {
		m.Meta.Lengthscales[j] = model.Exponential(theta[j].Value())
	}
	m.Meta.Variance = model.Exponential(theta[last].Value())
	p.Kernel.Lengthscales, p.Kernel.Variance = m.Meta.Lengthscales, m.Meta.Variance
	n, d := p.Inducing(), p.Dim()
	for i := range n {
		row := p.L[i*n : i*n+i+1]
		p.Kernel.Row(row, p.Z[d*i:d*i+d], p.Z)
		row[i] += p.Jitter
		for j := range i + 1 {
			for k := range j {
				row[j] -= row[k] * p.L[j*n+k]
			}
			if j < i {
				row[j] /= p.L[j*n+j]
			}
		}
		row[i] = math.Sqrt(row[i])
	}
}
