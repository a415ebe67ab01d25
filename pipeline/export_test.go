package pipeline

import (
	"context"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// SplitHash is the keyed hash that the split follows from.
func SplitHash(key string, ordinal int64) uint64 {
	return dataset.NewSplitHasher(key).Rank(ordinal).Hash
}

// A Feed opens the feed of a job's training rows to tests of this folder.
type Feed struct{ f *fit.Feed }

// NewFeed reads the source for split and scaling.
func NewFeed(ctx context.Context, src dataset.Source, job job.Job, res job.Resources) (Feed, error) {
	s, err := pass.First(ctx, src, job, res.WithDefaults(), nil)
	if err != nil {
		return Feed{}, err
	}
	f, err := fit.NewFeed(ctx, src, s, res.WithDefaults())
	return Feed{f}, err
}

// Kept reports whether the rows are in memory.
func (f Feed) Kept() bool { return f.f.X != nil }

// Train is the number of training rows.
func (f Feed) Train() int64 { return f.f.Split.Train() }

// Full delivers one full pass.
func (f Feed) Full(ctx context.Context, use func(x, y []float64) error) error {
	return f.f.Full(ctx, use)
}

// Shuffled reads on where so many rows have been taken.
func (f Feed) Shuffled(seed uint64, buffer int, taken int64) *Shuffled {
	return &Shuffled{&fit.Shuffled{Feed: f.f, Buffer: buffer, Seed: seed, Taken: taken}}
}

// Shuffled opens the shuffled reader.
type Shuffled struct{ r *fit.Shuffled }

// Take returns the next rows.
func (s *Shuffled) Take(ctx context.Context, n int) (x, y []float64, err error) {
	return s.r.Take(ctx, n)
}

// Taken is the reader's position.
func (s *Shuffled) Taken() int64 { return s.r.Taken }

// Close stops the reader.
func (s *Shuffled) Close() { s.r.Close() }

// TargetsDigest is the digest of the multiset of values, added up in parts.
func TargetsDigest(parts ...[]float64) job.Digest {
	var sum dataset.Multiset
	for _, part := range parts {
		var m dataset.Multiset
		m.Add(part)
		sum.Merge(m)
	}
	return sum.Digest()
}

// An OrdinalSet is a set of ordinals below a limit.
type OrdinalSet struct{ s *dataset.RowSet }

// NewOrdinalSet makes one.
func NewOrdinalSet(limit int64, members ...int64) OrdinalSet {
	s := dataset.NewRowSet(limit)
	for _, m := range members {
		s.Add(m)
	}
	s.Seal()
	return OrdinalSet{s}
}

// Has reports whether an ordinal is a member.
func (o OrdinalSet) Has(ordinal int64) bool { return o.s.Has(ordinal) }

// Size is the number of members.
func (o OrdinalSet) Size() int64 { return o.s.Size() }

// CountBefore is the number of members below an ordinal.
func (o OrdinalSet) CountBefore(ordinal int64) int64 { return o.s.CountBefore(ordinal) }

// NewSplit is the split of rows without duplicates.
func NewSplit(key string, n int64, unscaled bool, workers int) dataset.Split {
	return NewSplitWithout(key, n, unscaled, OrdinalSet{}, workers)
}

// NewSplitWithout is the split of rows of which some are duplicates.
func NewSplitWithout(key string, n int64, unscaled bool, duplicates OrdinalSet, workers int) dataset.Split {
	r, _ := NewSplitWithin(context.Background(), key, n, unscaled, duplicates, workers) // fails only with its context
	return r
}

// NewSplitWithin is the same, as long as a context lasts.
func NewSplitWithin(ctx context.Context, key string, n int64, unscaled bool, duplicates OrdinalSet, workers int) (dataset.Split, error) {
	j := job.Job{Split: job.SplitDecl{Key: key}}
	if unscaled {
		j.Scaling = job.ScalingNone
	}
	return dataset.NewSplit(ctx, j, n, dataset.LeftOut{Duplicates: duplicates.s}, workers)
}

// Share is where the i-th of so many parts of n rows begins.
func Share(n, i, parts int64) int64 { return dataset.ShareOf(n, i, parts) }

// TrainingRows are the ordinals of the training rows, block by block, and whether each
// has the position among them that trainIndex says.
func TrainingRows(r dataset.Split, blockRows int) (ordinals []int64, inPlace bool) {
	inPlace = true
	for first := int64(0); first < r.Rows; first += int64(blockRows) {
		b := dataset.Block{First: first, Rows: int(min(int64(blockRows), r.Rows-first))}
		_ = r.Runs(b, func(from, to int) error {
			for i := from; i < to; i++ {
				ordinal := first + int64(i)
				inPlace = inPlace && r.TrainIndex(ordinal) == int64(len(ordinals))
				ordinals = append(ordinals, ordinal)
			}
			return nil
		})
	}
	return ordinals, inPlace && r.TrainIndex(r.Rows) == int64(len(ordinals))
}

// NewSplitWithHoldout is the split of a job that keeps a share of the rows apart.
func NewSplitWithHoldout(key string, n int64, share float64, duplicates OrdinalSet) (dataset.Split, error) {
	return dataset.NewSplit(context.Background(), job.Job{Split: job.SplitDecl{Key: key, Holdout: share}}, n, dataset.LeftOut{Duplicates: duplicates.s}, 2)
}

// HoldoutRows are the ordinals of the held-out rows, block by block.
func HoldoutRows(r dataset.Split, blockRows int) (ordinals []int64) {
	for first := int64(0); first < r.Rows; first += int64(blockRows) {
		b := dataset.Block{First: first, Rows: int(min(int64(blockRows), r.Rows-first))}
		_ = r.HeldOut(b, func(i int) error {
			ordinals = append(ordinals, first+int64(i))
			return nil
		})
	}
	return ordinals
}

// StartRows are the ordinals of the first rows by rank.
func StartRows(r dataset.Split) []int64 {
	var ordinals []int64
	for _, x := range r.First(dataset.StartRows) {
		ordinals = append(ordinals, x.Ordinal)
	}
	return ordinals
}

// PassOver makes the last pass over some shards.
func PassOver(ctx context.Context, h *pass.TrainingState, shards []int, env fit.Environment) (*pass.Pass, error) {
	p, err := Prepare(ctx, h, env)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Read(ctx, func([]dataset.Shard) []int { return shards })
}

// SeriesOf adds up numbers that lie in shards.
func SeriesOf(shards ...[]int64) certify.Series {
	var all pass.Series
	for _, values := range shards {
		var one pass.Series
		for _, v := range values {
			one.Add(v)
		}
		all.Merge(one)
	}
	return all.Series
}

// ShardsOf are the indices of the shards of a part.
func ShardsOf(p pass.Part, all []dataset.Shard) []int { return p.Shards(all) }

// ScaledAs is the model's posterior for rows that are scaled in another way.
func ScaledAs(m pass.Model, features []job.Affine, target job.Affine) (*model.Posterior, error) {
	return fit.ScaledAs(m, features, target)
}

// OnCircle is a point of the unit circle after so many revolutions.
func OnCircle(revolutions float64) (x, y float64) { return job.OnCircle(revolutions) }

// Forge changes what a pass says of its shards with rows: the rows that it kept, and digests.
func Forge(p *pass.Pass, forge func(kept []float64, columns []dataset.ColumnDigest) []float64) {
	for _, s := range p.InOrder() {
		if len(s.Kept) > 0 {
			s.Kept = forge(s.Kept, s.Columns)
		}
	}
}

// WithPredictor gives a model the predictor that follows from it and the rows.
func WithPredictor(ctx context.Context, src dataset.Source, j job.Job, m pass.Model) (pass.Model, error) {
	j, err := j.WithDefaults()
	if err != nil {
		return m, err
	}
	s, err := pass.First(ctx, src, j, job.Resources{}, nil)
	if err != nil {
		return m, err
	}
	t := &fit.Training{Job: j.ForRows(s.Split.Rows), FirstPass: s}
	if t.Feed, err = fit.NewFeed(ctx, src, s, job.Resources{Memory: 1 << 20}); err != nil {
		return m, err
	}
	if t.Loss, err = pass.ScaledLoss(m.Meta.Loss, m.Meta.Target); err != nil {
		return m, err
	}
	err = t.Predictor(ctx, &m)
	return m, err
}

// PassPart makes a part of the pass. Close the returned pass.
func PassPart(ctx context.Context, h *pass.TrainingState, part pass.Part, env fit.Environment) (*pass.Pass, error) {
	p, err := Prepare(ctx, h, env)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Pass(ctx, part)
}
