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
	Row     int64  // in the file, from 0 on
	Ordinal int64  // in the sample
	Subset  string // reference, train, holdout, outside, or bad of a row without a unit
}

// Split calls use with the subset of each row of a sample, in their order. It reads rows only by unit, as a
// run does before it trains: otherwise rejected rows and duplicates have the subsets of their positions.
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
