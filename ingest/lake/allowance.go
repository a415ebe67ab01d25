package lake

import (
	"fmt"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/format"
)

// pageOverhead returns the memory for the current page of p: its bytes, levels, and what its values
// are decoded to. own are bytes of the cursor, shared those of buffers in its lane.
func (c *column) pageOverhead(ch *chunk, p *pageReader) (own, shared int64) {
	h := &p.header
	size, body := int64(h.Uncompressed), int64(p.size)+int64(p.size)/4
	if h.Kind == format.DataPage || h.Kind == format.DataPageV2 {
		if c.deep > 0 {
			own += int64(h.Values)
		}
		switch h.Encoding {
		case format.Plain:
			if c.kind == kindBoolean {
				own += int64(h.Values)
			}
		case format.RLEDictionary, format.PlainDictionary: //nolint:staticcheck // older writers use the deprecated name
			own += 4*int64(h.Values) + size // a copy with its last group made whole
		default:
			own += int64(max(c.width, 1)) * int64(h.Values)
		}
	}
	if ch.codec == format.Uncompressed {
		return own + body, 0
	}
	return own + size, body + historyOf(ch.codec, size)
}

// historyOf returns the memory of a codec next to a page of a size.
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

// An allowance bounds the memory of the pages of a row group while it is read.
type allowance struct {
	most int64 // bytes; 0 means no limit
	held atomic.Int64
}

// reserve adds bytes to those in use. Too many are an error; nil has no limit.
func (a *allowance) reserve(bytes int64) error {
	if a == nil || a.most == 0 {
		return nil
	}
	if held := a.held.Add(max(bytes, 0)); held > a.most {
		return fmt.Errorf("its pages need %d MiB of memory to be read, and a reader has %d: give more memory, read with fewer workers, or write smaller pages", held>>20+1, a.most>>20)
	}
	return nil
}

// A lane has the buffers of one of the goroutines among which the columns of a row group are divided. Its
// cursors share them.
type lane struct {
	codec  decompressor
	stored []byte
	held   int64 // bytes of both that are reserved
}
