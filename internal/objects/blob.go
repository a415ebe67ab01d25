package objects

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/pacsgp/pacsgp/internal/durable"
)

const (
	// nearBytes is the least that a request asks for: footers are read in several small reads.
	nearBytes = 64 << 10
	// PartBytes bounds what a reader of [Blob.Parts] keeps, and asks for at once.
	PartBytes = 4 << 20
)

// A Blob is an object that is open, in the version that its view has seen first. Its methods may be
// called from several goroutines.
type Blob struct {
	size   int64
	get    func(p []byte, at int64) error
	cancel context.CancelFunc
	work   sync.WaitGroup // of Parts

	mu   sync.Mutex
	near window
}

// A window is a part of an object.
type window struct {
	at   int64
	data []byte
}

// has reports whether all bytes of p from an offset on are in the window.
func (w *window) has(p []byte, at int64) bool {
	return at >= w.at && at+int64(len(p)) <= w.at+int64(len(w.data))
}

// A File is a file or an object.
type File interface {
	io.ReaderAt
	io.Closer
}

// OpenFile opens a regular file or an object, and returns its size.
func OpenFile(ctx context.Context, path string) (File, int64, error) {
	if !IsAddress(path) {
		f, size, err := durable.OpenRegular(path)
		if err != nil {
			return nil, 0, err
		}
		return f, size, nil
	}
	b, err := NewView().Open(ctx, path)
	if err != nil {
		return nil, 0, err
	}
	return b, b.size, nil
}

// Open opens an object. Its reads end with ctx.
func (v *View) Open(ctx context.Context, address string) (*Blob, error) {
	address = Clean(address)
	at, err := v.Stat(ctx, address)
	if err != nil {
		return nil, err
	}
	if at.IsDir() {
		return nil, fmt.Errorf("%s is a folder", address)
	}
	return v.client.blob(ctx, address, at), nil
}

func (c *client) blob(ctx context.Context, address string, at *Info) *Blob {
	within, cancel := context.WithCancel(ctx)
	return &Blob{size: at.size, cancel: cancel, get: func(p []byte, from int64) error { return c.get(within, address, at, p, from) }}
}

// Size is the number of bytes.
func (b *Blob) Size() int64 { return b.size }

// Close ends all reads.
func (b *Blob) Close() error {
	b.cancel()
	b.work.Wait()
	return nil
}

// ReadAt reads as [io.ReaderAt] has it.
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
	if !b.near.has(p, at) {
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

// A Part is a part of an object, from an offset to another one.
type Part struct{ Start, End int64 }

// Parts returns a reader of each part, for one goroutine. A part is read mostly in order, in requests
// of up to [PartBytes]; the first ones are made at once, at the same time.
func (b *Blob) Parts(parts []Part) []io.ReaderAt {
	readers := make([]io.ReaderAt, len(parts))
	for i, p := range parts {
		r := &part{of: b, end: min(p.End, b.size), first: make(chan struct{})}
		readers[i] = r
		b.work.Go(func() {
			defer close(r.first)
			r.err = r.fetch(p.Start)
		})
	}
	return readers
}

// A part reads a [Part].
type part struct {
	window

	of    *Blob
	end   int64
	first chan struct{} // closed when the first window and err are there
	err   error
}

// fetch replaces the window by that from an offset on.
func (r *part) fetch(at int64) error {
	n := min(PartBytes, r.end-at)
	if at < 0 || n <= 0 {
		return nil
	}
	if int64(cap(r.data)) < n {
		r.data = make([]byte, n)
	}
	r.at, r.data = at, r.data[:n]
	return r.of.get(r.data, at)
}

// ReadAt reads as [io.ReaderAt] has it.
func (r *part) ReadAt(p []byte, at int64) (int, error) {
	if <-r.first; r.err != nil {
		return 0, r.err
	}
	for n := 0; n < len(p); {
		from := at + int64(n)
		if !r.has(p[:1], from) {
			if from < 0 || from >= r.end {
				got, err := r.of.ReadAt(p[n:], from)
				return n + got, err
			}
			if r.err = r.fetch(from); r.err != nil {
				return n, r.err
			}
		}
		n += copy(p[n:], r.data[from-r.at:])
	}
	return len(p), nil
}
