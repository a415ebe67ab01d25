package main

import (
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A job is refused before it starts if the pages of its files alone need more memory
// than it has; the message says how much.
func TestPagesThatDoNotFit(t *testing.T) {
	p := prepared{resources: pipeline.Resources{Memory: 64 << 20}}
	if err := p.readable(pipeline.Sample{Reader: leastForReading}); err != nil {
		t.Error(err)
	}
	err := p.readable(pipeline.Sample{Reader: 4080 << 20})
	if err == nil || !strings.Contains(err.Error(), "takes 4081 MiB") || !strings.Contains(err.Error(), "raise memory to 4081 MiB") || strings.Contains(err.Error(), "%!") {
		t.Errorf("4080 MiB of 64: %v", err)
	}
	p.resources.Memory = 5 << 30
	if err := p.readable(pipeline.Sample{Reader: 4080 << 20}); err != nil {
		t.Error(err)
	}
}
