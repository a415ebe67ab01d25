package lake

import (
	"hash/crc32"

	"github.com/apache/arrow/go/v15/arrow/endian"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// Stored doubles go directly from the file to the batch, in pieces that are checked in the
// second cache: whole pages of all columns would not fit into it. So the checksum is compared
// after the last piece, or at once if a piece has suspicious values. Batches of a damaged page
// may have been returned by then; the shard ends in an error.
//
// Values in BYTE_STREAM_SPLIT of pages too large to be read whole are read directly too, from
// as many places as a value has bytes. They are not read in the order of the checksum: it is
// compared before the first value, and each stream is summed up again as it is read.
//
// Memory-mapping the file would save a tenth at most, and count as memory of the process.

// directAtOnce is the number of values of a piece: each piece costs a system call. Smaller pages
// are read whole, with their header.
const directAtOnce = 8192

// isDirect reports whether a data page is read directly. small says that it could be read whole.
func (ch *chunk) isDirect(c *column, h *parquetmeta.PageHeader, small bool) bool {
	if ch.codec != format.Uncompressed || h.Uncompressed != h.Compressed {
		return false
	}
	if h.Encoding == format.ByteStreamSplit {
		return !small && c.width > 0
	}
	return c.kind == kindDouble && h.Encoding == format.Plain && h.Values >= directAtOnce && !endian.IsBigEndian
}

// direct starts a data page by its definition levels, which come before the values.
func (c *walker[V]) direct(h *parquetmeta.PageHeader) error {
	if c.leveled && h.Kind == format.DataPage {
		var length [4]byte
		if err := c.pages.read(length[:]); err != nil {
			return err
		}
		n, err := levelBytes(h, length[:], c.pages.size-c.pages.consumed)
		if err == nil {
			err = c.readLevels(n)
		}
		if err != nil {
			return err
		}
	}
	err := c.values.reset(h.Encoding, nil, nil, nil)
	c.values.pages = &c.pages
	if err == nil && h.Encoding == format.ByteStreamSplit {
		err = c.values.startSplit()
	}
	return err
}

// startSplit compares the checksum of a page in BYTE_STREAM_SPLIT and keeps those of its
// streams.
func (v *valueReader[V]) startSplit() error {
	p, width := v.pages, v.width
	v.size = p.size - p.consumed
	v.checks = v.checks[:0]
	if p.verified {
		return nil
	}
	whole, piece := p.sum, make([]byte, windowBytes)
	add := func(at, end int) (sum uint32, err error) {
		for ; at < end; at += len(piece) {
			piece = piece[:min(cap(piece), end-at)]
			if err := p.readAt(piece, at); err != nil {
				return 0, err
			}
			whole, sum = crc32.Update(whole, crc32.IEEETable, piece), crc32.Update(sum, crc32.IEEETable, piece)
		}
		return sum, nil
	}
	stride := v.size / width
	for k := range width {
		sum, err := add(p.consumed+k*stride, p.consumed+(k+1)*stride)
		if err != nil {
			return err
		}
		v.checks = append(v.checks, streamSum{want: sum})
	}
	if _, err := add(p.consumed+width*stride, p.size); err != nil {
		return err
	}
	return p.compare(whole)
}

// A streamSum has the checksum of a stream, computed before its first value was read, and that of
// the bytes read since.
type streamSum struct{ want, got uint32 }

// compareStreams returns an error if the bytes read for values are not those of the checksum.
func (v *valueReader[V]) compareStreams() error {
	for _, s := range v.checks {
		if s.got != s.want {
			return v.pages.wrongSum()
		}
	}
	return nil
}
