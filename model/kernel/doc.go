// Package kernel provides the covariance functions of the Gaussian process
// prior, evaluated one pair at a time with a stated rounding error. The blocked
// evaluation of the hot loops is linalg's; its tests compare it with this one.
package kernel
