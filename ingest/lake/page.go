package lake

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

const (
	// maxPage bounds the bytes of one page, stored or decompressed. Writers
	// aim at 1 MiB, some write a chunk of a row group as one page.
	maxPage = 1 << 28
	// maxPageHeader bounds a page's header: statistics of numbers are short.
	maxPageHeader = 1 << 16
	// firstRead is what is read for the first page of a chunk: its header at
	// least. Later pages are assumed to be as long as the one before.
	firstRead = 1 << 12
)

// A pageReader steps through the pages of one chunk.
type pageReader struct {
	src      io.ReaderAt
	pos, end int64   // in the file
	guess    int     // how many bytes the next page may have
	raw      *[]byte // what was read last; shared by chunks that decompress
	header   format.PageHeader
}

// next reads the next page and returns its stored body, which is valid until
// raw is used again. After the last page it returns io.EOF.
func (p *pageReader) next() ([]byte, error) {
	if p.pos == p.end {
		return nil, io.EOF
	}
	b, err := p.extend(nil, max(p.guess, firstRead))
	if err != nil {
		return nil, err
	}
	n, err := p.parse(b)
	for errors.Is(err, errShort) && len(b) < maxPageHeader && int64(len(b)) < p.end-p.pos {
		if b, err = p.extend(b, 4*len(b)); err != nil {
			return nil, err
		}
		n, err = p.parse(b)
	}
	if err != nil {
		return nil, fmt.Errorf("page header at %d: %w", p.pos, err)
	}
	body := int64(p.header.CompressedPageSize)
	if left := p.end - p.pos - int64(n); body < 0 || body > left || body > maxPage {
		return nil, fmt.Errorf("page at %d claims %d bytes, %d are left of the chunk (at most %d are read): %w", p.pos, body, left, maxPage, errMalformed)
	}
	whole := n + int(body)
	if b, err = p.extend(b, whole); err != nil {
		return nil, err
	}
	stored := b[n:whole]
	if crc := uint32(p.header.CRC); crc != 0 && crc != crc32.ChecksumIEEE(stored) {
		return nil, fmt.Errorf("page at %d: the checksum is wrong: the file is damaged", p.pos)
	}
	p.pos += int64(whole)
	p.guess = whole
	return stored, nil
}

// extend returns at least the first n bytes at the current place, or all that
// the chunk has, of which b has been read already.
func (p *pageReader) extend(b []byte, n int) ([]byte, error) {
	n = int(min(int64(n), p.end-p.pos))
	have := len(b)
	if n <= have {
		return b, nil
	}
	if cap(*p.raw) < n+unpackPadding {
		*p.raw = append(make([]byte, 0, n+n/4+unpackPadding), b...)
	}
	b = (*p.raw)[:n]
	if got, err := p.src.ReadAt(b[have:], p.pos+int64(have)); got < n-have {
		return nil, fmt.Errorf("reading %d bytes at %d: %w", n-have, p.pos+int64(have), noEOF(err))
	}
	return b, nil
}

// noEOF makes sure that an unexpected end is not taken for the end of the rows.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parse decodes the page header at the start of b and returns its length.
func (p *pageReader) parse(b []byte) (int, error) {
	p.header = format.PageHeader{}
	return decodeThrift(b, &p.header)
}

// grow returns a buffer of n bytes with room for unpackPadding more, reusing
// *buf if it is long enough.
func grow(buf *[]byte, n int) []byte {
	if cap(*buf) < n+unpackPadding {
		*buf = make([]byte, n+unpackPadding)
	}
	return (*buf)[:n]
}

// keep copies b into *buf.
func keep(buf *[]byte, b []byte) []byte {
	own := grow(buf, len(b))
	copy(own, b)
	return own
}
