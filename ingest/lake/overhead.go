package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/objects"
)

// looked is the number of row groups, the largest ones, whose pages Overhead looks at.
const looked = 16

// Overhead estimates the memory, in bytes, of readers that read shards at the same time, beside
// their batches: pages, dictionaries, levels and the history of codecs. It reads the headers of the
// first pages of the largest row groups, and no row. Pages that are read in pieces need memory that
// does not grow with their rows.
func (s *Source) Overhead(ctx context.Context, readers int) (int64, error) {
	type sized struct {
		shard shard
		most  int64 // if pages are as large as the footer allows
	}
	var all []sized // the largest ones so far, and some more
	err := s.eachShard(ctx, func(sh shard, foot *footer) error {
		most, err := s.shardOverhead(sh, foot, nil)
		if all = append(all, sized{sh, most}); len(all) > 2*looked {
			slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(b.most, a.most) })
			all = all[:looked]
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(b.most, a.most) })
	var need int64
	for _, x := range all[:min(len(all), looked)] {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if x.most <= need {
			break
		}
		n, err := s.lookInto(ctx, x.shard)
		if err != nil {
			n = x.most // reading the pages will report the error
		}
		need = max(need, n)
	}
	return need * int64(max(readers, 1)), nil
}

// eachShard calls use for each shard with the footer of its file, read again.
func (s *Source) eachShard(ctx context.Context, use func(sh shard, foot *footer) error) error {
	var file *dataFile
	var foot *footer
	for _, sh := range s.shards {
		if err := ctx.Err(); err != nil {
			return err
		}
		if sh.file != file && !sh.file.arrow {
			if err := s.withFooter(ctx, sh.file, func(_ Blob, again *footer) error { foot = again; return nil }); err != nil {
				return fmt.Errorf("lake: %s: %w", sh.file.path, err)
			}
			file = sh.file
		}
		if err := use(sh, foot); err != nil {
			return fmt.Errorf("lake: %s, row group %d, %w", sh.file.path, sh.group.index, err)
		}
	}
	return nil
}

// lookInto returns the memory for reading one shard, by its first pages.
func (s *Source) lookInto(ctx context.Context, sh shard) (need int64, err error) {
	if sh.file.arrow {
		return s.shardOverhead(sh, nil, nil)
	}
	err = s.withFooter(ctx, sh.file, func(file Blob, foot *footer) error {
		need, err = s.shardOverhead(sh, foot, file)
		return err
	})
	return need, err
}

// withFooter opens a Parquet file and reads its footer again.
func (s *Source) withFooter(ctx context.Context, f *dataFile, use func(Blob, *footer) error) error {
	file, err := s.store.Open(ctx, f.path)
	if err != nil {
		return fmt.Errorf("lake: %w", err)
	}
	k, err := s.cache.find(f, file)
	if err == nil {
		err = use(file, k.foot)
	}
	return errors.Join(err, file.Close())
}

// shardOverhead returns the memory for one shard by the headers of its first pages, or an upper
// bound if file is nil.
func (s *Source) shardOverhead(sh shard, foot *footer, file io.ReaderAt) (int64, error) {
	if sh.file.arrow {
		return sh.group.arrowOverhead(), nil
	}
	whole, pages := wholePages(len(s.columns)), headersLooked
	need, stored := int64(0), int64(0)
	shared := make([]int64, s.lanes) // what the cursors of a lane share
	for j, name := range s.columns {
		c := sh.file.column(name)
		if c.leaf < 0 {
			continue
		}
		ch, err := foot.chunk(sh.group.index, c)
		if err != nil {
			return 0, fmt.Errorf("column %q: %w", name, err)
		}
		n := c.most(&ch, whole)
		if c.Text {
			n = cursorNeed{own: min(2*mostLabelPage, 2*ch.uncompressed)}
		} else if file != nil {
			if n, err = c.overhead(&ch, whole, file, &pages); err != nil {
				return 0, fmt.Errorf("column %q: %w", name, err)
			}
		}
		need += cursorBytes + n.own
		stored += ch.end - ch.start
		shared[j%s.lanes] = max(shared[j%s.lanes], n.shared)
	}
	for _, n := range shared {
		need += n
	}
	if objects.IsAddress(sh.file.path) {
		need += objects.AheadMemory(stored, len(s.columns))
	}
	return need, nil
}

const (
	// cursorBytes is the memory of a cursor beside its pages.
	cursorBytes = 24 << 10
	// headersLooked bounds the page headers that are read of a row group, beyond that of the first
	// data page of each chunk.
	headersLooked = 1 << 15
)

// A cursorNeed is the memory of a cursor: its own bytes, and those of buffers shared in its lane.
type cursorNeed struct{ own, shared int64 }

// most returns the memory for a chunk of a single page.
func (c *column) most(ch *chunk, whole int) cursorNeed {
	page := min(ch.uncompressed, c.mostBytes(ch.rows, whole), maxPage)
	return cursorNeed{2 * page, min(ch.end-ch.start, maxPage) + historyOf(ch.codec, page, nil)}
}

