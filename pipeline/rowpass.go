package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
)

// A rowPass reads shards of a sample into a [Pass]. It knows the role of each row.
type rowPass struct {
	src     Source
	shards  []Shard
	columns []int // in which copies are equal, the target last; nil: copies are not counted
	res     Resources
	roles   Roles
	unseen  bool   // which of the rows are hold-out rows or outside rows is found shard by shard
	sieve   *sieve // nil unless the job leaves rows out
	secret  secret
	of      subject
	job     Job

	// What the pass is for.
	wanted    []int64           // ordinals of the rows to keep, ascending
	summaries bool              // of the columns
	scorer    *scorer           // nil: no row is scored
	curve     bool              // counts the errors of the mean on hold-out rows
	grouping  *certify.Grouping // counts these rows by group; nil: there are none
	grouped   int               // the column of the groups
	holds     bool              // gathers the hold-out rows
}

// beginPass prepares a pass. If the job leaves rows out, it reads all rows to find them. Copies
// that are not dropped are counted during the pass. The roles are found anew unless they are told.
func beginPass(ctx context.Context, src Source, job Job, columns []int, hidden secret, told *toldRoles, res Resources) (*rowPass, error) {
	configuration, err := job.Digest()
	if err != nil {
		return nil, err
	}
	n := rowsOf(src)
	job = job.ForRows(n)
	p := &rowPass{src: src, shards: src.Shards(), columns: columns, res: res, secret: hidden, job: job, curve: job.Spends().Applies(certify.MethodCurve)}
	p.of = subject{
		rows: n, shards: len(p.shards), columns: len(src.Columns()), layout: layoutDigest(p.shards), configuration: configuration,
	}
	if err := job.rolesFit(n, res); err != nil {
		return nil, err
	}
	var out leftOut
	if job.sifts() {
		if p.sieve, err = sift(ctx, src, job, columns, res); err != nil {
			return nil, err
		}
		out = p.sieve.out
	}
	if out.copies == nil {
		p.of.secret = hidden.digest()
	}
	p.of.bad = out.bad.size()
	if told != nil {
		p.of.outside, p.unseen = told.outside, true
		p.roles, err = told.roles(job, n)
		return p, err
	}
	if p.sieve != nil && p.sieve.roles != nil {
		p.roles, err = p.sieve.roles.roles(n, out)
	} else {
		p.roles, err = newRoles(ctx, job, n, out, res.Workers)
	}
	if err != nil {
		return nil, err
	}
	p.of.outside = p.roles.Outside()
	if err := errors.Join(job.scalable(p.roles.Rows-out.size(), p.roles.Reference()), job.separable(p.roles)); err != nil {
		if p.sieve != nil {
			err = cmp.Or(job.BadRows.stop(out.bad.size(), n, p.sieve.bad), err)
		}
		return nil, err
	}
	return p, nil
}

// rolesFit returns an error unless memory has room for the roles of n rows.
func (j Job) rolesFit(n int64, res Resources) error {
	need := n / 8 * j.Roles.sets()
	if need <= max(res.Memory, 1<<26) {
		return nil
	}
	return fmt.Errorf("%w: hold-out rows take a bit a row, %d MiB for %s, and the job has %d MiB: give more memory, or leave out the method holdout",
		ErrData, need>>20, words.Count(n, "row"), res.Memory>>20)
}

// sifts reports whether roles are known only after a reading of all rows.
func (j Job) sifts() bool {
	return j.drops() || j.BadRows.Some() || j.Unit.given()
}

// read reads shards, several at a time. Close what it returns.
func (p *rowPass) read(ctx context.Context, shards []int) (*Pass, error) {
	found := &Pass{of: p.of, shards: map[int]*shardPass{}, tallies: certify.Tallies{}, units: newUnitSums(p.roles.units)}
	if err := p.see(ctx, shards); err != nil {
		return nil, err
	}
	if p.holds {
		found.held = &heldRows{}
	}
	r := newReading(p.src, shards, p.res.Workers, nil, marker{})
	switch {
	case p.roles.out.copies != nil:
		found.copies = p.sieve.copies
	case p.columns != nil:
		found.marks = newCounter(rowsIn(p.shards, shards), p.res, nil)
		r.marked, r.marker = p.job.unlabelled(p.columns), newMarker(p.secret)
	}
	var mu sync.Mutex // of found
	spaces := make([]*workspace, max(1, p.res.Workers))
	err := r.shards(ctx, func(worker, shard int) (func(block) error, func(ending) error) {
		if p.scorer != nil && spaces[worker] == nil {
			spaces[worker] = &workspace{of: p.scorer}
		}
		f := p.fold(shard, spaces[worker])
		var records []rowRecord
		add := func(b block) error {
			if found.marks != nil {
				records = recordsBut(records[:0], b, func(i int) bool { return p.roles.out.bad.has(b.first + int64(i)) })
				if err := found.marks.add(ctx, records); err != nil {
					return err
				}
			}
			if found.held != nil {
				found.held.add(p.roles, b)
			}
			return f.add(b)
		}
		return add, func(e ending) error {
			f.found.columns, f.found.targets = e.columns, e.targets
			if p.sieve != nil && !slices.Equal(e.columns, p.sieve.columns[shard]) {
				return fmt.Errorf("%w: %s has other values than in the search for copies or bad rows", ErrChanged, p.shards[shard].Name)
			}
			mu.Lock()
			defer mu.Unlock()
			found.shards[shard] = &f.found
			return errors.Join(found.tallies.Merge(f.tallies), found.units.merge(f.units))
		}
	})
	if err != nil {
		return nil, errors.Join(err, found.Close())
	}
	return found, nil
}

