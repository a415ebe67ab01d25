// Package kernel provides the covariance functions of the Gaussian process prior, evaluated one pair of rows at
// a time with a stated rounding error. Package linalg evaluates whole blocks in the hot loops; its tests
// compare it with this package.
package kernel
