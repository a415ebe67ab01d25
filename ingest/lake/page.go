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
	// maxPage bounds the bytes of a page, stored or decompressed.
	maxPage = 1 << 28
	// maxPageHeader bounds a page's header: statistics of numbers are short, those of texts are parts of them.
	maxPageHeader = 1 << 16
	// firstRead is the number of bytes read at first for the first page of a chunk. Later pages
	// are expected to be as long as the page before.
	firstRead = 1 << 12
)

// Errors about the bytes of a file's metadata: too few of them, and wrong ones.
var (
	errShort     = parquetmeta.ErrShort
	errMalformed = parquetmeta.ErrMalformed
)

// A pageReader steps through the pages of one chunk.
type pageReader struct {
	src      io.ReaderAt
	pos, end int64   // in the file: the current page, the end of the chunk
	most     int     // bytes of a header; 0: maxPageHeader
	guess    int     // expected bytes of the next page
	raw      *[]byte // the bytes read last; shared by chunks that decompress
	header   parquetmeta.PageHeader

	size, head int    // bytes of the current page, and of its header
	ahead      []byte // its first bytes, which are in raw
	read       int    // bytes of the page that were returned in pieces, or precede them
	sum        uint32 // of those of the body
}

// next reads the header of the next page. After the last page it returns io.EOF.
func (p *pageReader) next() (err error) {
	p.pos += int64(p.size)
	p.size = 0
	if p.pos == p.end {
		return io.EOF
	}
	var b []byte
	var n int
	for want := max(p.guess, firstRead); ; want = 4 * len(b) {
		if b, err = p.extend(b, want); err != nil {
			return err
		}
		p.header, n, err = parquetmeta.ReadPageHeader(b)
		if !errors.Is(err, errShort) || len(b) >= cmp.Or(p.most, maxPageHeader) || int64(len(b)) >= p.end-p.pos {
			break
		}
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
	p.size, p.head, p.guess = n+int(body), n, 0
	p.ahead = b[:min(len(b), p.size)]
	return nil
}

// body returns the stored body of the page, its checksum verified, valid until raw is used again.
func (p *pageReader) body() ([]byte, error) {
	if p.size > maxPage {
		return nil, fmt.Errorf("page at %d has %d bytes, at most %d are read: write smaller pages", p.pos, p.size, maxPage)
	}
	b, err := p.extend(p.ahead, p.size)
	if err != nil {
		return nil, err
	}
	p.ahead, p.guess = b, p.size
	stored := b[p.head:p.size]
	return stored, p.compare(crc32.ChecksumIEEE(stored))
}

// piece reads the next bytes of the body into dst. It compares the checksum at the end.
func (p *pageReader) piece(dst []byte) error {
	n := copy(dst, p.ahead[min(p.read, len(p.ahead)):])
	if got, err := p.src.ReadAt(dst[n:], p.pos+int64(p.read+n)); got < len(dst)-n {
		return fmt.Errorf("reading %d bytes at %d: %w", len(dst)-n, p.pos+int64(p.read+n), noEOF(err))
	}
	if p.read += len(dst); !p.header.Checked {
		return nil
	}
	if p.sum = crc32.Update(p.sum, crc32.IEEETable, dst); p.read < p.size {
		return nil
	}
	return p.compare(p.sum)
}

// compare returns an error if the page has a checksum that is not sum.
func (p *pageReader) compare(sum uint32) error {
	if p.header.Checked && sum != uint32(p.header.Sum) {
		return fmt.Errorf("page at %d: the checksum is wrong: the file is damaged", p.pos)
	}
	return nil
}

// extend returns at least the first n bytes of the page, or all bytes that the chunk has left. b
// has the first bytes that were read before.
func (p *pageReader) extend(b []byte, n int) ([]byte, error) {
	n = int(min(int64(n), p.end-p.pos))
	have := len(b)
	if n <= have {
		return b, nil
	}
	if cap(*p.raw) < n {
		*p.raw = append(make([]byte, 0, n+n/4), b...)
	}
	b = (*p.raw)[:n]
	at := p.pos + int64(have)
	if got, err := p.src.ReadAt(b[have:], at); got < n-have {
		return nil, fmt.Errorf("reading %d bytes at %d: %w", n-have, at, noEOF(err))
	}
	return b, nil
}

// noEOF replaces io.EOF, which would mean the end of the rows, by io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// grow returns a buffer of n bytes, *buf if that is long enough.
func grow[T byte | int32](buf *[]T, n int) []T {
	if cap(*buf) < n {
		*buf = make([]T, n)
	}
	return (*buf)[:n]
}

// guard returns a panic of f, which calls libraries on damaged input, as an error. f must start no goroutine.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decoding failed: %v: %w", p, errMalformed)
		}
	}()
	return f()
}
