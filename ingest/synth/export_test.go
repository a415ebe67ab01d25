package synth

// Lengthscales returns the lengthscales of the function's kernel, whose variance is 1.
func (g *Generator) Lengthscales() []float64 { return g.lengthscales }
