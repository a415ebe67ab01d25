package main

import (
	"fmt"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// The pointer says what its bound is worth.
func TestPointerSaysConditional(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	smallLake(t, dir)
	a := retrained(t, dir, jobFile{"guarantees": "[pac-bayes, holdout]"})
	current, err := lake.ReadPointer(nil, a.out)
	fatal.If(t, err)
	if r := record(t, a.out); current == nil || current.Status != r.Status || current.Bound != r.Bound {
		t.Error(fmt.Sprint("the pointer says ", current, ", the record ", r.Status, r.Bound))
	}
}
