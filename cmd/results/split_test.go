package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/cmd/internal/dataset"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Both parts of a split are in the order of the set and together are the set, also when they
// have been a lake.
func TestSplitIsAPartition(t *testing.T) {
	whole := dataset.Table{Names: []string{"z", "a"}, Columns: make([][]float64, 2)}
	for i := range 103 {
		whole.Columns[0] = append(whole.Columns[0], float64(i))
		whole.Columns[1] = append(whole.Columns[1], -float64(i))
	}
	train, fresh := splitRows(whole, 3)
	if fresh.Rows() != 21 {
		t.Errorf("%d of 103 rows are kept apart, want a fifth, rounded up", fresh.Rows())
	}
	dir := t.TempDir()
	fatal.If(t, writeLake(train, dir))
	again, err := dataset.Read(t.Context(), dir)
	fatal.If(t, err)
	for c, name := range again.Names {
		own := slices.Index(train.Names, name)
		if diff := cmp.Diff(train.Columns[own], again.Columns[c]); diff != "" {
			t.Errorf("column %s: %s", name, diff)
		}
		if !slices.IsSorted(train.Columns[slices.Index(train.Names, "z")]) {
			t.Error("rows are in another order")
		}
		together := slices.Sorted(slices.Values(slices.Concat(train.Columns[own], fresh.Columns[own])))
		if diff := cmp.Diff(slices.Sorted(slices.Values(whole.Columns[own])), together); diff != "" {
			t.Errorf("column %s: %s", name, diff)
		}
	}
}
