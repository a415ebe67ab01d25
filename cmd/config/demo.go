package config

import "github.com/pacsgp/pacsgp/ingest/synth"

// A Generator makes the rows of a demo.
type Generator = synth.Generator

// NewGenerator returns a generator of a function drawn by a seed, with noise of this standard
// deviation.
func NewGenerator(seed uint64, noise float64) (*Generator, error) {
	return synth.New(synth.Config{Seed: seed, Noise: noise})
}
