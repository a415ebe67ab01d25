package main

import (
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// recorded are the run records of an output, the newest first.
func recorded(t *testing.T, out string) []*pipeline.RunState {
	t.Helper()
	all, err := sinklake.Runs(nil, out)
	fatal.If(t, err)
	return slices.Collect(all)
}

func current(t *testing.T, out string) *pipeline.Current {
	t.Helper()
	p, err := sinklake.ReadPointer(nil, out)
	fatal.If(t, err)
	return p
}
