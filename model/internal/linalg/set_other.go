//go:build !amd64 || noasm

package linalg

// available returns the only set of this build.
func available() []*kernelSet { return []*kernelSet{&portable} }
