package lake

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// A snappyReader decompresses snappy's block format in pieces. Most writers cut their input
// into blocks of 64 KiB, so that no copy looks back farther. The format allows it: at the first
// such copy the page is decompressed as a whole.
type snappyReader struct {
	src     *body
	buf     []byte // history, then decompressed bytes that were not read
	at      int    // index of the first byte in buf that was not read
	size    int    // bytes of the decompressed page
	whole   bool   // buf has the whole page
	near    bool   // a copy from too far back is an error
	allowed *share
	left    uint64 // bytes that are not decompressed yet
	total   uint64 // bytes that are
	started bool
	literal uint64 // bytes that are left of the current element, if it is a literal
	copied  uint64 // the same, if it is a copy
	offset  int    // of the copy
}

const snappyWindow = 64 << 10

func (s *snappyReader) reset(src *body, size int) {
	if s.buf == nil || s.whole {
		s.buf = make([]byte, 0, 2*snappyWindow)
	}
	*s = snappyReader{src: src, buf: s.buf[:0], size: size, allowed: s.allowed}
}

// all decompresses the page as a whole and goes on where the pieces ended.
func (s *snappyReader) all() error {
	p := s.src.pages
	if p.size > maxPage || s.size > maxPage {
		return errFar
	}
	if err := s.allowed.reserve(int64(s.size) + int64(p.size)); err != nil {
		return err
	}
	stored := make([]byte, p.size-s.src.start)
	if err := p.readAt(stored, s.src.start); err != nil {
		return err
	}
	var codec decompressor
	out := make([]byte, s.size)
	if err := codec.decompress(format.Snappy, out, stored); err != nil {
		return err
	}
	s.at = int(s.total) - (len(s.buf) - s.at)
	s.buf, s.left, s.whole = out, 0, true
	return nil
}

func (s *snappyReader) Read(dst []byte) (int, error) {
	if s.at == len(s.buf) {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(dst, s.buf[s.at:])
	s.at += n
	return n, nil
}

// errFar is the error of a copy from before the history.
var errFar = fmt.Errorf("snappy: a copy from more than %d bytes before, in a page that is too large to be read whole: write smaller pages", snappyWindow)

// errRepeat is the error of a copy with the offset of the last one, which only the format S2 has.
// The library would accept it.
var errRepeat = fmt.Errorf("snappy: a copy from 0 bytes before: %w", errMalformed)

var errSnappy = fmt.Errorf("snappy: %w", errMalformed)

// fill decompresses some more behind the last snappyWindow bytes.
func (s *snappyReader) fill() (err error) {
	if !s.started {
		s.started = true
		if s.left, err = s.length(); err != nil {
			return noEOF(err)
		}
		if s.left != uint64(s.size) {
			return wrongLength(int(s.left), s.size)
		}
	}
	if s.whole {
		return io.EOF
	}
	if s.left == 0 {
		if _, err := s.src.ReadByte(); err == nil {
			return errSnappy
		}
		return io.EOF
	}
	if old := len(s.buf) - snappyWindow; old > 0 {
		s.buf = s.buf[:copy(s.buf, s.buf[old:])]
	}
	s.at = len(s.buf)
	for s.left > 0 && len(s.buf) < cap(s.buf) {
		room := uint64(cap(s.buf) - len(s.buf))
		var n uint64
		switch {
		case s.literal > 0:
			n = min(s.literal, room)
			end := len(s.buf) + int(n)
			if _, err := io.ReadFull(s.src, s.buf[len(s.buf):end]); err != nil {
				return noEOF(err)
			}
			s.buf = s.buf[:end]
			s.literal -= n
		case s.copied > 0:
			n = min(s.copied, room, uint64(s.offset)) // what is copied may be what this writes
			from := len(s.buf) - s.offset
			s.buf = append(s.buf, s.buf[from:from+int(n)]...)
			s.copied -= n
		default:
			err := s.element()
			if errors.Is(err, errFar) && !s.near {
				return s.all()
			}
			if err != nil {
				return noEOF(err)
			}
		}
		s.left -= n
		s.total += n
	}
	return nil
}

// length reads the length of the decompressed bytes, which comes first.
func (s *snappyReader) length() (n uint64, err error) {
	for shift := 0; shift < 35; shift += 7 {
		b, err := s.src.ReadByte()
		if err != nil {
			return 0, err
		}
		if n |= uint64(b&0x7F) << shift; b < 0x80 {
			return n, nil
		}
	}
	return 0, errSnappy
}

// element reads the tag and the length of a literal or a copy.
func (s *snappyReader) element() error {
	tag, err := s.src.ReadByte()
	if err != nil {
		return err
	}
	if tag&3 == 0 {
		s.literal = uint64(tag>>2) + 1
		if tag >= 60<<2 {
			n, err := s.number(int(tag>>2) - 59)
			if err != nil {
				return err
			}
			s.literal = n + 1
		}
		if s.literal > s.left {
			return errSnappy
		}
		return nil
	}
	var offset uint64
	switch tag & 3 {
	case 1:
		s.copied = uint64(tag>>2&7) + 4
		offset, err = s.number(1)
		offset |= uint64(tag>>5) << 8
	case 2:
		s.copied = uint64(tag>>2) + 1
		offset, err = s.number(2)
	default:
		s.copied = uint64(tag>>2) + 1
		offset, err = s.number(4)
	}
	switch {
	case err != nil:
		return err
	case offset == 0:
		return errRepeat
	case s.copied > s.left:
		return errSnappy
	case offset > s.total:
		return errSnappy
	case offset > snappyWindow:
		return errFar
	}
	s.offset = int(offset)
	return nil
}

// number reads n bytes, the lowest first.
func (s *snappyReader) number(n int) (v uint64, err error) {
	for i := range n {
		b, err := s.src.ReadByte()
		if err != nil {
			return 0, err
		}
		v |= uint64(b) << (8 * i)
	}
	return v, nil
}
