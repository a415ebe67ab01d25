package pipeline_test

import (
	"context"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// rowSet is a set of ordinals below a limit.
func rowSet(limit int64, members ...int64) *dataset.RowSet {
	s := dataset.NewRowSet(limit)
	for _, m := range members {
		s.Add(m)
	}
	s.Seal()
	return s
}

// splitOf is the split of n rows by the key pacsgp and a share of held-out rows, and newSplit that of a job, with
// some duplicates.
func splitOf(n int64, share float64) dataset.Split {
	return newSplit(job.Job{Split: job.SplitDecl{Key: "pacsgp", Holdout: share}}, n, nil)
}

func newSplit(j job.Job, n int64, duplicates *dataset.RowSet) dataset.Split {
	r, _ := dataset.NewSplit(context.Background(), j, n, dataset.LeftOut{Duplicates: duplicates}, 2) // fails only with its context
	return r
}

// splitHash is the keyed hash that the split follows from.
func splitHash(key string, ordinal int64) uint64 {
	return dataset.NewSplitHasher(key).Rank(ordinal).Hash
}

// eachBlock calls use with the rows of a split, in blocks.
func eachBlock(r dataset.Split, rows int, use func(b dataset.Block)) {
	for first := int64(0); first < r.Rows; first += int64(rows) {
		use(dataset.Block{First: first, Rows: int(min(int64(rows), r.Rows-first))})
	}
}

// trainingRows are the ordinals of the training rows, block by block, and whether each
// has the position among them that TrainIndex says.
func trainingRows(r dataset.Split, blockRows int) (ordinals []int64, inPlace bool) {
	inPlace = true
	eachBlock(r, blockRows, func(b dataset.Block) {
		for from, to := range r.Runs(b) {
			for i := from; i < to; i++ {
				ordinal := b.First + int64(i)
				inPlace = inPlace && r.TrainIndex(ordinal) == int64(len(ordinals))
				ordinals = append(ordinals, ordinal)
			}
		}
	})
	return ordinals, inPlace && r.TrainIndex(r.Rows) == int64(len(ordinals))
}

// holdoutRows are the ordinals of the held-out rows, block by block.
func holdoutRows(r dataset.Split, blockRows int) (ordinals []int64) {
	eachBlock(r, blockRows, func(b dataset.Block) {
		for from, to := range r.HeldOut(b) {
			for i := from; i < to; i++ {
				ordinals = append(ordinals, b.First+int64(i))
			}
		}
	})
	return ordinals
}

// startRows are the ordinals of the first rows by rank.
func startRows(r dataset.Split) []int64 {
	var ordinals []int64
	for _, x := range r.First(dataset.StartRows) {
		ordinals = append(ordinals, x.Ordinal)
	}
	return ordinals
}

// readPass makes the last pass over some shards, and passPart a part of a pass. Close it after use.
func readPass(ctx context.Context, h *pass.TrainingState, env fit.Environment, shards []int) (*pass.Pass, error) {
	p, err := pipeline.Prepare(ctx, h, env)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Read(ctx, shards)
}

func passPart(ctx context.Context, h *pass.TrainingState, part pass.Part, env fit.Environment) (*pass.Pass, error) {
	p, err := pipeline.Prepare(ctx, h, env)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Pass(ctx, part)
}

// forgePass changes what a pass says of its shards with rows: the rows that it kept, and digests.
func forgePass(p *pass.Pass, forge func(kept []float64, columns []dataset.ColumnDigest) []float64) {
	for _, s := range p.InOrder() {
		if len(s.Kept) > 0 {
			s.Kept = forge(s.Kept, s.Columns)
		}
	}
}

// withPredictor gives a model the predictor that follows from it and the rows.
func withPredictor(ctx context.Context, src dataset.Source, j job.Job, m pass.Model) (pass.Model, error) {
	j, err := j.WithDefaults()
	if err != nil {
		return m, err
	}
	s, err := pass.First(ctx, src, j, job.Resources{}, nil)
	if err != nil {
		return m, err
	}
	j = j.ForRows(s.Split.Rows)
	c, err := fit.NewStream(src, s, job.Resources{}).Choose(ctx, m.Posterior, s, j, 1, nil, nil)
	if err != nil {
		return m, err
	}
	m.Meta.Predictor, m.Predictive = c.Predictor, c.Law
	return m, nil
}