// overhead returns the memory for a chunk by the headers of its first pages. It reads at most pages
// further headers and counts them down.
func (c *column) overhead(ch *chunk, whole int, file io.ReaderAt, pages *int) (cursorNeed, error) {
	var raw []byte
	var dictionary, largest cursorNeed
	p := pageReader{src: file, pos: ch.start, end: ch.end, raw: &raw}
	for found := false; !found || *pages > 0; *pages-- {
		err := p.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return cursorNeed{}, err
		}
		n := c.pageOverhead(ch, &p, whole)
		if p.header.Kind == format.DataPage || p.header.Kind == format.DataPageV2 {
			n.own += c.farOverhead(ch, &p, whole)
		}
		switch p.header.Kind {
		case format.DictionaryPage:
			dictionary.own += 8 * int64(p.header.Values) // decoded
			fallthrough
		case format.IndexPage:
			largest = cursorNeed{max(largest.own, n.own), max(largest.shared, n.shared)}
		default:
			found = true
			largest = cursorNeed{max(largest.own, n.own), max(largest.shared, n.shared)}
		}
	}
	return cursorNeed{dictionary.own + largest.own, largest.shared}, nil
}

// pageOverhead returns the memory for the current page of p.
func (c *column) pageOverhead(ch *chunk, p *pageReader, whole int) (n cursorNeed) {
	h := &p.header
	size, body := int64(h.Uncompressed), int64(p.size)+int64(p.size)/4
	data := h.Kind == format.DataPage || h.Kind == format.DataPageV2
	if w := ch.wayOf(c, h, p.firstBytes(), whole); data && w != asAWhole {
		if c.deep > 0 {
			n.own += int64(h.Values)*int64(c.levelBits())/8 + slackOfValue // levels
		}
		if w == directly {
			n.own += directAtOnce * int64(c.width+1)
			return n
		}
		n.own += windowBytes + storedPiece + historyOf(ch.codecOf(h), size, p.firstBytes())
		return n
	}
	if ch.codec == format.Uncompressed {
		return cursorNeed{own: body}
	}
	history := historyOf(ch.codec, size, p.firstBytes())
	if ch.codec == format.Zstd { // the page is its own history
		history = zstdState
	}
	return cursorNeed{own: size, shared: body + history}
}

// farOverhead returns the additional memory for the current page if it is read in pieces of snappy
// and looks back farther than snappyWindow.
func (c *column) farOverhead(ch *chunk, p *pageReader, whole int) int64 {
	h := &p.header
	if ch.codecOf(h) != format.Snappy || ch.wayOf(c, h, p.firstBytes(), whole) != inPieces || !looksFar(p) {
		return 0
	}
	return int64(h.Uncompressed) + int64(p.size)
}

// historyOf returns the memory of a codec for the history of a page of a size.
func historyOf(codec format.CompressionCodec, size int64, first []byte) int64 {
	switch codec {
	case format.Snappy:
		return 2 * snappyWindow
	case format.Gzip:
		return 64 << 10
	case format.Zstd:
		return zstdState + min(zstdWindow(first), size)
	case format.Brotli:
		return 1<<20 + min(2*size, brotliWindow(first)) // its ring grows by doubling
	default:
		return 0
	}
}

// zstdState is the memory of zstd beside its window: a block, its literals, tables.
const zstdState = 1 << 20

// brotliWindow returns the window of a brotli stream by its first bytes: RFC 7932, section 9.1.
func brotliWindow(first []byte) int64 {
	bits := 24 // the most
	if len(first) > 0 {
		b := first[0]
		switch n, m := b>>1&7, b>>4&7; {
		case b&1 == 0:
			bits = 16
		case n > 0:
			bits = 17 + int(n)
		case m == 0:
			bits = 17
		case m > 1:
			bits = 8 + int(m)
		}
	}
	return 1 << bits
}

// looksFar reports whether the first megabyte of a page in snappy has a copy from farther than
// snappyWindow: such pages are decompressed as a whole.
func looksFar(p *pageReader) bool {
	const enough = 1 << 20
	var src body
	var s snappyReader
	size := int(p.header.Uncompressed)
	if p.header.Kind == format.DataPageV2 {
		levels := make([]byte, min(max(0, int(p.header.Definition)), p.size-p.consumed))
		if p.read(levels) != nil {
			return false
		}
		size -= len(levels)
	}
	if src.reset(p) != nil {
		return false
	}
	s.reset(&src, size)
	s.near = true
	_, err := io.CopyN(io.Discard, &s, enough)
	return errors.Is(err, errFar)
}

// An allowance bounds the memory of the pages of a row group while it is read. Overhead sees only
// the first pages; later pages of a hostile file may need more.
type allowance struct {
	most int64 // bytes; 0 means no limit
	held atomic.Int64
}

// A share is the part of an allowance that the cursors of a lane use. Their pages share buffers.
type share struct {
	*allowance

	shared int64 // bytes of the shared buffers
}

// reserve adds bytes to those in use. Too many are an error.
func (s *share) reserve(bytes int64) error {
	if s == nil || s.most == 0 {
		return nil
	}
	if held := s.held.Add(max(bytes, 0)); held > s.most {
		return fmt.Errorf("its pages need %d MiB of memory to be read, and a reader has %d: give more memory, read with fewer workers, or write smaller pages", held>>20+1, s.most>>20)
	}
	return nil
}

// reservePage reserves memory for the current page, in place of the page before.
func (c *walker[V]) reservePage() error {
	if c.most > 0 && int64(c.pages.size) > c.most {
		return c.tooLarge(int64(c.pages.size))
	}
	if c.allowed == nil {
		return nil
	}
	need := c.col.pageOverhead(&c.chunk, &c.pages, c.whole)
	more := max(0, need.own-c.reserved) + max(0, need.shared-c.allowed.shared)
	c.reserved, c.allowed.shared = max(c.reserved, need.own), max(c.allowed.shared, need.shared)
	return c.allowed.reserve(more)
}
