package objects

import (
	"cmp"
	"io"
	"slices"
)

const (
	// aheadBytes is what the readers of a blob fetch ahead and keep, together, unless that makes
	// windows smaller than leastWindow.
	aheadBytes              = 32 << 20
	leastWindow, mostWindow = 64 << 10, 2 << 20
	windows                 = 3 // of a reader: the last two, and the next one
	// gap is what is fetched between two parts to make one request of them.
	gap = 64 << 10
)

// A Part is a part of an object, from an offset to another one.
type Part struct{ Start, End int64 }

// windowOf is the size of the windows of one of so many readers.
func windowOf(readers int) int64 {
	return min(max(aheadBytes/int64(windows*max(readers, 1)), leastWindow), mostWindow)
}

// AheadMemory bounds the memory of [Blob.Ahead] for so many parts with so many bytes together.
func AheadMemory(bytes int64, parts int) int64 {
	n := int64(max(parts, 1))
	return min(bytes+n*gap, max(aheadBytes+n*gap, n*windows*windowOf(parts)))
}

// Ahead returns a reader of each part. A part is mostly read in order; the readers begin at once to
// fetch what will be read next. Small parts are fetched together. share is the number of calls whose
// readers are used at a time. A reader is for one goroutine.
func (b *Blob) Ahead(parts []Part, share int) []io.ReaderAt {
	readers := make([]io.ReaderAt, len(parts))
	var total int64
	for i, p := range parts {
		if readers[i] = b; p.Start < 0 || p.Start >= p.End || p.End > b.size {
			return readers
		}
		total += p.End - p.Start
	}
	if b.size <= smallObject {
		return readers
	}
	if share = max(share, 1); total <= aheadBytes/int64(share) {
		b.together(parts, readers)
		return readers
	}
	for i, p := range parts {
		a := &ahead{of: b, end: p.End, size: windowOf(share * len(parts))}
		a.fetch(p.Start, nil)
		readers[i] = a
	}
	return readers
}

// together fetches all parts now, those next to each other in one request.
func (b *Blob) together(parts []Part, readers []io.ReaderAt) {
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(parts[i].Start, parts[j].Start) })
	for first := 0; first < len(order); {
		start, end, next := parts[order[first]].Start, parts[order[first]].End, first+1
		for ; next < len(order) && parts[order[next]].Start <= end+gap; next++ {
			end = max(end, parts[order[next]].End)
		}
		s := &span{of: b}
		for at := start; at < end; at += mostPiece {
			s.pieces = append(s.pieces, b.fetch(at, make([]byte, min(mostPiece, end-at))))
		}
		for ; first < next; first++ {
			readers[order[first]] = s
		}
	}
}

// A span is what was fetched at once, in pieces that follow each other.
type span struct {
	of     *Blob
	pieces []*fetching
}

// ReadAt reads as [io.ReaderAt] has it. It waits for the pieces of p.
func (s *span) ReadAt(p []byte, at int64) (n int, err error) {
	for _, f := range s.pieces {
		if n == len(p) {
			break
		}
		if from := at + int64(n); f.holds(from) {
			if <-f.done; f.err != nil {
				return n, f.err
			}
			n += f.copy(p[n:], from)
		}
	}
	if n < len(p) {
		got, err := s.of.ReadAt(p[n:], at+int64(n))
		return n + got, err
	}
	return n, nil
}

// An ahead is a reader of a part that is too long to be fetched at once.
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
	a.next = a.of.fetch(at, room[:n])
}

// fetch begins to fetch the bytes at an offset into room.
func (b *Blob) fetch(at int64, room []byte) *fetching {
	f := &fetching{window: window{at, room}, done: make(chan struct{})}
	b.work.Go(func() {
		defer close(f.done)
		f.err = b.piece(f.data, f.at)
	})
	return f
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
