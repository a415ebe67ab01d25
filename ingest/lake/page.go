package lake

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

const (
	// maxPage bounds the bytes of a page that is read whole, stored or decompressed.
	maxPage = 1 << 28
	// maxPageHeader bounds a page's header: statistics of numbers are short, those of texts are
	// parts of them.
	maxPageHeader = 1 << 16
	// firstRead is the number of bytes read at first for the first page of a chunk. Later pages
	// are expected to be as long as the page before.
	firstRead = 1 << 12
)

// A pageReader steps through the pages of one chunk. It reads bodies whole, into raw, or piece
// by piece.
type pageReader struct {
	src      io.ReaderAt
	pos, end int64   // in the file: the current page, the end of the chunk
	most     int     // bytes of a header; 0: maxPageHeader
	guess    int     // expected bytes of the next page
	raw      *[]byte // the bytes read last; shared by chunks that decompress
	header   parquetmeta.PageHeader

	size, head int    // bytes of the current page, and of its header
	ahead      []byte // its first bytes, which are in raw
	consumed   int    // bytes of the page that were read so far, header included
	sum        uint32 // checksum of the bytes of the body that were read so far
	verified   bool   // the checksum is right, or there is none
	early      bool   // the checksum was right when suspicious values were read
}

// next reads the header of the next page. After the last page it returns io.EOF.
func (p *pageReader) next() error {
	p.pos += int64(p.size)
	p.size = 0
	if p.pos == p.end {
		return io.EOF
	}
	b, err := p.extend(nil, max(p.guess, firstRead))
	if err != nil {
		return err
	}
	n, err := p.parse(b)
	for errors.Is(err, errShort) && len(b) < cmp.Or(p.most, maxPageHeader) && int64(len(b)) < p.end-p.pos {
		if b, err = p.extend(b, 4*len(b)); err != nil {
			return err
		}
		n, err = p.parse(b)
	}
	if errors.Is(err, errShort) && int64(len(b)) < p.end-p.pos {
		err = fmt.Errorf("it does not end in %d KiB: %w", len(b)>>10, err)
		if p.most > 0 {
			err = fmt.Errorf("%w: give more memory, or write the file without statistics of its pages", err)
		}
	}
	if err != nil {
		return fmt.Errorf("page header at %d: %w", p.pos, err)
	}
	body := int64(p.header.Compressed)
	if left := p.end - p.pos - int64(n); body < 0 || body > left {
		return fmt.Errorf("page at %d claims %d bytes, %d are left of the chunk: %w", p.pos, body, left, errMalformed)
	}
	p.size, p.head = n+int(body), n
	p.ahead, p.consumed, p.sum = b[:min(len(b), p.size)], n, 0
	p.verified, p.early = !p.header.Checked, false
	p.guess = 0
	return nil
}

// body returns the stored body of the page, its checksum verified, valid until raw is used
// again.
func (p *pageReader) body() ([]byte, error) {
	if p.size > maxPage {
		return nil, fmt.Errorf("page at %d has %d bytes, of such pages at most %d are read: write smaller pages", p.pos, p.size, maxPage)
	}
	b, err := p.extend(p.ahead, p.size)
	if err != nil {
		return nil, err
	}
	p.ahead, p.guess = b, p.size
	stored := b[p.head:p.size]
	if p.verified {
		return stored, nil
	}
	return stored, p.compare(crc32.ChecksumIEEE(stored))
}

// read reads the next bytes of the page into dst. Too few of them are an error.
func (p *pageReader) read(dst []byte) error {
	if len(dst) > p.size-p.consumed {
		return errFewValues
	}
	n := 0
	if p.consumed < len(p.ahead) {
		n = copy(dst, p.ahead[p.consumed:])
	}
	if err := p.readAt(dst[n:], p.consumed+n); err != nil {
		return err
	}
	p.consumed += len(dst)
	if !p.verified {
		p.sum = crc32.Update(p.sum, crc32.IEEETable, dst)
	}
	return nil
}

// verify checks the checksum of the page. Some of its bytes may be unread.
func (p *pageReader) verify() error {
	switch {
	case p.verified:
		return nil
	case p.consumed == p.size:
		return p.compare(p.sum)
	case p.size > largestWhole:
		return p.sumAhead()
	default: // read will use the bytes that are summed here
		b, err := p.extend(p.ahead, p.size)
		if err != nil {
			return err
		}
		p.ahead, p.guess = b, p.size
		return p.compare(crc32.Update(p.sum, crc32.IEEETable, b[p.consumed:p.size]))
	}
}

// compare compares the checksum of the body with that of the header.
func (p *pageReader) compare(sum uint32) error {
	if sum != p.header.Sum {
		return p.wrongSum()
	}
	p.verified = true
	return nil
}

func (p *pageReader) wrongSum() error {
	return fmt.Errorf("page at %d: the checksum is wrong: the file is damaged", p.pos)
}

// extend returns at least the first n bytes of the page, or all bytes that the chunk has left. b
// has the first bytes that were read before.
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
	return b, p.readAt(b[have:], have)
}

// readAt fills b from n bytes after the start of the page on.
func (p *pageReader) readAt(b []byte, n int) error {
	at := p.pos + int64(n)
	if got, err := p.src.ReadAt(b, at); got < len(b) {
		return fmt.Errorf("reading %d bytes at %d: %w", len(b), at, noEOF(err))
	}
	return nil
}

// noEOF replaces io.EOF, which would mean the end of the rows, by io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (p *pageReader) parse(b []byte) (n int, err error) {
	p.header, n, err = parquetmeta.ReadPageHeader(b)
	return n, err
}

// grow returns a buffer of n bytes with room for unpackPadding more, *buf if that is long
// enough.
func grow(buf *[]byte, n int) []byte {
	if cap(*buf) < n+unpackPadding {
		*buf = make([]byte, n+unpackPadding)
	}
	return (*buf)[:n]
}
