package pass

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Prepared is a pass whose rows are not read yet. The source is open, the split is known, and a last pass has read the
// model back. It makes parts one at a time, so that a process that makes several parts prepares them once. Close it after
// use.
type Prepared struct {
	src     dataset.Source
	shards  []dataset.Shard
	columns []int // in which duplicates are equal, the target last; nil if duplicates are not counted
	res     job.Resources
	split   dataset.Split
	unseen  bool       // whether held-out rows and outside rows are still to be found, for the shards that are read
	filter  *rowFilter // nil unless the job leaves rows out
	secret  dataset.Secret
	of      subject
	job     job.Job

	// What the pass is for.
	wanted   []int64           // ordinals of the rows to collect, ascending
	first    bool              // a first pass, which summarises columns and makes a digest of the held-out rows
	scorer   *Scorer           // nil for a first pass
	curve    bool              // whether to count the errors of predictions on held-out rows, for a curve
	grouping *certify.Grouping // groups to count held-out rows by; nil if there are none
	grouped  int               // index of the column of the groups
}

// beginPass prepares a pass for a training state. If the job leaves rows out, it reads all rows to find them. It computes
// the split unless the state has it. Duplicates that are not dropped are counted during the pass.
func beginPass(ctx context.Context, src dataset.Source, job job.Job, columns []int, h *TrainingState, res job.Resources) (p *Prepared, err error) {
	n := dataset.RowsOf(src)
	p = &Prepared{src: src, shards: src.Shards(), columns: columns, res: res, job: job.ForRows(n)}
	if p.of, p.secret, err = h.known(); err != nil {
		return nil, err
	}
	if p.of.configuration, err = job.Digest(); err != nil {
		return nil, err
	}
	job = p.job
	p.curve = job.Spends().Applies(certify.MethodCurve)
	p.of.rows, p.of.shards, p.of.columns, p.of.layout = n, len(p.shards), len(src.Columns()), dataset.LayoutDigest(p.shards)
	if err := job.SplitFits(n, res); err != nil {
		return nil, err
	}
	var out dataset.LeftOut
	if job.FiltersRows() {
		if p.filter, err = filterRows(ctx, src, job, columns, res); err != nil {
			return nil, err
		}
		out = p.filter.out
		p.split = dataset.Split{Rows: n, Out: out} // until the split is known
	}
	if out.Duplicates == nil {
		p.of.secret = p.secret.Digest()
	}
	p.of.bad = out.Bad.Size()
	if h.hasSplit(job) {
		p.of.outside, p.unseen = h.Outside, true
		p.split, err = h.split(job, n)
		return p, err
	}
	var split dataset.Split
	if p.filter != nil && p.filter.split != nil {
		split, err = p.filter.split.Split(n, out)
	} else {
		split, err = dataset.NewSplit(ctx, job, n, out, res.Workers)
	}
	if err != nil {
		return p, err
	}
	p.split = split
	p.of.outside = p.split.Outside()
	return p, errors.Join(job.Scalable(p.split.Rows-out.Size(), p.split.Prior()), Separable(job, p.split))
}

// Prepare prepares the last pass over a source. The training state has what the pass needs from training.
func Prepare(ctx context.Context, src dataset.Source, m Model, job job.Job, h *TrainingState, res job.Resources) (*Prepared, error) {
	if err := SameColumns(src, m.Meta, job, true); err != nil {
		return nil, err
	}
	p, err := beginPass(ctx, src, job, dataset.Indices(len(src.Columns())), h, res)
	if err != nil {
		return nil, err
	}
	p.grouping = job.Grouping(h.Groups)
	if p.grouped, err = job.GroupColumn(src.Columns()); err != nil {
		return nil, err
	}
	p.wanted = p.split.BaselineRows()
	if p.scorer, err = NewScorer(m, res.Workers); err != nil {
		return nil, err
	}
	if p.job.Spends().Applies(certify.MethodMean) {
		around := *m.Posterior // Q with the weights of predictions as its mean
		around.Mean = m.Predictive.Mean
		if p.scorer.around, err = model.NewPredictor(&around, res.Workers); err != nil {
			p.scorer.Close()
			return nil, err
		}
	}
	return p, nil
}

// Close frees the resources for scoring rows.
func (p *Prepared) Close() {
	if p.scorer != nil {
		p.scorer.Close()
	}
}

