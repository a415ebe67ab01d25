//go:build !noasm

package linalg

// constants are the scalars, each in the eight lanes of the widest vector.
var constants = func() (c [constantCount * 8]float64) {
	for i := range c {
		c[i] = scalars[i/8]
	}
	return c
}()
