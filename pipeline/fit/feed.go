package fit

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// chunkRows is the number of scaled rows that the trainer gets at a time in a full pass. Results depend on it, because the
// sums of a pass are rounded after each chunk.
const chunkRows = 4096

// A Feed delivers the scaled training rows of a dataset any number of times: in ordinal order for full passes, through a
// shuffle buffer for mini-batches. If they fit the memory budget it holds them in memory. Otherwise it reads the source
// each time, with the same result.
type Feed struct {
	src     dataset.Source
	split   dataset.Split
	scale   dataset.Scaler
	readers int
	x, y    []float64 // all training rows, or nil
}

// NewStream returns a feed that holds no rows in memory, for a single pass.
func NewStream(src dataset.Source, s *pass.FirstPass, res job.Resources) *Feed {
	return &Feed{src: src, split: s.Split, scale: s.Scaler(), readers: res.Workers}
}

// NewFeed returns a feed. It reads the scaled rows into memory if they fit.
func NewFeed(ctx context.Context, src dataset.Source, s *pass.FirstPass, res job.Resources) (*Feed, error) {
	f := NewStream(src, s, res)
	n, d := s.Split.Train(), f.scale.Inputs
	if n*int64(d+1)*8 > res.Memory {
		return f, nil
	}
	x, y := make([]float64, n*int64(d)), make([]float64, n)
	at := 0
	err := f.rows(ctx, nil, func(rx, ry []float64) error {
		copy(x[at*d:], rx)
		copy(y[at:], ry)
		at += len(ry)
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.x, f.y = x, y
	return f, nil
}

// rows calls use with the training rows of the shards, in the given order. The slices are valid until use returns.
func (f *Feed) rows(ctx context.Context, order []int, use func(x, y []float64) error) error {
	d := f.scale.Inputs
	if f.x != nil && order == nil {
		return use(f.x, f.y)
	}
	if f.x != nil {
		shards := f.src.Shards()
		for _, i := range order {
			from, to := int(f.split.TrainIndex(shards[i].First)), int(f.split.TrainIndex(shards[i].First+shards[i].Rows))
			if err := use(f.x[from*d:to*d], f.y[from:to]); err != nil {
				return err
			}
		}
		return nil
	}
	var x, y []float64
	return dataset.Stream(ctx, f.src, order, f.readers, func(b dataset.Block) error {
		if len(y) < b.Rows {
			x, y = make([]float64, b.Rows*d), make([]float64, b.Rows)
		}
		for from, to := range f.split.Runs(b) {
			f.scale.Scale(b, from, to, x, y)
			if err := use(x[:(to-from)*d], y[:to-from]); err != nil {
				return err
			}
		}
		return nil
	})
}

// enoughRows is a number of training rows that is enough for least squares and for the choice among candidates: more rows
// hardly change either. One machine reads them in a minute.
var enoughRows int64 = 1 << 22

// enough returns the shards, ascending, on whose training rows least squares and the choice are computed, and the number of
// these rows. They are all shards, as nil, or those whose first rows have the lowest ranks, up to enoughRows training rows.
func (f *Feed) enough(key string) (shards []int, rows int64) {
	if n := f.split.Train(); n <= enoughRows {
		return nil, n
	}
	all, hasher := f.src.Shards(), dataset.NewSplitHasher(key)
	hashes := make([]uint64, len(all))
	for i, s := range all {
		hashes[i] = hasher.Rank(s.First).Hash
	}
	byRank := dataset.Indices(len(all))
	slices.SortStableFunc(byRank, func(a, b int) int { return cmp.Compare(hashes[a], hashes[b]) })
	for _, i := range byRank {
		if rows >= enoughRows {
			break
		}
		shards = append(shards, i)
		rows += f.split.TrainIndex(all[i].First+all[i].Rows) - f.split.TrainIndex(all[i].First)
	}
	slices.Sort(shards)
	return shards, rows
}

// Chunks calls use with the training rows of the shards in the given order, or of all shards in ordinal order if order is
// nil. Each call gets chunkRows rows, the last perhaps fewer, whatever the sizes of batches and shards.
func (f *Feed) Chunks(ctx context.Context, order []int, use func(x, y []float64) error) error {
	d := f.scale.Inputs
	x, y := make([]float64, 0, chunkRows*d), make([]float64, 0, chunkRows)
	err := f.rows(ctx, order, func(rx, ry []float64) error {
		for len(ry) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			k := min(chunkRows-len(y), len(ry))
			x, y = append(x, rx[:k*d]...), append(y, ry[:k]...)
			rx, ry = rx[k*d:], ry[k:]
			if len(y) < chunkRows {
				continue
			}
			if err := use(x, y); err != nil {
				return err
			}
			x, y = x[:0], y[:0]
		}
		return nil
	})
	if err != nil || len(y) == 0 {
		return err
	}
	return use(x, y)
}

// A Shuffled reader delivers the training rows in random order, epoch after epoch, without end. An epoch reads all shards,
// in a random order, through a shuffle buffer. The order depends only on the seed, the epoch and the size of the buffer.
// The position of the reader is the number of rows taken so far.
type Shuffled struct {
	feed   *Feed
	buffer int
	seed   uint64
	taken  int64 // rows since the first epoch began

	x, y []float64 // the latest batch

	next func() (row, error, bool) // of the current epoch
	stop func()                    // nil while no epoch is open
}

type row struct {
	x []float64
	y float64
}

// Shuffled returns a reader that continues at the position taken. Close it after use.
func (f *Feed) Shuffled(seed uint64, buffer int, taken int64) *Shuffled {
	return &Shuffled{feed: f, buffer: buffer, seed: seed, taken: taken}
}

// Take returns the next n rows. They are valid until the next call.
func (r *Shuffled) Take(ctx context.Context, n int) (x, y []float64, err error) {
	r.x, r.y = r.x[:0], r.y[:0]
	for len(r.y) < n {
		one, err := r.row(ctx)
		if err != nil {
			return nil, nil, err
		}
		r.x, r.y = append(r.x, one.x...), append(r.y, one.y)
		r.taken++
	}
	return r.x, r.y, nil
}

// row returns the next row, from the next epoch if this one has ended. It is valid until the next call.
func (r *Shuffled) row(ctx context.Context) (row, error) {
	for range 2 {
		if r.stop == nil {
			n := r.feed.split.Train()
			r.next, r.stop = iter.Pull2(r.feed.epoch(ctx, r.seed, r.taken/n, r.buffer))
			for range r.taken % n {
				if _, err, _ := r.next(); err != nil {
					return row{}, err
				}
			}
		}
		if one, err, ok := r.next(); ok {
			return one, err
		}
		r.Close()
	}
	return row{}, errors.New("the source has no more training rows")
}

// Close ends the current epoch, and its reading of the source.
func (r *Shuffled) Close() {
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
}

// errStopped ends the reading of an epoch whose remaining rows are not needed.
var errStopped = errors.New("the epoch was stopped")

// epoch yields all training rows once, in the order of an epoch, or an error at the end.
func (f *Feed) epoch(ctx context.Context, seed uint64, epoch int64, buffer int) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		d := f.scale.Inputs
		rng := rand.New(rand.NewPCG(seed, uint64(epoch))) //nolint:gosec // reproducible by intent
		order := rng.Perm(len(f.src.Shards()))
		capacity := int(min(int64(buffer), f.split.Train()))
		bx, by := make([]float64, 0, capacity*d), make([]float64, 0, capacity)
		at := func(slot int) row { return row{bx[slot*d : (slot+1)*d], by[slot]} }
		err := f.rows(ctx, order, func(x, y []float64) error {
			for i, v := range y {
				one := x[i*d : (i+1)*d]
				if len(by) < capacity {
					bx, by = append(bx, one...), append(by, v)
					continue
				}
				slot := rng.IntN(capacity)
				if !yield(at(slot), nil) {
					return errStopped
				}
				copy(bx[slot*d:], one)
				by[slot] = v
			}
			return nil
		})
		if err != nil {
			if !errors.Is(err, errStopped) {
				yield(row{}, err)
			}
			return
		}
		for _, slot := range rng.Perm(len(by)) {
			if !yield(at(slot), nil) {
				return
			}
		}
	}
}