// Pass makes a part of the pass. Close the returned pass.
func (p *Prepared) Pass(ctx context.Context, part Part) (*Pass, error) {
	if part.Number < 1 || part.Number > part.Of {
		return nil, fmt.Errorf("%w: there is no part %s", job.ErrConfig, part)
	}
	return p.Read(ctx, part.Shards(p.shards))
}

// Read makes the pass over shards, given by their indices. It reads several at a time. Close the returned pass.
func (p *Prepared) Read(ctx context.Context, shards []int) (*Pass, error) {
	found := &Pass{of: p.of, shards: map[int]*ShardPass{}, lossSums: certify.LossSums{}, units: newUnitSums(p.split.Units)}
	if err := p.see(ctx, shards); err != nil {
		return nil, err
	}
	if p.first {
		found.held = &HeldOut{}
	}
	var marked []int
	switch {
	case p.split.Out.Duplicates != nil:
		found.duplicates = p.filter.duplicates
	case p.columns != nil:
		rows := int64(0)
		for _, i := range shards {
			rows += p.shards[i].Rows
		}
		found.marks = newCounter(rows, p.res, nil)
		last := len(p.columns) - 1 // the target; rows that differ only in the columns of units are duplicates
		marked = slices.Concat(p.columns[:last-len(p.job.Unit.Columns)], p.columns[last:])
	}
	var mu sync.Mutex // of found
	spaces := make([]*Workspace, max(1, p.res.Workers))
	err := dataset.Shards(ctx, p.src, shards, p.res.Workers, marked, p.secret, func(worker, shard int) (func(dataset.Block) error, func([]dataset.ColumnDigest, dataset.Multiset) error) {
		if p.scorer != nil && spaces[worker] == nil {
			spaces[worker] = p.scorer.Workspace()
		}
		f := p.fold(shard, spaces[worker])
		add := func(b dataset.Block) error {
			if found.marks != nil {
				if err := found.marks.add(ctx, b, p.split.Out.Bad); err != nil {
					return err
				}
			}
			return f.add(b)
		}
		return add, func(columns []dataset.ColumnDigest, targets dataset.Multiset) error {
			f.found.Columns, f.found.targets = columns, targets
			if p.filter != nil && !slices.Equal(columns, p.filter.columns[shard]) {
				return fmt.Errorf("%w: %s has other values than in the search for duplicates or rejected rows", job.ErrChanged, p.shards[shard].Name)
			}
			mu.Lock()
			defer mu.Unlock()
			found.shards[shard] = &f.found
			if found.held != nil {
				found.held.merge(f.held)
			}
			return errors.Join(found.lossSums.Merge(f.lossSums), found.units.merge(f.units))
		}
	})
	if err != nil {
		return nil, errors.Join(err, found.Close())
	}
	return found, nil
}

// A shardFold is the fold over the rows of one shard.
type shardFold struct {
	pass     *Prepared
	space    *Workspace // nil for a first pass
	wanted   []int64    // ordinals of the rows still to collect
	found    ShardPass
	held     HeldOut
	lossSums certify.LossSums
	units    *unitSums           // nil if examples are rows
	unitOf   *dataset.UnitHasher // used if examples are units
}

func (p *Prepared) fold(shard int, space *Workspace) *shardFold {
	s := p.shards[shard]
	return &shardFold{
		pass: p, space: space, wanted: s.Among(p.wanted), lossSums: certify.LossSums{},
		found: ShardPass{first: s.First, rows: s.Rows},
		units: newUnitSums(p.split.Units), unitOf: dataset.NewUnitHasher(p.job, p.of.columns),
	}
}

// add adds one block.
func (f *shardFold) add(b dataset.Block) error {
	if f.pass.first {
		f.summarise(b)
	}
	if f.pass.first && f.pass.job.Split.Holdout > 0 {
		f.hold(b)
	}
	for len(f.wanted) > 0 && f.wanted[0] < b.First+int64(b.Rows) {
		for _, column := range b.Columns {
			f.found.Kept = append(f.found.Kept, column[f.wanted[0]-b.First])
		}
		f.wanted = f.wanted[1:]
	}
	if f.space == nil {
		return nil
	}
	for from, to := range f.pass.split.Open(b) {
		for i := from; i < to; i++ {
			f.found.targetsInOrder.add(inSteps(f.space.of.scale.TargetOf(b, i)))
		}
	}
	return errors.Join(f.score(b), f.scoreHoldout(b))
}

