package pipeline

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/pacsgp/pacsgp/model"
)

// chunkRows is the number of scaled rows that the trainer gets at a time in a full pass. It is a
// constant, because the sums of a pass are rounded chunk by chunk.
const chunkRows = 4096

// A feed delivers the scaled train rows of a sample, again and again: in ordinal order for full
// passes, through a shuffle buffer for mini-batches. It keeps them in memory if they fit the
// budget, and else reads the source again, with the same result.
type feed struct {
	src     Source
	roles   Roles
	scale   scaler
	readers int
	x, y    []float64 // all train rows, or nil
}

// newStream is a feed that keeps nothing, for one pass.
func newStream(src Source, s *Survey, res Resources) *feed {
	return &feed{src: src, roles: s.Roles, scale: s.scaler(), readers: res.Workers}
}

func newFeed(ctx context.Context, src Source, s *Survey, res Resources) (*feed, error) {
	f := newStream(src, s, res)
	n, d := s.Roles.Train(), f.scale.inputs
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

// scaler scales the rows of the source, and passes over the columns of units and groups.
func (s *Survey) scaler() scaler {
	last := len(s.Used) - 1
	used := slices.Concat(s.Used[:last-s.labels], s.Used[last:])
	if s.grouped {
		used = slices.Delete(used, len(s.Features), len(s.Features)+1)
	}
	return newScaler(used, s.Features, s.Encode, s.Target)
}

// scaled are raw rows as the trainer gets them.
func (s *Survey) scaled(raw rawRows) model.Rows {
	scale := s.scaler()
	x, y := scale.scaleRaw(raw)
	return model.Rows{X: x, Y: y, Dim: scale.inputs}
}

// scales are the features' lengthscales.
func (s *Survey) scales(job Job) model.Scales {
	return model.Scales{ARD: !job.Kernel.Isotropic, Widths: s.Encode.Widths(s.Features)}
}

// rows delivers the train rows of the shards in the given order. The slices are
// valid until use returns.
func (f *feed) rows(ctx context.Context, order []int, use func(x, y []float64) error) error {
	d := f.scale.inputs
	if f.x != nil {
		return f.kept(order, use)
	}
	var x, y []float64
	return stream(ctx, f.src, order, f.readers, func(b block) error {
		if len(y) < b.rows {
			x, y = make([]float64, b.rows*d), make([]float64, b.rows)
		}
		return f.roles.runs(b, func(from, to int) error {
			f.scale.scale(b, from, to, x, y)
			return use(x[:(to-from)*d], y[:to-from])
		})
	})
}

// kept delivers rows from memory, shard by shard.
func (f *feed) kept(order []int, use func(x, y []float64) error) error {
	d := int64(f.scale.inputs)
	if order == nil {
		return use(f.x, f.y)
	}
	shards := f.src.Shards()
	for _, i := range order {
		from := f.roles.trainIndex(shards[i].First)
		to := f.roles.trainIndex(shards[i].First + shards[i].Rows)
		if err := use(f.x[from*d:to*d], f.y[from:to]); err != nil {
			return err
		}
	}
	return nil
}

// full delivers all train rows in ordinal order, in chunks of chunkRows rows
// (the last may be shorter), wherever batches and shards end.
func (f *feed) full(ctx context.Context, use func(x, y []float64) error) error {
	d := f.scale.inputs
	x, y := make([]float64, 0, chunkRows*d), make([]float64, 0, chunkRows)
	err := f.rows(ctx, nil, func(rx, ry []float64) error {
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

// packetRows is the number of rows in a packet of the producer of an epoch.
const packetRows = 512

// A shuffled reader delivers the train rows in random order, epoch after epoch, without end. An
// epoch passes all shards, in a random order of its own, through a shuffle buffer. The order
// depends on the seed, the epoch and the size of the buffer alone. The reader's place is the
// number of rows taken so far.
type shuffled struct {
	feed   *feed
	buffer int
	seed   uint64
	taken  int64 // rows since the first epoch began

	x, y []float64 // of the latest batch

	// Of the current epoch: its producer is up to two packets ahead of the reader. It alone
	// sends on packets and closes it.
	packets <-chan packet
	failed  <-chan error
	cancel  context.CancelFunc // nil while no epoch is open
	rest    packet             // of the latest packet
}

type packet struct{ x, y []float64 }

// take returns the next n rows. They are valid until the next call.
func (r *shuffled) take(ctx context.Context, n int) (x, y []float64, err error) {
	d := r.feed.scale.inputs
	r.x, r.y = r.x[:0], r.y[:0]
	for len(r.y) < n {
		if len(r.rest.y) == 0 {
			if r.rest, err = r.receive(ctx); err != nil {
				return nil, nil, err
			}
		}
		k := min(n-len(r.y), len(r.rest.y))
		r.x, r.y = append(r.x, r.rest.x[:k*d]...), append(r.y, r.rest.y[:k]...)
		r.rest = packet{r.rest.x[k*d:], r.rest.y[k:]}
		r.taken += int64(k)
	}
	return r.x, r.y, nil
}

// receive returns the next packet, from the next epoch if this one has ended.
func (r *shuffled) receive(ctx context.Context) (packet, error) {
	for range 2 {
		if r.cancel == nil {
			r.open(ctx)
		}
		if p, ok := <-r.packets; ok {
			return p, nil
		}
		if err := <-r.failed; err != nil {
			return packet{}, err
		}
		r.cancel()
		r.cancel = nil
	}
	return packet{}, errors.New("pipeline: the source has no more train rows")
}

// open starts the producer of the epoch at the place of the reader.
func (r *shuffled) open(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	packets, failed := make(chan packet, 1), make(chan error, 1)
	r.packets, r.failed, r.cancel = packets, failed, cancel
	n := r.feed.roles.Train()
	epoch, skip := r.taken/n, r.taken%n
	go func() {
		defer close(packets)
		failed <- r.feed.shuffle(ctx, r.seed, epoch, r.buffer, func(p packet) error {
			k := min(skip, int64(len(p.y)))
			skip -= k
			if p = (packet{p.x[k*int64(r.feed.scale.inputs):], p.y[k:]}); len(p.y) == 0 {
				return nil
			}
			select {
			case packets <- p:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
}

// close stops the producer and waits for its end.
func (r *shuffled) close() {
	if r.cancel == nil {
		return
	}
	r.cancel()
	for range r.packets { // until the producer has closed it
	}
	r.cancel = nil
}

// shuffle delivers all train rows once, in the order of an epoch. The receiver owns the packets.
func (f *feed) shuffle(ctx context.Context, seed uint64, epoch int64, buffer int, use func(packet) error) error {
	d := f.scale.inputs
	rng := rand.New(rand.NewPCG(seed, uint64(epoch))) //nolint:gosec // reproducible by intent
	order := rng.Perm(len(f.src.Shards()))
	capacity := int(min(int64(buffer), f.roles.Train()))
	bx, by := make([]float64, 0, capacity*d), make([]float64, 0, capacity)
	var out packet
	emit := func(slot int) error {
		if out.y == nil {
			out = packet{make([]float64, 0, packetRows*d), make([]float64, 0, packetRows)}
		}
		out.x, out.y = append(out.x, bx[slot*d:(slot+1)*d]...), append(out.y, by[slot])
		if len(out.y) < packetRows {
			return nil
		}
		full := out
		out = packet{}
		return use(full)
	}
	err := f.rows(ctx, order, func(x, y []float64) error {
		for i, v := range y {
			row := x[i*d : (i+1)*d]
			if len(by) < capacity {
				bx, by = append(bx, row...), append(by, v)
				continue
			}
			slot := rng.IntN(capacity)
			if err := emit(slot); err != nil {
				return err
			}
			copy(bx[slot*d:], row)
			by[slot] = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, slot := range rng.Perm(len(by)) {
		if err := emit(slot); err != nil {
			return err
		}
	}
	if len(out.y) == 0 {
		return nil
	}
	return use(out)
}
