package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pacsgp/pacsgp/internal/durable"
)

const (
	// mostPiece bounds a request, so that a broken one is repeated cheaply.
	mostPiece = 4 << 20
	// nearBytes is the least that a request outside of [Blob.Ahead] asks for: footers are read in
	// several small reads.
	nearBytes = 32 << 10
	// smallObject is the size up to which an object is read as a whole.
	smallObject = 1 << 20
)

// A Blob is an object that is open, in the version that its view has seen first. Its methods may be
// called from several goroutines.
type Blob struct {
	size   int64
	piece  func(p []byte, at int64) error // of at most mostPiece bytes
	cancel context.CancelFunc
	work   sync.WaitGroup // what is fetched ahead

	mu   sync.Mutex
	near [2]window // the last one first
}

// A window is a part of an object.
type window struct {
	at   int64
	data []byte
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
	return &Blob{size: at.size, cancel: cancel, piece: func(p []byte, from int64) error {
		return c.get(within, address, at, p, from)
	}}
}

// get fills p with the bytes of an object from an offset on.
func (c *client) get(ctx context.Context, address string, at *Info, p []byte, from int64) error {
	span := fmt.Sprintf("%d-%d", from, from+int64(len(p))-1)
	header := http.Header{"Range": {"bytes=" + span}, "If-Match": {at.tag}}
	size := strconv.FormatInt(at.size, 10)
	err := c.do(ctx, call{method: http.MethodGet, address: address, header: header}, func(resp *http.Response) error {
		part := resp.Header.Get("Content-Range")
		whole := from == 0 && int64(len(p)) == at.size && resp.ContentLength == at.size
		switch {
		case resp.Header.Get("ETag") != at.tag, part != "" && !strings.HasSuffix(part, "/"+size):
			return ErrChanged
		case part != "bytes "+span+"/"+size && !whole:
			return errors.New("the server sends no parts of it (HTTP ranges); copy the file")
		}
		if n, err := io.ReadFull(resp.Body, p); err != nil {
			return brief{fmt.Errorf("%d of %d bytes came: %w", n, len(p), err)}
		}
		return nil
	})
	if e, ok := errors.AsType[*statusError](err); ok && (e.code == http.StatusNotFound || e.code == http.StatusRequestedRangeNotSatisfiable) {
		return fmt.Errorf("%s: %w", address, ErrChanged)
	}
	return err
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
	read := b.pieces
	if len(p) < nearBytes || b.size <= smallObject {
		read = b.nearby
	}
	if err := read(p, at); err != nil {
		return 0, err
	}
	return len(p), end
}

// pieces reads many bytes, in several requests at a time.
func (b *Blob) pieces(p []byte, at int64) error {
	if len(p) <= mostPiece {
		return b.piece(p, at)
	}
	var g errgroup.Group
	g.SetLimit(4)
	for from := 0; from < len(p); from += mostPiece {
		part := p[from:min(from+mostPiece, len(p))]
		g.Go(func() error { return b.piece(part, at+int64(from)) })
	}
	return g.Wait()
}

// nearby reads few bytes, and keeps those around them for the next reads.
func (b *Blob) nearby(p []byte, at int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.near[0].has(p, at) && b.near[1].has(p, at) {
		b.near[0], b.near[1] = b.near[1], b.near[0]
	}
	if !b.near[0].has(p, at) {
		n := int64(nearBytes)
		if b.size <= smallObject {
			n = b.size
		}
		w := window{at: min(at, b.size-n), data: make([]byte, n)} // footers are at the end
		if err := b.piece(w.data, w.at); err != nil {
			return err
		}
		b.near[0], b.near[1] = w, b.near[0]
	}
	copy(p, b.near[0].data[at-b.near[0].at:])
	return nil
}

// has reports whether all bytes of p from an offset on are in the window.
func (w *window) has(p []byte, at int64) bool {
	return at >= w.at && at+int64(len(p)) <= w.at+int64(len(w.data))
}