// hold adds a block to the held-out rows.
func (f *shardFold) hold(b dataset.Block) {
	text := []byte("pacsgp/held-out/2\x00")
	for i, y := range b.Columns[len(b.Columns)-1] {
		ordinal := b.First + int64(i)
		if f.pass.split.Holds(ordinal) {
			position := binary.LittleEndian.AppendUint64(slices.Clip(text), uint64(ordinal)) //nolint:gosec // ordinals are not negative
			digest := sha256.Sum256(binary.LittleEndian.AppendUint64(position, dataset.NumberBits(y)))
			if f.held[1].AddDigest(digest); !f.pass.split.Out.Has(ordinal) {
				f.held[0].AddDigest(digest)
			}
		}
	}
}

// summarise records which columns have more than one value.
func (f *shardFold) summarise(b dataset.Block) {
	if b.Rows == 0 {
		return
	}
	if f.found.summaries == nil {
		for _, column := range b.Columns {
			f.found.summaries = append(f.found.summaries, summary{first: column[0], one: true})
		}
	}
	for c := range f.found.summaries {
		s := &f.found.summaries[c]
		s.one = s.one && !slices.ContainsFunc(b.Columns[c], func(v float64) bool { return v != s.first })
	}
}

// gather copies the rows of runs of a block into the workspace, and returns their positions in the block.
func (f *shardFold) gather(b dataset.Block, runs iter.Seq2[int, int]) []int {
	f.space.Reset(b.Rows)
	at := make([]int, 0, b.Rows)
	for from, to := range runs {
		f.space.Gather(b, from, to)
		for i := from; i < to; i++ {
			at = append(at, i)
		}
	}
	return at
}

// each calls add for each gathered row, with its number among them and its position in the block. It counts the rows for
// which the accuracy of the prediction is not proven.
func (f *shardFold) each(b dataset.Block, at []int, sum *certify.LossSum, add func(i, at int) error) error {
	for i, at := range at {
		if !(f.space.laws.MeanError[i] <= f.space.of.accuracy) {
			sum.Unproven++
		}
		if err := add(i, at); err != nil {
			return fmt.Errorf("row %d of the sample: %w", b.First+int64(at), err)
		}
	}
	return nil
}

// score adds the losses of the training rows of a block.
func (f *shardFold) score(b dataset.Block) error {
	w, targets := f.space, b.Columns[len(b.Columns)-1]
	at := f.gather(b, f.pass.split.Runs(b))
	if err := w.Score(); err != nil {
		return err
	}
	draw, to := f.lossSums.At(certify.PredictorDraw, certify.SubsetTraining), &rowSums{}
	err := f.each(b, at, draw, func(i, at int) error {
		if f.units != nil {
			to = sumOf(f.units.train, f.unitOf.Unit(b, at))
		}
		err := to.draw.Add(w.hi[i])
		if err == nil {
			err = to.constant.AddLower(w.of.ofConstant(targets[at], f.pass.of.constant))
		}
		if err == nil && w.of.meta.Mean != "" {
			err = f.lossSums.At(certify.PredictorColumn, certify.SubsetTraining).Risk.Add(dataset.Misfit(targets[at], w.from[i], w.of.meta.Target.Scale))
		}
		return err
	})
	if err == nil && w.of.around != nil {
		err = f.scoreAround(b, at)
	}
	if err != nil || f.units != nil {
		return err
	}
	return errors.Join(draw.Risk.Merge(to.draw), f.lossSums.At(certify.PredictorConstant, certify.SubsetTraining).Risk.Merge(to.constant))
}

// scoreAround adds the losses, on the gathered training rows, of draws from Q moved to the weights of predictions.
func (f *shardFold) scoreAround(b dataset.Block, at []int) error {
	if err := f.space.scoreDraws(f.space.of.around); err != nil {
		return err
	}
	sum := f.lossSums.At(certify.PredictorAround, certify.SubsetTraining)
	to := &sum.Risk
	return f.each(b, at, sum, func(i, at int) error {
		if f.units != nil {
			to = &sumOf(f.units.train, f.unitOf.Unit(b, at)).around
		}
		return to.Add(f.space.hi[i])
	})
}

