package fit

import (
	"context"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// shards is a source of which nothing is read.
type shards struct {
	dataset.Source
	all []dataset.Shard
}

func (s shards) Shards() []dataset.Shard { return s.all }

// Of many rows least squares take whole shards, by the hashes of their first rows (as the Python package finds
// them), until they have enough training rows.
func TestEnoughRows(t *testing.T) {
	defer func(before int64) { enoughRows = before }(enoughRows)
	enoughRows = 1000
	var src shards
	for i := range int64(10) {
		src.all = append(src.all, dataset.Shard{First: 1000 * i, Rows: 1000})
	}
	split, err := dataset.NewSplit(context.Background(), job.Job{Split: job.SplitDecl{Key: "pacsgp", Holdout: 0.2}}, 10_000, dataset.LeftOut{}, 1)
	fatal.If(t, err)
	f := Feed{src: src, Split: split}
	got, rows := f.enough("pacsgp")
	want := split.TrainIndex(3000) - split.TrainIndex(2000) + split.TrainIndex(7000) - split.TrainIndex(6000)
	if !slices.Equal(got, []int{2, 6}) || rows != want {
		t.Errorf("shards %v with %d training rows, want 2 and 6 with %d", got, rows, want)
	}
	enoughRows = split.Train()
	if got, rows := f.enough("pacsgp"); got != nil || rows != split.Train() {
		t.Errorf("of as many rows as are enough %v and %d rows, want all", got, rows)
	}
}
