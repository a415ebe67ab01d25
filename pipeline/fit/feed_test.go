package fit

import (
	"context"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/loss"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
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
	f := Feed{src: src, split: split}
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

// One loss does not outweigh large errors in all other rows, but many do. A stated predictor that is as good is taken.
func TestBestPredictor(t *testing.T) {
	l, err := loss.New(loss.ZeroOne, 1, 0, 0, 0)
	fatal.If(t, err)
	const n = 100
	if _, errors := errorsOf(l, 0, []float64{0}, []float64{0}); errors != 1 {
		t.Errorf("without a tolerance, an exact prediction counts %v, want 1", errors)
	}
	for missed, want := range map[int]float64{1: 1, 60: 0} {
		all := []option{{part: 0, noise: 1, mean: slices.Repeat([]float64{0.9}, n)}, {part: 1, noise: 1, mean: make([]float64, n)}, {part: 1, noise: 0.25, mean: make([]float64, n)}}
		for i := range all {
			if all[i].part == 1 {
				copy(all[i].mean, slices.Repeat([]float64{2}, missed))
			}
			_, all[i].errors = errorsOf(l, 1, make([]float64, n), all[i].mean)
		}
		if got := bestOf(all, nil); got.part != want || got.noise != 1 {
			t.Errorf("where least squares misses %d rows of %d, and Q is off by 0.9 in all: part %v, want %v", missed, n, got.part, want)
		}
		if got := bestOf(all, &pass.Predictor{Part: 1, Noise: 0.25}); (got.noise == 0.25) != (want == 1) {
			t.Errorf("stated is a part of 1 with another noise, %v is the best part: taken is noise %v", want, got.noise)
		}
	}
}
