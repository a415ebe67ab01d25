package lake

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// Some writers make one page of a whole chunk. Such pages are read, decompressed and decoded in
// pieces, so that memory does not grow with the rows of a row group. Small pages, the usual case,
// are read faster whole. The definition levels of a large page stay in memory, usually at most
// an eighth of a byte a row. Three kinds of pages are decompressed as a whole:
// BYTE_STREAM_SPLIT, whose values have their bytes in all parts of the page; pages whose codec
// looks back over nearly all of the page; and snappy without blocks of 64 KiB.

const (
	// pagesBytes bounds the whole pages of all columns together; largestWhole and smallestWhole
	// bound the share of a column. Writers aim at pages of 1 MiB.
	pagesBytes    = 128 << 20
	largestWhole  = 2 << 20
	smallestWhole = 64 << 10

	// storedPiece is how much is read of a file at a time, windowBytes how much is
	// decompressed.
	storedPiece = 16 << 10
	windowBytes = 32 << 10
)

// wholePages returns the largest size of a page that is read whole, of a source with so many columns.
func wholePages(columns int) int {
	return min(max(pagesBytes/max(columns, 1), smallestWhole), largestWhole)
}

type way int

const (
	asAWhole way = iota
	inPieces
	directly
)

// wayOf returns how a data page with this header and these first stored bytes is read. Pages up to
// the size whole are read whole; larger ones in pieces if that needs less memory.
func (ch *chunk) wayOf(c *column, h *parquetmeta.PageHeader, first []byte, whole int) way {
	size, codec := int64(h.Uncompressed), ch.codecOf(h)
	small := max(h.Uncompressed, h.Compressed) <= int32(whole)
	switch {
	case ch.isDirect(c, h, small):
		return directly
	case small || h.Encoding == format.ByteStreamSplit:
		return asAWhole
	case codec == format.Uncompressed || windowBytes+storedPiece+historyOf(codec, size, first) < size:
		return inPieces
	default:
		return asAWhole
	}
}

func (ch *chunk) codecOf(h *parquetmeta.PageHeader) format.CompressionCodec {
	if h.Kind == format.DataPageV2 && h.Stored {
		return format.Uncompressed
	}
	return ch.codec
}

// zstdWindow returns the window of a frame, in bytes, by its first bytes.
func zstdWindow(first []byte) int64 {
	var z zstd.Header
	switch {
	case z.Decode(first) != nil:
		return math.MaxInt64
	case z.SingleSegment:
		return int64(min(z.FrameContentSize, math.MaxInt64))
	default:
		return int64(min(z.WindowSize, math.MaxInt64))
	}
}

// A body reads the stored bytes of a page in pieces and sums them up.
type body struct {
	pages *pageReader
	buf   []byte
	at    int
	end   int
	start int // its offset in the page
}

// reset starts the body of the current page of p behind the bytes that were read. Afterwards others
// may use the buffer of the page's first bytes.
func (b *body) reset(p *pageReader) error {
	b.pages, b.at, b.end, b.start = p, 0, 0, p.consumed
	if b.buf == nil {
		b.buf = make([]byte, storedPiece)
	}
	err := b.fill()
	p.ahead = p.ahead[:min(len(p.ahead), p.consumed)]
	return err
}

// fill reads the next piece. At the end of the page it returns io.EOF.
func (b *body) fill() error {
	n := min(len(b.buf), b.pages.size-b.pages.consumed)
	if n == 0 {
		return io.EOF
	}
	b.at, b.end = 0, n
	return b.pages.read(b.buf[:n])
}