// rowsIn is the number of rows of some shards.
func rowsIn(all []Shard, some []int) (n int64) {
	for _, i := range some {
		n += all[i].Rows
	}
	return n
}

// among are those of some ordinals, which ascend, that are of the shard.
func (s Shard) among(ordinals []int64) []int64 {
	from, _ := slices.BinarySearch(ordinals, s.First)
	to, _ := slices.BinarySearch(ordinals, s.First+s.Rows)
	return ordinals[from:to]
}

// A shardFold is the fold over the rows of one shard.
type shardFold struct {
	pass    *rowPass
	space   *workspace // nil: no row is scored
	wanted  []int64    // ordinals of the rows still to keep
	found   shardPass
	tallies certify.Tallies
	units   *unitSums   // nil: rows are examples
	unitOf  *unitHasher // with units
}

func (p *rowPass) fold(shard int, space *workspace) *shardFold {
	s := p.shards[shard]
	return &shardFold{
		pass: p, space: space, wanted: s.among(p.wanted), tallies: certify.Tallies{},
		found: shardPass{first: s.First, rows: s.Rows},
		units: newUnitSums(p.roles.units), unitOf: newUnitHasher(p.job, p.of.columns),
	}
}

// add adds one block.
func (f *shardFold) add(b block) error {
	if f.pass.summaries {
		f.summarise(b)
	}
	for len(f.wanted) > 0 && f.wanted[0] < b.first+int64(b.rows) {
		for _, column := range b.columns {
			f.found.kept = append(f.found.kept, column[f.wanted[0]-b.first])
		}
		f.wanted = f.wanted[1:]
	}
	if f.space == nil {
		return nil
	}
	return errors.Join(f.order(b), f.score(b), f.scoreHoldout(b))
}

// order adds the targets of reference and train rows.
func (f *shardFold) order(b block) error {
	scale := f.space.of.scale
	return f.pass.roles.open(b, func(from, to int) error {
		for i := from; i < to; i++ {
			f.found.targetsInOrder.add(inSteps(scale.targetOf(b, i)))
		}
		return nil
	})
}

// scoreHoldout adds the losses of predictions on the hold-out rows of a block.
func (f *shardFold) scoreHoldout(b block) error {
	w := f.space
	w.reset(b.rows)
	var at []int
	err := f.pass.roles.heldOut(b, func(i int) error {
		w.gather(b, i, i+1)
		at = append(at, i)
		return nil
	})
	if err != nil || len(at) == 0 {
		return err
	}
	rows, err := w.scoreMeans()
	if err != nil {
		return err
	}
	mean := f.tallies.At(certify.PredictorMean, certify.RoleHoldout)
	add := mean.AddSpread
	if w.of.meta.Loss.Kind.Counts() {
		add = mean.Risk.Add
	}
	for i := range at {
		if f.units != nil {
			add = sumOf(f.units.holdout, f.unitOf.unit(b, at[i])).Add
		}
		if !(rows.laws.MeanError[i] <= w.of.accuracy) {
			mean.Unproven++
		}
		if err := add(rows.hi[i]); err != nil {
			return fmt.Errorf("pipeline: row %d of the sample: %w", b.first+int64(at[i]), err)
		}
		if f.pass.curve {
			w.addError(mean, rows, i)
		}
		if by := f.pass.grouping; by != nil {
			mean.AddGroup(by.Of(b.columns[f.pass.grouped][at[i]]), len(by.Values)+1, rows.hi[i] > 0)
		}
	}
	return nil
}

// summarise notes which columns have more than one value.
func (f *shardFold) summarise(b block) {
	if b.rows == 0 {
		return
	}
	if f.found.summaries == nil {
		for _, column := range b.columns {
			f.found.summaries = append(f.found.summaries, summary{first: column[0], one: true})
		}
	}
	for c := range f.found.summaries {
		s := &f.found.summaries[c]
		s.one = s.one && !slices.ContainsFunc(b.columns[c], func(v float64) bool { return v != s.first })
	}
}

// score adds the losses of the train rows of a block.
func (f *shardFold) score(b block) error {
	w := f.space
	w.reset(b.rows)
	targets := b.columns[len(b.columns)-1]
	var runs [][2]int
	err := f.pass.roles.runs(b, func(from, to int) error {
		w.gather(b, from, to)
		runs = append(runs, [2]int{from, to})
		return nil
	})
	if err != nil {
		return err
	}
	rows, err := w.score()
	if err != nil {
		return err
	}
	i := 0
	draw, column, to := f.tallies.At(certify.PredictorDraw, certify.RoleTrain), w.column(b), &rowSums{}
	for _, run := range runs {
		for at := run[0]; at < run[1]; at++ {
			if f.units != nil {
				to = sumOf(f.units.train, f.unitOf.unit(b, at))
			}
			if !(rows.laws.MeanError[i] <= w.of.accuracy) {
				draw.Unproven++
			}
			err := to.draw.Add(rows.hi[i])
			if err == nil {
				err = to.constant.AddLower(w.of.ofConstant(targets[at], f.pass.of.constant))
			}
			if err == nil && column != nil {
				err = f.tallies.At(certify.PredictorColumn, certify.RoleTrain).Risk.Add(misfit(targets[at], column[at], w.of.scale.target.Scale))
			}
			if err != nil {
				return fmt.Errorf("pipeline: row %d of the sample: %w", b.first+int64(at), err)
			}
			i++
		}
	}
	if f.units != nil {
		return nil
	}
	return errors.Join(draw.Risk.Merge(to.draw), f.tallies.At(certify.PredictorConstant, certify.RoleTrain).Risk.Merge(to.constant))
}
