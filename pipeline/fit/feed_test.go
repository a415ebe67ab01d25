package fit

import (
	"context"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/loss"
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

// The errors of a part are losses and squares: one loss does not outweigh large errors in all other rows, but many do.
func TestPartOfThePredictor(t *testing.T) {
	l, err := loss.New(loss.ZeroOne, 1, 0, 0, 0)
	fatal.If(t, err)
	const n = 100
	for missed, want := range map[int]float64{1: 1, 60: 0} {
		law := &model.Posterior{Mean: []float64{1}}
		c := &Choice{q: law, fit: &model.Fit{Law: law, Noise: 1}, y: make([]float64, n), mean: slices.Repeat([]float64{0.9}, n), least: make([]float64, n), variance: make([]float64, n), loss: l, tolerance: 1}
		for i := range missed {
			c.least[i] = 2
		}
		if p, _ := c.Predictor(job.Job{Split: job.SplitDecl{Holdout: 0.2}}, nil); p.Part != want {
			t.Errorf("where least squares misses %d rows of %d, and Q is off by 0.9 in all: part %v, want %v", missed, n, p.Part, want)
		}
	}
}
