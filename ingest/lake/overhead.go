package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// looked is how many row groups Overhead looks into: the largest ones.
const looked = 16

// Overhead returns how many bytes of memory readers need at most that read shards at
// the same time, beside their batches: pages, dictionaries, levels, and what the codecs
// look back into. It looks at the first pages' headers of the largest row groups; no
// row is read. What no page in pieces needs does not depend on the number of rows.
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
		n, err := s.lookInto(x.shard)
		if err != nil {
			n = x.most // what is wrong with the pages is said when they are read
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
		if sh.file != file {
			var err error
			if foot, err = s.footerAgain(sh.file); err != nil {
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

// lookInto is what reading one shard takes, by its first pages.
func (s *Source) lookInto(sh shard) (need int64, err error) {
	file, size, err := openFile(sh.file.path)
	if err != nil {
		return 0, err
	}
	defer closeFile(file, &err)
	foot, err := s.cache.footer(sh.file, file, size)
	if err != nil {
		return 0, err
	}
	return s.shardOverhead(sh, foot, file)
}

func closeFile(f *os.File, err *error) {
	if closed := f.Close(); *err == nil {
		*err = closed
	}
}

// shardOverhead is what reading one shard takes: by the headers of the first pages if
// there is a file, or at most.
func (s *Source) shardOverhead(sh shard, foot *footer, file io.ReaderAt) (int64, error) {
	whole := wholePages(len(s.columns))
	need := int64(0)
	stored := make([]int64, s.lanes) // the buffers that the cursors of a lane share
	for j, name := range s.columns {
		c := sh.file.column(name)
		if c.leaf < 0 {
			continue
		}
		ch, err := foot.chunk(sh.group.index, c)
		if err != nil {
			return 0, fmt.Errorf("column %q: %w", name, err)
		}
		own, shared, err := c.overhead(&ch, whole, file)
		if err != nil {
			return 0, fmt.Errorf("column %q: %w", name, err)
		}
		need += own
		stored[j%s.lanes] = max(stored[j%s.lanes], shared)
	}
	for _, n := range stored {
		need += n + codecState
	}
	return need, nil
}

// codecState is what the decoders of a lane keep that read whole pages, and cursorBytes
// what a cursor has beside its pages.
const (
	codecState  = 1 << 20
	cursorBytes = 48 << 10
)

// overhead is what the cursor of a chunk takes of its own, and of a buffer that it
// shares.
func (c *column) overhead(ch *chunk, whole int, file io.ReaderAt) (own, shared int64, err error) {
	own = cursorBytes
	if file == nil {
		page := min(ch.uncompressed, c.mostBytes(ch.rows), maxPage)
		return own + 2*page, min(ch.end-ch.start, maxPage), nil
	}
	var raw []byte
	p := pageReader{src: file, pos: ch.start, end: ch.end, raw: &raw}
	for {
		switch err := p.next(); {
		case errors.Is(err, io.EOF):
			return own, shared, nil
		case err != nil:
			return 0, 0, err
		}
		h := &p.header
		size, body := int64(h.uncompressed), int64(p.size)+int64(p.size)/4
		if h.kind == format.DictionaryPage {
			own += 8*int64(h.values) + size
			shared = max(shared, body)
			continue
		}
		if h.kind != format.DataPage && h.kind != format.DataPageV2 {
			continue
		}
		switch {
		case max(h.uncompressed, h.compressed) > int32(whole) && ch.streamable(h, p.firstBytes()):
			own += windowBytes + storedPiece + historyOf(ch.codec, size, p.firstBytes())
			if ch.codec == format.Snappy && !h.stored && looksFar(&p) {
				own += size + int64(p.size)
			}
			if c.optional {
				own += int64(h.values)/8 + slackOfValue
			}
		case ch.codec == format.Uncompressed:
			own += body
		default:
			own += size
			shared = max(shared, body)
		}
		return own, shared, nil
	}
}

// historyOf is what a codec keeps to decompress a page of a size in pieces.
func historyOf(codec format.CompressionCodec, size int64, first []byte) int64 {
	const state = 1 << 20
	switch codec {
	case format.Snappy:
		return 2 * snappyWindow
	case format.Gzip:
		return state / 4
	case format.Zstd:
		return state + min(zstdWindow(first), size)
	case format.Brotli:
		return state + 2*min(size, 2*maxWindow) // its ring grows by doubling
	default:
		return 0
	}
}

// looksFar reports whether the first megabyte of a page in snappy has a copy from
// farther than snappyWindow: such a page will be decompressed as a whole.
func looksFar(p *pageReader) bool {
	const enough = 1 << 20
	var src body
	var s snappyReader
	size := int(p.header.uncompressed)
	if p.header.kind == format.DataPageV2 {
		levels := make([]byte, min(max(0, int(p.header.definition)), p.size-p.taken))
		if p.take(levels) != nil {
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
