package pipeline

import (
	"context"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A RowSubset is the subset of a row, with the row's position.
type RowSubset struct {
	File    string
	Row     int64  // in the file, from 0
	Ordinal int64  // in the dataset
	Subset  string // as [dataset.Split.Of] returns it
}

// Split calls use with the subset of each row of a source, in the order of the rows. If examples are units, it reads all
// rows, as a run does before it trains. Otherwise it reads none, and rejected rows and duplicates have the subsets that
// follow from their ordinals.
func Split(ctx context.Context, j job.Job, src dataset.Source, res job.Resources, use func(RowSubset) error) error {
	res = res.WithDefaults()
	var split dataset.Split
	if j.Unit.Given() { // as a run does
		s, err := pass.First(ctx, src, j, res, nil)
		if err != nil {
			return err
		}
		split = s.Split
	} else {
		var err error
		n := dataset.RowsOf(src)
		j = j.ForRows(n)
		if split, err = dataset.NewSplit(ctx, j, n, dataset.LeftOut{}, res.Workers); err != nil {
			return err
		}
		if err := pass.Separable(j, split); err != nil {
			return err
		}
	}
	for _, shard := range src.Shards() {
		for i := range shard.Rows {
			if i%dataset.HashedAtOnce == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			at := shard.First + i
			if err := use(RowSubset{shard.Position.In, shard.Position.At + i, at, split.Of(at)}); err != nil {
				return err
			}
		}
	}
	return nil
}
