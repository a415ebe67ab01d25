package thrift_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/pacsgp/pacsgp/internal/thrift"
)

// read reads all values of b as a structure and returns how many it has, how deep
// they are nested and how many bytes of text there are.
func read(b []byte, depth int) (values, deepest, text int, err error) {
	r := thrift.NewReader(b, depth)
	level := 0
	var value func(kind byte)
	value = func(kind byte) {
		values++
		if level++; level > deepest {
			deepest = level
		}
		switch kind {
		case thrift.True, thrift.False:
			r.Bool(kind)
		case thrift.Byte:
			r.Byte(kind)
		case thrift.Int32:
			r.Int32(kind)
		case thrift.Int64:
			r.Int64(kind)
		case thrift.Binary:
			text += len(r.Text(kind))
		case thrift.List:
			r.List(kind, func(kind byte) {
				if kind <= thrift.False {
					r.Failf("not read here")
				} else {
					value(kind)
				}
			})
		case thrift.Struct:
			r.Structure(kind, func(_ int16, kind byte) { value(kind) })
		default: // it is skipped
		}
		level--
	}
	value(thrift.Struct)
	return values, deepest, text, r.Err()
}

// Any bytes are an error or a structure that is skipped as well, of no more
// values and text than there are bytes and no deeper than allowed; and the bytes that
// follow change nothing.
func FuzzThrift(f *testing.F) {
	f.Add([]byte{0x15, 0, 0x15, 2, 0x15, 2, 0x4c, 0x15, 2, 0, 0}, 10)
	f.Add([]byte{0x19, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07}, 10)
	f.Add(bytes.Repeat([]byte{0x19}, 1000), 10)
	f.Add(bytes.Repeat([]byte{0x1C}, 1000), 20)
	f.Add(bytes.Repeat([]byte{0x1B, 0x01, 0xBB}, 300), 20)
	f.Add([]byte{0x18, 3, 'a', 'b', 'c', 0x13, 7, 0x11, 0x12, 0x17, 1, 2, 3, 4, 5, 6, 7, 8, 0x19, 0x25, 2, 4, 0x05, 0x40, 2, 0}, 3)
	f.Fuzz(func(t *testing.T, b []byte, depth int) {
		if depth < 0 || depth > 100 {
			return
		}
		values, deepest, text, err := read(b, depth)
		if values > len(b)+1 || deepest > depth+1 || text > len(b) {
			t.Errorf("%d values, %d deep (at most %d), %d bytes of text in %d", values, deepest, depth, text, len(b))
		}
		skip := thrift.NewReader(b, depth)
		skip.Structure(thrift.Struct, nil)
		if err != nil {
			return
		}
		if skip.Err() != nil {
			t.Fatalf("skipped: %v", skip.Err())
		}
		n := skip.Read()
		for _, more := range [][]byte{b[:n], append(bytes.Clone(b[:n]), 0x19, 0xFF)} {
			if v, d, x, err := read(more, depth); v != values || d != deepest || x != text || err != nil {
				t.Errorf("with %d bytes instead of %d: %d, %d, %d, %v, want %d, %d, %d", len(more), len(b), v, d, x, err, values, deepest, text)
			}
		}
		for i := range n {
			if _, _, _, err := read(b[:i], depth); !errors.Is(err, thrift.ErrShort) && !errors.Is(err, thrift.ErrMalformed) {
				t.Errorf("the first %d of %d bytes: %v", i, n, err)
			}
		}
	})
}
