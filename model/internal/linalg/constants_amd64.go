//go:build !noasm

package linalg

// vectorWidth is how often each constant stands in constants, for the widest vector.
const vectorWidth = 8

// constants are the scalars, each in all lanes of a vector.
//
//nolint:unused // the assembly reads it
var constants = func() (c [constantCount * vectorWidth]float64) {
	for i := range c {
		c[i] = scalars[i/vectorWidth]
	}
	return c
}()