func (b *body) Read(dst []byte) (int, error) {
	if b.at == b.end {
		if err := b.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(dst, b.buf[b.at:b.end])
	b.at += n
	return n, nil
}

func (b *body) ReadByte() (byte, error) {
	if b.at == b.end {
		if err := b.fill(); err != nil {
			return 0, err
		}
	}
	b.at++
	return b.buf[b.at-1], nil
}

// A window is the part of a page in pieces that is in memory, decompressed.
type window struct {
	body   body
	r      io.Reader // of the decompressed bytes
	left   int       // decompressed bytes that are left
	buf    []byte
	codecs decompressor
	snappy snappyReader
}

// open starts to decompress the rest of the body to size bytes.
func (w *window) open(codec format.CompressionCodec, size int) (err error) {
	w.left, w.r = size, &w.body
	switch codec {
	case format.Uncompressed:
	case format.Snappy:
		w.snappy.reset(&w.body, size)
		w.r = &w.snappy
	default:
		w.r, err = w.codecs.stream(codec, &w.body, w.body.buf[w.body.at:w.body.end])
	}
	return noEOF(err)
}

// refill returns at least the next n bytes, or all that are left. rest is the unused end of the
// bytes that it returned last. The returned array has unpackPadding further bytes.
func (w *window) refill(rest []byte, n int) ([]byte, error) {
	if len(rest) >= n || w.rest() == 0 {
		return rest, nil
	}
	size := max(n, windowBytes)
	buf := w.buf
	if cap(buf) < size+unpackPadding {
		buf = make([]byte, size+unpackPadding)
		w.buf = buf
	}
	have := copy(buf[:cap(buf)], rest)
	more := min(size-have, w.left)
	if _, err := io.ReadFull(w.r, buf[have:have+more]); err != nil {
		return nil, fmt.Errorf("the page has fewer bytes than its header says: %w", noEOF(err))
	}
	w.left -= more
	return buf[: have+more : have+more+unpackPadding], nil
}

// rest returns the number of bytes that are left; 0 for a nil window.
func (w *window) rest() int {
	if w == nil {
		return 0
	}
	return w.left
}

// close returns an error if the page does not end with the window, and reads the remaining stored
// bytes for the checksum.
func (w *window) close() error {
	if w.left == 0 && w.r != io.Reader(&w.body) {
		if err := ended(w.r); err != nil {
			return err
		}
	}
	for {
		if err := w.body.fill(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// sumAhead compares the checksum of a page in pieces before all of it was read. Bytes that are read
// later are summed again.
func (p *pageReader) sumAhead() error {
	if p.verified || p.early {
		return nil
	}
	sum := p.sum
	piece := make([]byte, windowBytes)
	for at := p.consumed; at < p.size; at += len(piece) {
		piece = piece[:min(len(piece), p.size-at)]
		if err := p.readAt(piece, at); err != nil {
			return err
		}
		sum = crc32.Update(sum, crc32.IEEETable, piece)
	}
	if sum != p.header.Sum {
		return p.wrongSum()
	}
	p.early = true
	return nil
}

// startStream starts a data page that is read in pieces, behind its levels in version 2.
func (c *walker[V]) startStream(h *parquetmeta.PageHeader) error {
	size := int64(h.Uncompressed) - int64(c.pages.consumed-c.pages.head)
	if err := c.believe(size, int64(c.rows)); err != nil {
		return err
	}
	if c.more == nil {
		c.more = new(window)
	}
	w := c.more
	codec := c.chunk.codecOf(h)
	if stored := int64(c.pages.size - c.pages.consumed); codec == format.Uncompressed && stored != size {
		return wrongLength(int(stored), int(size))
	}
	if err := w.body.reset(&c.pages); err != nil {
		return noEOF(err)
	}
	w.snappy.allowed = c.allowed
	if err := w.open(codec, int(size)); err != nil {
		return err
	}
	data, err := w.refill(nil, 16)
	if err != nil {
		return err
	}
	if c.leveled && h.Kind == format.DataPage {
		if data, err = c.streamLevels(h, data); err != nil {
			return err
		}
	}
	return c.values.reset(h.Encoding, data, c.table, w)
}

// streamLevels reads the definition levels of a page of version 1 in pieces, and returns the
// first bytes of its values.
func (c *walker[V]) streamLevels(h *parquetmeta.PageHeader, data []byte) ([]byte, error) {
	n, err := levelBytes(h, data, c.more.left)
	if err != nil {
		return nil, err
	}
	levels := grow(&c.own, n)
	have := copy(levels, data[4:])
	data = data[4+have:]
	for have < n {
		if data, err = c.more.refill(nil, min(n-have, windowBytes)); err != nil {
			return nil, err
		}
		k := copy(levels[have:], data)
		data = data[k:]
		have += k
	}
	c.levels.reset(levels, c.col.levelBits())
	return c.more.refill(data, 16)
}

// closeStream ends a page that was read in pieces, after its last value.
func (c *walker[V]) closeStream() error {
	unfinished := c.values.finished() // before close skips the rest
	err := c.more.close()
	if sum := c.pages.verify(); sum != nil {
		return sum
	}
	if unfinished != nil {
		return unfinished
	}
	return err
}

// firstBytes returns the first stored bytes of the page's values, those that were read with its
// header.
func (p *pageReader) firstBytes() []byte {
	return p.ahead[min(p.head+max(0, int(p.header.Definition)), len(p.ahead)):]
}
