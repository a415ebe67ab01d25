package config

import "github.com/pacsgp/pacsgp/ingest/synth"

// A Generator makes the rows of a demo.
type Generator = synth.Generator

// NewGenerator returns the generator of the demo: noise of a tenth of the function's deviation.
func NewGenerator() (*Generator, error) {
	return synth.New(synth.Config{Seed: 1, Noise: 0.1})
}
