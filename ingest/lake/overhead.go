package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/objects"
)

// Overhead estimates the memory, in bytes, of readers that read shards at the same time, beside
// their batches: pages, dictionaries, levels and the history of codecs. It reads the headers of the
// first pages of the largest row group, and no row. Pages that are read in pieces need memory that
// does not grow with their rows.
func (s *Source) Overhead(ctx context.Context, readers int) (need int64, err error) {
	var largest shard
	most := int64(-1)
	err = s.eachShard(ctx, func(sh shard, foot *footer) error {
		n, err := s.stored(sh, foot)
		if n > most {
			largest, most = sh, n
		}
		return err
	})
	if err != nil || most < 0 {
		return 0, err
	}
	if largest.file.arrow {
		need = largest.group.arrowOverhead()
	} else {
		err = s.withFooter(ctx, largest.file, func(file blob, foot *footer) error {
			need, err = s.shardOverhead(largest, foot, file)
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("lake: %s, row group %d, %w", largest.file.path, largest.group.index, err)
	}
	return need * int64(max(readers, 1)), nil
}

// stored returns the bytes of a shard's used columns, unpacked as far as its footer tells.
func (s *Source) stored(sh shard, foot *footer) (bytes int64, err error) {
	if sh.file.arrow {
		return sh.group.batch.Bytes, nil
	}
	for _, name := range s.columns {
		c := sh.file.column(name)
		if c.leaf < 0 {
			continue
		}
		ch, err := foot.chunk(sh.group.index, c)
		if err != nil {
			return 0, fmt.Errorf("column %q: %w", name, err)
		}
		bytes += min(ch.uncompressed, math.MaxInt64-bytes)
	}
	return bytes, nil
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
			if err := s.withFooter(ctx, sh.file, func(_ blob, again *footer) error { foot = again; return nil }); err != nil {
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

// withFooter opens a Parquet file and reads its footer again.
func (s *Source) withFooter(ctx context.Context, f *dataFile, use func(blob, *footer) error) error {
	file, err := s.store.open(ctx, f.path)
	if err != nil {
		return fmt.Errorf("lake: %w", err)
	}
	k, err := s.cache.find(f, file)
	if err == nil {
		err = use(file, k.foot)
	}
	return errors.Join(err, file.Close())
}

// shardOverhead returns the memory for one shard by the headers of its first pages.
func (s *Source) shardOverhead(sh shard, foot *footer, file io.ReaderAt) (int64, error) {
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
		n := cursorNeed{own: min(2*mostLabelPage, 2*ch.uncompressed)}
		if !c.Text {
			if n, err = c.overhead(&ch, file); err != nil {
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
		need += objects.PartsMemory(stored, len(s.columns))
	}
	return need, nil
}

// cursorBytes is the memory of a cursor beside its pages.
const cursorBytes = 24 << 10

// A cursorNeed is the memory of a cursor: its own bytes, and those of buffers shared in its lane.
type cursorNeed struct{ own, shared int64 }

// overhead returns the memory for a chunk by the headers of its pages up to the first data page.
func (c *column) overhead(ch *chunk, file io.ReaderAt) (cursorNeed, error) {
	var raw []byte
	var dictionary, largest cursorNeed
	p := pageReader{src: file, pos: ch.start, end: ch.end, raw: &raw}
	for found := false; !found; {
		err := p.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return cursorNeed{}, err
		}
		n := c.pageOverhead(ch, &p)
		largest = cursorNeed{max(largest.own, n.own), max(largest.shared, n.shared)}
		switch p.header.Kind {
		case format.DictionaryPage:
			dictionary.own += 8 * int64(p.header.Values) // decoded
		case format.IndexPage:
		default:
			found = true
		}
	}
	return cursorNeed{dictionary.own + largest.own, largest.shared}, nil
}

// pageOverhead returns the memory for the current page of p: its bytes, levels, and what its values
// are decoded to.
func (c *column) pageOverhead(ch *chunk, p *pageReader) (n cursorNeed) {
	h := &p.header
	size, body := int64(h.Uncompressed), int64(p.size)+int64(p.size)/4
	if h.Kind == format.DataPage || h.Kind == format.DataPageV2 {
		if c.deep > 0 {
			n.own += int64(h.Values)
		}
		switch h.Encoding {
		case format.Plain:
			if c.kind == kindBoolean {
				n.own += int64(h.Values)
			}
		case format.RLEDictionary, format.PlainDictionary: //nolint:staticcheck // older writers use the deprecated name
			n.own += 4*int64(h.Values) + size // a copy with its last group made whole
		default:
			n.own += int64(max(c.width, 1)) * int64(h.Values)
		}
	}
	if ch.codec == format.Uncompressed {
		n.own += body
		return n
	}
	n.own += size
	n.shared = body + historyOf(ch.codec, size)
	return n
}

// historyOf returns the memory of a codec beside a page of a size.
func historyOf(codec format.CompressionCodec, size int64) int64 {
	switch codec {
	case format.Gzip:
		return 64 << 10
	case format.Zstd:
		return 1 << 20 // a block, its literals, tables
	case format.Brotli:
		return 1<<20 + min(2*size, 1<<24) // its ring grows by doubling
	default:
		return 0
	}
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
	need := c.col.pageOverhead(&c.chunk, &c.pages)
	more := max(0, need.own-c.reserved) + max(0, need.shared-c.allowed.shared)
	c.reserved, c.allowed.shared = max(c.reserved, need.own), max(c.allowed.shared, need.shared)
	return c.allowed.reserve(more)
}
