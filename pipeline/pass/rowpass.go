package pass

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A rowPass reads shards of a sample into a [Pass]. It knows the subset of each row.
type rowPass struct {
	src     dataset.Source
	shards  []dataset.Shard
	columns []int // in which duplicates are equal, the target last; nil: duplicates are not counted
	res     job.Resources
	split   dataset.Split
	unseen  bool       // which of the rows are held-out rows or outside rows is found shard by shard
	filter  *rowFilter // nil unless the job leaves rows out
	secret  dataset.Secret
	of      Subject
	job     job.Job

	// What the pass is for.
	wanted    []int64           // ordinals of the rows to keep, ascending
	summaries bool              // of the columns
	scorer    *Scorer           // nil: no row is scored
	curve     bool              // counts the errors of the mean on held-out rows
	grouping  *certify.Grouping // counts these rows by group; nil: there are none
	grouped   int               // the column of the groups
	holds     bool              // gathers the held-out rows
}

// beginPass prepares a pass. If the job leaves rows out, it reads all rows to find them. Duplicates
// that are not dropped are counted during the pass. The split is found again unless it is given.
func beginPass(ctx context.Context, src dataset.Source, job job.Job, columns []int, hidden dataset.Secret, noted *KnownSplit, res job.Resources) (*rowPass, error) {
	configuration, err := job.Digest()
	if err != nil {
		return nil, err
	}
	n := dataset.RowsOf(src)
	job = job.ForRows(n)
	p := &rowPass{src: src, shards: src.Shards(), columns: columns, res: res, secret: hidden, job: job, curve: job.Spends().Applies(certify.MethodCurve)}
	p.of = Subject{
		rows: n, shards: len(p.shards), Columns: len(src.Columns()), layout: dataset.LayoutDigest(p.shards), configuration: configuration,
	}
	if err := job.SplitFits(n, res); err != nil {
		return nil, err
	}
	var out dataset.LeftOut
	if job.FiltersRows() {
		if p.filter, err = filterRows(ctx, src, job, columns, res); err != nil {
			return nil, err
		}
		out = p.filter.out
		p.split = dataset.Split{Rows: n, Out: out} // until it is known
	}
	if out.Duplicates == nil {
		p.of.secret = hidden.Digest()
	}
	p.of.bad = out.Bad.Size()
	if noted != nil {
		p.of.outside, p.unseen = noted.outside, true
		p.split, err = noted.split(job, n)
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
	return p, errors.Join(job.Scalable(p.split.Rows-out.Size(), p.split.Reference()), Separable(job, p.split))
}

// read reads shards, several at a time. Close what it returns.
func (p *rowPass) read(ctx context.Context, shards []int) (*Pass, error) {
	found := &Pass{Of: p.of, shards: map[int]*ShardPass{}, lossSums: certify.LossSums{}, units: newUnitSums(p.split.Units)}
	if err := p.see(ctx, shards); err != nil {
		return nil, err
	}
	if p.holds {
		found.held = &heldRows{}
	}
	r := dataset.NewReading(p.src, shards, p.res.Workers, nil, dataset.Marker{})
	switch {
	case p.split.Out.Duplicates != nil:
		found.duplicates = p.filter.duplicates
	case p.columns != nil:
		found.marks = newCounter(dataset.RowsIn(p.shards, shards), p.res, nil)
		r.Marked, r.Marker = p.job.Unlabelled(p.columns), dataset.NewMarker(p.secret)
	}
	var mu sync.Mutex // of found
	spaces := make([]*Workspace, max(1, p.res.Workers))
	err := r.Shards(ctx, func(worker, shard int) (func(dataset.Block) error, func(dataset.Ending) error) {
		if p.scorer != nil && spaces[worker] == nil {
			spaces[worker] = &Workspace{Of: p.scorer}
		}
		f := p.fold(shard, spaces[worker])
		var records []rowRecord
		add := func(b dataset.Block) error {
			if found.marks != nil {
				records = recordsBut(records[:0], b, func(i int) bool { return p.split.Out.Bad.Has(b.First + int64(i)) })
				if err := found.marks.add(ctx, records); err != nil {
					return err
				}
			}
			if found.held != nil {
				found.held.add(p.split, b)
			}
			return f.add(b)
		}
		return add, func(e dataset.Ending) error {
			f.found.Columns, f.found.targets = e.Columns, e.Targets
			if p.filter != nil && !slices.Equal(e.Columns, p.filter.columns[shard]) {
				return fmt.Errorf("%w: %s has other values than in the search for duplicates or rejected rows", job.ErrChanged, p.shards[shard].Name)
			}
			mu.Lock()
			defer mu.Unlock()
			found.shards[shard] = &f.found
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
	pass     *rowPass
	space    *Workspace // nil: no row is scored
	wanted   []int64    // ordinals of the rows still to keep
	found    ShardPass
	lossSums certify.LossSums
	units    *unitSums           // nil: rows are examples
	unitOf   *dataset.UnitHasher // with units
}

func (p *rowPass) fold(shard int, space *Workspace) *shardFold {
	s := p.shards[shard]
	return &shardFold{
		pass: p, space: space, wanted: s.Among(p.wanted), lossSums: certify.LossSums{},
		found: ShardPass{first: s.First, rows: s.Rows},
		units: newUnitSums(p.split.Units), unitOf: dataset.NewUnitHasher(p.job, p.of.Columns),
	}
}

// add adds one block.
func (f *shardFold) add(b dataset.Block) error {
	if f.pass.summaries {
		f.summarise(b)
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
	return errors.Join(f.order(b), f.score(b), f.scoreHoldout(b))
}

// order adds the targets of reference and training rows.
func (f *shardFold) order(b dataset.Block) error {
	scale := f.space.Of.Scale
	return f.pass.split.Open(b, func(from, to int) error {
		for i := from; i < to; i++ {
			f.found.targetsInOrder.Add(inSteps(scale.TargetOf(b, i)))
		}
		return nil
	})
}

// scoreHoldout adds the losses of predictions on the held-out rows of a block.
func (f *shardFold) scoreHoldout(b dataset.Block) error {
	w := f.space
	w.Reset(b.Rows)
	var at []int
	err := f.pass.split.HeldOut(b, func(i int) error {
		w.Gather(b, i, i+1)
		at = append(at, i)
		return nil
	})
	if err != nil || len(at) == 0 {
		return err
	}
	rows, err := w.ScoreMeans()
	if err != nil {
		return err
	}
	mean := f.lossSums.At(certify.PredictorMean, certify.SubsetHoldout)
	add := mean.AddSpread
	if w.Of.Meta.Loss.Kind.Counts() {
		add = mean.Risk.Add
	}
	for i := range at {
		if f.units != nil {
			add = sumOf(f.units.holdout, f.unitOf.Unit(b, at[i])).Add
		}
		if !(rows.Laws.MeanError[i] <= w.Of.accuracy) {
			mean.Unproven++
		}
		if err := add(rows.Hi[i]); err != nil {
			return fmt.Errorf("pipeline: row %d of the sample: %w", b.First+int64(at[i]), err)
		}
		if f.pass.curve {
			w.addError(mean, rows, i)
		}
		if by := f.pass.grouping; by != nil {
			mean.AddGroup(by.Of(b.Columns[f.pass.grouped][at[i]]), len(by.Values)+1, rows.Hi[i] > 0)
		}
	}
	return nil
}

// summarise notes which columns have more than one value.
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

// score adds the losses of the training rows of a block.
func (f *shardFold) score(b dataset.Block) error {
	w := f.space
	w.Reset(b.Rows)
	targets := b.Columns[len(b.Columns)-1]
	var runs [][2]int
	err := f.pass.split.Runs(b, func(from, to int) error {
		w.Gather(b, from, to)
		runs = append(runs, [2]int{from, to})
		return nil
	})
	if err != nil {
		return err
	}
	rows, err := w.Score()
	if err != nil {
		return err
	}
	i := 0
	draw, column, to := f.lossSums.At(certify.PredictorDraw, certify.SubsetTraining), w.Column(b), &rowSums{}
	for _, run := range runs {
		for at := run[0]; at < run[1]; at++ {
			if f.units != nil {
				to = sumOf(f.units.train, f.unitOf.Unit(b, at))
			}
			if !(rows.Laws.MeanError[i] <= w.Of.accuracy) {
				draw.Unproven++
			}
			err := to.draw.Add(rows.Hi[i])
			if err == nil {
				err = to.constant.AddLower(w.Of.ofConstant(targets[at], f.pass.of.Constant))
			}
			if err == nil && column != nil {
				err = f.lossSums.At(certify.PredictorColumn, certify.SubsetTraining).Risk.Add(dataset.Misfit(targets[at], column[at], w.Of.Scale.Target.Scale))
			}
			if err != nil {
				return fmt.Errorf("pipeline: row %d of the sample: %w", b.First+int64(at), err)
			}
			i++
		}
	}
	if err := f.scoreAround(b, runs); err != nil || f.units != nil {
		return err
	}
	return errors.Join(draw.Risk.Merge(to.draw), f.lossSums.At(certify.PredictorConstant, certify.SubsetTraining).Risk.Merge(to.constant))
}

// scoreAround adds the losses of draws around predictions of the training rows that were gathered, from these
// runs of rows of a block.
func (f *shardFold) scoreAround(b dataset.Block, runs [][2]int) error {
	w := f.space
	if w.Of.around == nil {
		return nil
	}
	rows, err := w.scoreDraws(w.Of.around)
	if err != nil {
		return err
	}
	sum := f.lossSums.At(certify.PredictorAround, certify.SubsetTraining)
	i, to := 0, &sum.Risk
	for _, run := range runs {
		for at := run[0]; at < run[1]; at++ {
			if f.units != nil {
				to = &sumOf(f.units.train, f.unitOf.Unit(b, at)).around
			}
			if !(rows.Laws.MeanError[i] <= w.Of.accuracy) {
				sum.Unproven++
			}
			if err := to.Add(rows.Hi[i]); err != nil {
				return fmt.Errorf("pipeline: row %d of the sample: %w", b.First+int64(at), err)
			}
			i++
		}
	}
	return nil
}

// Separable reports whether the job's split leaves rows for each of its methods.
func Separable(j job.Job, r dataset.Split) error {
	switch {
	case r.Train() < 1:
		return fmt.Errorf("%w: of %s none is left to train and certify on: give more rows", job.ErrData, words.Count(r.Rows, "row"))
	case j.Split.Holdout > 0 && r.Holdout() < 1:
		return fmt.Errorf("%w: of %s none is a held-out row at a share of %v: give more rows, declare a larger split.holdout, or leave out the method holdout",
			job.ErrData, words.Count(r.Rows, "row"), j.Split.Holdout)
	case j.Outside() && r.Outside() < 1:
		return fmt.Errorf("%w: of %s none is outside at a share of %v: give more rows, or declare a larger split.outside", job.ErrData, words.Count(r.Rows, "row"), j.Split.Outside)
	}
	return nil
}

// A Prepared is a pass before its rows are read: the source is open, the model is read back if it is a
// last pass, and the split is known. It makes parts, one at a time, so that a process which makes several
// prepares once. Close it after use.
type Prepared struct{ rows *rowPass }

// Prepare prepares the last pass over a source. known has the parts of its subject that come from
// training.
func Prepare(ctx context.Context, src dataset.Source, m Model, job job.Job, known Subject, hidden dataset.Secret, noted *KnownSplit, res job.Resources) (*Prepared, error) {
	if err := SameColumns(src, m.Meta, job); err != nil {
		return nil, err
	}
	rows, err := beginPass(ctx, src, job, dataset.Indices(len(src.Columns())), hidden, noted, res)
	if err != nil {
		return nil, err
	}
	rows.of.model, rows.of.sample, rows.of.Constant, rows.of.Groups = known.model, known.sample, known.Constant, known.Groups
	rows.grouping = job.Grouping(dataset.Unpacked(known.Groups))
	if rows.grouped, err = job.GroupColumn(src.Columns()); err != nil {
		return nil, err
	}
	rows.wanted = rows.split.BaselineRows()
	if rows.scorer, err = NewScorer(m, res.Workers); err != nil {
		return nil, err
	}
	if rows.job.Spends().Applies(certify.MethodMean) {
		if rows.scorer.around, err = model.NewPredictor(m.around(), res.Workers); err != nil {
			rows.scorer.Close()
			return nil, err
		}
	}
	if job.Groups.NotAFeature(job) {
		rows.scorer.Scale = rows.scorer.Scale.Past()
	}
	return &Prepared{rows}, nil
}

// Pass makes a part of the pass. Close the returned pass.
func (p *Prepared) Pass(ctx context.Context, part Part) (*Pass, error) {
	if err := part.Check(); err != nil {
		return nil, err
	}
	return p.Read(ctx, part.Shards)
}

func (p *Prepared) Read(ctx context.Context, choose func([]dataset.Shard) []int) (*Pass, error) {
	return p.rows.read(ctx, choose(p.rows.shards))
}

// Close frees what scores rows.
func (p *Prepared) Close() {
	if p.rows.scorer != nil {
		p.rows.scorer.Close()
	}
}

// KnownSplit is a split that was found before, by training for the last pass and from the numbers of
// rows for the first: those of all rows follow from them and the hashes.
type KnownSplit struct {
	order   []int64 // ordinals of the rows of lowest rank, in their order
	outside int64   // outside rows
}

// split is that of n rows, of which no held-out row and no outside row is known yet.
func (t *KnownSplit) split(job job.Job, n int64) (dataset.Split, error) {
	r := dataset.SplitOf(job, n, dataset.LeftOut{})
	hasher := dataset.NewSplitHasher(job.Split.Key)
	for _, ordinal := range t.order {
		if ordinal < 0 || ordinal >= n {
			return r, fmt.Errorf("%w: the training state has a row %d, and there are %d: were rows changed since training?", ErrPart, ordinal, n)
		}
		r.Order = append(r.Order, hasher.Rank(ordinal))
	}
	if k := min(job.References(n), int64(len(t.order))); k > 0 {
		r.PriorRows = slices.Sorted(slices.Values(t.order[:k]))
	}
	return r, nil
}

// see finds the held-out rows and the outside rows among those of some shards, if they are unknown.
func (p *rowPass) see(ctx context.Context, shards []int) error {
	if !p.unseen || p.split.HeldOutRows == nil && p.split.OutsideRows == nil {
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

// isFirst makes the pass a first one.
func (p *rowPass) isFirst() {
	p.wanted, p.summaries, p.holds = dataset.OrdinalsOf(p.split.Starts()), true, true
}

// owns returns an error unless a first pass over all rows has what this one is for, the rows with these
// ordinals among it.
func (p *rowPass) owns(found *Pass, kept []int64) error {
	if err := errors.Join(p.of.same(found.Of), found.Missing()); err != nil {
		return err
	}
	for i, shard := range p.shards {
		s, columns := found.shards[i], found.Of.Columns
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

// usable reports whether the values of kept rows are such as a source gives: finite, but for missing ones.
func (p *rowPass) usable(kept []float64) bool {
	names := p.src.Columns()
	for i, v := range kept {
		if v-v != 0 && (math.IsInf(v, 0) || !p.job.FiltersRows() && !p.job.Encode.Fills(names[i%len(names)])) {
			return false
		}
	}
	return true
}

// inParts has the pass made in parts.
func (p *rowPass) inParts(ctx context.Context, job job.Job, columns []string, parts Parts, see func(*Pass) error) error {
	configuration, err := job.Canonical()
	if err != nil {
		return err
	}
	h := &TrainingState{
		Format: TrainingStateFormat, Arithmetic: model.Arithmetic, Configuration: configuration, Sequence: job.Numbering,
		Columns: columns, Distinct: p.columns, Secret: p.secret.String(),
	}
	h.NoteSplit(job, p.split)
	return parts(ctx, h, p.shards, see)
}

// A Parts has a pass over these shards made in parts, by [pipeline.Prepare], and lends them, merged, to use.
type Parts func(ctx context.Context, h *TrainingState, shards []dataset.Shard, use func(*Pass) error) error