// scoreHoldout adds the losses of predictions on the held-out rows of a block.
func (f *shardFold) scoreHoldout(b dataset.Block) error {
	w, at := f.space, f.gather(b, f.pass.split.HeldOut(b))
	if len(at) == 0 {
		return nil
	}
	if err := w.ScoreMeans(); err != nil {
		return err
	}
	mean := f.lossSums.At(certify.PredictorMean, certify.SubsetHoldout)
	add := mean.AddSpread
	if w.of.meta.Loss.Kind.Counts() {
		add = mean.Risk.Add
	}
	return f.each(b, at, mean, func(i, at int) error {
		if f.units != nil {
			add = sumOf(f.units.holdout, f.unitOf.Unit(b, at)).Add
		}
		if err := add(w.hi[i]); err != nil {
			return err
		}
		if f.pass.curve {
			// An upper bound on the error of any reader's prediction. Without a proof it is +Inf.
			const outwards = 1 + 0x1p-38
			meta := w.of.meta
			mean.AddError(w.off(i)*meta.Target.Scale*outwards, meta.Loss.Epsilon, w.hi[i] > 0)
		}
		if by := f.pass.grouping; by != nil {
			mean.AddGroup(by.Of(b.Columns[f.pass.grouped][at]), len(by.Values)+1, w.hi[i] > 0)
		}
		return nil
	})
}

// Separable returns an error if the split has no training row, or none of the held-out or outside rows that the job needs.
func Separable(j job.Job, r dataset.Split) error {
	switch {
	case r.Train() < 1:
		return fmt.Errorf("%w: of %s none is left to train and certify on: give more rows", job.ErrData, words.Count(r.Rows, "row"))
	case j.Split.Holdout > 0 && r.Holdout() < 1:
		return fmt.Errorf("%w: of %s none is a held-out row at a share of %v: give more rows, declare a larger split.holdout, or leave out the method holdout",
			job.ErrData, words.Count(r.Rows, "row"), j.Split.Holdout)
	case j.Split.Outside > 0 && r.Outside() < 1:
		return fmt.Errorf("%w: of %s none is outside at a share of %v: give more rows, or declare a larger split.outside", job.ErrData, words.Count(r.Rows, "row"), j.Split.Outside)
	}
	return nil
}

// see finds the held-out rows and the outside rows of shards, unless they are known.
func (p *Prepared) see(ctx context.Context, shards []int) error {
	if !p.unseen || p.job.Split.Holdout == 0 && p.job.Split.Outside == 0 {
		return nil
	}
	apart := p.split.SetApart(dataset.RuleOf(p.job, p.of.rows))
	for i := 0; i < len(shards); {
		from := p.shards[shards[i]].First
		to := from
		for ; i < len(shards) && p.shards[shards[i]].First == to; i++ {
			to += p.shards[shards[i]].Rows
		}
		if _, err := dataset.FirstByHash(ctx, p.job.Split.Key, from, to, 0, apart, p.res.Workers); err != nil {
			return err
		}
	}
	return nil
}

// owns returns an error unless found is this first pass over all rows, and has collected the rows with the ordinals kept.
func (p *Prepared) owns(found *Pass, kept []int64) error {
	if err := errors.Join(p.of.same(found.of), found.missing()); err != nil {
		return err
	}
	for i, shard := range p.shards {
		s, columns := found.shards[i], found.of.columns
		if s.first != shard.First || s.rows != shard.Rows || len(s.Kept) != columns*len(shard.Among(kept)) || s.rows > 0 && len(s.summaries) != columns {
			return fmt.Errorf("%w: of %s one has not what a first pass is for", ErrPart, shard.Name)
		}
		if !p.usable(s.Kept) {
			return fmt.Errorf("%w: of %s one has values that no source gives", ErrPart, shard.Name)
		}
	}
	if found.held == nil {
		return fmt.Errorf("%w: they are none of a first pass", ErrPart)
	}
	return nil
}

// usable reports whether the values of kept rows can be from the source: finite, or NaN where missing values are allowed.
func (p *Prepared) usable(kept []float64) bool {
	names := p.src.Columns()
	for i, v := range kept {
		if v-v != 0 && (math.IsInf(v, 0) || !p.job.FiltersRows() && !p.job.Encode.Fills(names[i%len(names)])) {
			return false
		}
	}
	return true
}

// inParts calls parts to make the pass, and see with the merged result.
func (p *Prepared) inParts(ctx context.Context, job job.Job, columns []string, parts Parts, see func(*Pass) error) error {
	h, err := newTrainingState(job, p.split, p.secret)
	if err != nil {
		return err
	}
	h.Columns, h.Distinct = columns, p.columns
	return parts(ctx, h, p.shards, see)
}

// A Parts makes a pass over these shards in parts, by [pipeline.Prepare], and calls use with the merged pass, which is
// valid until use returns.
type Parts func(ctx context.Context, h *TrainingState, shards []dataset.Shard, use func(*Pass) error) error
