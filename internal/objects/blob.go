package objects

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// nearBytes is the smallest size of a request: a footer is read in several small reads.
	nearBytes = 64 << 10
	// pieceBytes bounds a piece, in bytes. A reader of [Blob.Parts] holds up to two pieces.
	pieceBytes = 4 << 20
)

// A Blob is an open object, in the version that its view saw first. Its methods may be called from several goroutines.
type Blob struct {
	size   int64
	get    func(p []byte, at int64) error
	cancel context.CancelFunc
	work   sync.WaitGroup // of Parts

	mu   sync.Mutex
	near window
}

// A window is a range of an object's bytes in memory.
type window struct {
	at   int64
	data []byte
}

func (c *client) blob(ctx context.Context, address string, at *Info) *Blob {
	within, cancel := context.WithCancel(ctx)
	return &Blob{size: at.size, cancel: cancel, get: func(p []byte, from int64) error { return c.get(within, address, at, p, from) }}
}

// Size returns the number of bytes.
func (b *Blob) Size() int64 { return b.size }

// Close cancels all reads and waits for them.
func (b *Blob) Close() error {
	b.cancel()
	b.work.Wait()
	return nil
}

// ReadAt implements [io.ReaderAt].
func (b *Blob) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 || at >= b.size {
		return 0, io.EOF
	}
	end := error(nil)
	if int64(len(p)) > b.size-at {
		p, end = p[:b.size-at], io.EOF
	}
	if len(p) >= nearBytes {
		if err := b.get(p, at); err != nil {
			return 0, err
		}
		return len(p), end
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if near := b.near; at < near.at || at+int64(len(p)) > near.at+int64(len(near.data)) {
		n := min(nearBytes, b.size)
		w := window{at: min(at, b.size-n), data: make([]byte, n)} // footers are at the end
		if err := b.get(w.data, w.at); err != nil {
			return 0, err
		}
		b.near = w
	}
	copy(p, b.near.data[at-b.near.at:])
	return len(p), end
}

// A Part is the range of an object from offset Start to End, without End.
type Part struct{ Start, End int64 }

// Parts returns a reader for each part. Each reader is for one goroutine and for reads mostly in
// order. Neighbouring parts are fetched together, in pieces of up to 4 MiB: the first piece of each
// part at once, each later one while the piece before it is read.
func (b *Blob) Parts(parts []Part) []io.ReaderAt {
	readers, order := make([]io.ReaderAt, len(parts)), make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(parts[i].Start, parts[j].Start) })
	var all []*piece
	for _, i := range order {
		start, end := max(parts[i].Start, 0), min(parts[i].End, b.size)
		if len(all) > 0 {
			last := all[len(all)-1]
			if last.end < end && start <= last.end+nearBytes {
				last.end = min(end, last.at+pieceBytes)
			}
		}
		first, _ := slices.BinarySearchFunc(all, start, func(p *piece, at int64) int { return cmp.Compare(p.end, at+1) })
		for at := start; at < end; {
			if len(all) > 0 {
				at = max(at, all[len(all)-1].end)
			}
			if at < end {
				all = append(all, &piece{at: at, end: min(end, at+pieceBytes), done: make(chan struct{})})
			}
		}
		readers[i] = &part{of: b, pieces: all[first:], end: end}
	}
	for _, r := range readers {
		of := r.(*part)
		for _, p := range of.pieces {
			p.left.Add(1)
		}
		of.ahead(1)
	}
	return readers
}

// A piece is a range of an object. It is in memory while readers are near it.
type piece struct {
	at, end int64
	once    sync.Once
	left    atomic.Int32  // readers that are not past the piece
	done    chan struct{} // closed when data and err are set
	data    []byte
	err     error
}

type part struct {
	of     *Blob
	pieces []*piece // the piece that is read now, and those after it
	end    int64
}

func (r *part) ahead(n int) {
	for _, p := range r.pieces[:min(n, len(r.pieces))] {
		p.once.Do(func() {
			r.of.work.Go(func() {
				defer close(p.done)
				p.data = make([]byte, p.end-p.at)
				p.err = r.of.get(p.data, p.at)
			})
		})
	}
}

// ReadAt implements [io.ReaderAt]. It makes an extra request for bytes before the present piece.
func (r *part) ReadAt(p []byte, at int64) (int, error) {
	for n := 0; n < len(p); {
		from := at + int64(n)
		for len(r.pieces) > 0 && from >= r.pieces[0].end && from < r.end {
			if r.pieces[0].left.Add(-1) == 0 {
				r.pieces[0].data = nil
			}
			r.pieces = r.pieces[1:]
		}
		if len(r.pieces) == 0 || from < r.pieces[0].at || from >= r.pieces[0].end {
			got, err := r.of.ReadAt(p[n:], from)
			return n + got, err
		}
		r.ahead(2)
		is := r.pieces[0]
		if <-is.done; is.err != nil {
			return n, is.err
		}
		n += copy(p[n:], is.data[from-is.at:])
	}
	return len(p), nil
}
