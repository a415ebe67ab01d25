package pipeline

import (
	"context"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// Split calls use with the position, the ordinal and the subset ([dataset.Split.Of]) of each row of a source, in the order
// of the rows. If examples are units, it reads all rows, as a run does before it trains. Otherwise it reads none, and
// rejected rows and duplicates have the subsets that follow from their ordinals.
func Split(ctx context.Context, j job.Job, src dataset.Source, res job.Resources, use func(at dataset.Position, ordinal int64, subset string) error) error {
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
			at, ordinal := shard.Position, shard.First+i
			at.At += i
			if err := use(at, ordinal, split.Of(ordinal)); err != nil {
				return err
			}
		}
	}
	return nil
}
