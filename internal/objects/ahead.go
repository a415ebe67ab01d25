package objects

import "io"

const (
	// aheadBytes is what the readers of a blob fetch ahead and keep, together, unless that makes
	// windows smaller than leastWindow.
	aheadBytes              = 32 << 20
	leastWindow, mostWindow = 64 << 10, 2 << 20
	windows                 = 3 // of a reader: the last two, and the next one
)

// windowOf is the size of the windows of one of so many readers.
func windowOf(readers int) int64 {
	return min(max(aheadBytes/int64(windows*max(readers, 1)), leastWindow), mostWindow)
}

// AheadMemory is the memory of one of so many readers of [Blob.Ahead] for a part of so many bytes.
func AheadMemory(bytes int64, readers int) int64 { return min(windows*windowOf(readers), bytes) }

// Ahead returns a reader of the bytes from start to end, which are mostly read one after the other:
// it fetches the next ones while those before are used, and begins at once. readers is the number of
// such readers of the blob at a time. A reader is for one goroutine.
func (b *Blob) Ahead(start, end int64, readers int) io.ReaderAt {
	if b.size <= smallObject || start < 0 || start >= end || end > b.size {
		return b
	}
	a := &ahead{of: b, end: end, size: windowOf(readers)}
	a.fetch(start, nil)
	return a
}

// An ahead is a reader of [Blob.Ahead].
type ahead struct {
	of        *Blob
	end, size int64
	was, is   window    // the last two that were read
	next      *fetching // nil behind the end
}

// A fetching is a window that is on its way.
type fetching struct {
	window

	err  error
	done chan struct{} // closed when data and err are there
}

// fetch begins to fetch the window at an offset, into room if that suffices.
func (a *ahead) fetch(at int64, room []byte) {
	n := min(a.size, a.end-at)
	if a.next = nil; n <= 0 {
		return
	}
	if int64(cap(room)) < n {
		room = make([]byte, n)
	}
	f := &fetching{window: window{at, room[:n]}, done: make(chan struct{})}
	a.next = f
	a.of.work.Go(func() {
		defer close(f.done)
		f.err = a.of.piece(f.data, f.at)
	})
}

// turn waits for the next window, and begins to fetch the one behind it.
func (a *ahead) turn() error {
	f := a.next
	if <-f.done; f.err != nil {
		return f.err
	}
	room := a.was.data
	a.was, a.is = a.is, f.window
	a.fetch(f.at+int64(len(f.data)), room)
	return nil
}

// ReadAt reads as [io.ReaderAt] has it. What is in none of the windows is a request of its own.
func (a *ahead) ReadAt(p []byte, at int64) (int, error) {
	for n := 0; n < len(p); {
		from := at + int64(n)
		got := a.is.copy(p[n:], from)
		if got == 0 {
			got = a.was.copy(p[n:], from)
		}
		n += got
		switch {
		case got > 0:
		case a.next != nil && a.next.holds(from):
			if err := a.turn(); err != nil {
				return n, err
			}
		default:
			got, err := a.of.ReadAt(p[n:], from)
			return n + got, err
		}
	}
	return len(p), nil
}

// holds reports whether the byte at an offset is in the window.
func (w *window) holds(at int64) bool { return at >= w.at && at < w.at+int64(len(w.data)) }

// copy copies what the window has of p, which begins at an offset.
func (w *window) copy(p []byte, at int64) int {
	if !w.holds(at) {
		return 0
	}
	return copy(p, w.data[at-w.at:])
}
