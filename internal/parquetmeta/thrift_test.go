package parquetmeta

import (
	"bytes"
	"errors"
	"testing"
)

// read reads all values of b as a structure and returns how many it has, how deep
// they are nested and how many bytes of text there are.
func read(b []byte, depth int) (values, deepest, text int, err error) {
	r := &reader{b: b, depth: depth}
	level := 0
	var value func(kind byte)
	value = func(kind byte) {
		values++
		if level++; level > deepest {
			deepest = level
		}
		switch kind {
		case typeTrue, typeFalse:
			r.bool(kind)
		case typeByte:
			r.value(kind, new(int8))
		case typeInt32:
			r.int32(kind)
		case typeInt64:
			r.value(kind, new(int64))
		case typeBinary:
			text += len(r.text(kind))
		case typeList:
			r.list(kind, func(kind byte) {
				if kind <= typeFalse {
					r.failf("not read here")
				} else {
					value(kind)
				}
			})
		case typeStruct:
			r.each(kind, func(_ int16, kind byte) { value(kind) })
		default: // it is skipped
		}
		level--
	}
	value(typeStruct)
	return values, deepest, text, r.err
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
		skip := &reader{b: b, depth: depth}
		skip.each(typeStruct, nil)
		if err != nil {
			return
		}
		if skip.err != nil {
			t.Fatalf("skipped: %v", skip.err)
		}
		n := skip.pos
		for _, more := range [][]byte{b[:n], append(bytes.Clone(b[:n]), 0x19, 0xFF)} {
			if v, d, x, err := read(more, depth); v != values || d != deepest || x != text || err != nil {
				t.Errorf("with %d bytes instead of %d: %d, %d, %d, %v, want %d, %d, %d", len(more), len(b), v, d, x, err, values, deepest, text)
			}
		}
		for i := range n {
			if _, _, _, err := read(b[:i], depth); !errors.Is(err, ErrShort) && !errors.Is(err, ErrMalformed) {
				t.Errorf("the first %d of %d bytes: %v", i, n, err)
			}
		}
	})
}
