package kafkalog

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// text reads a string. What it returns is valid until the next call.
func (r *jsonReader) text() ([]byte, error) {
	if r.peek() != '"' {
		return nil, r.wrong()
	}
	r.at++
	from := r.at
	for r.at < len(r.in) {
		switch c := r.in[r.at]; {
		case c == '"':
			r.at++
			return r.in[from : r.at-1], nil
		case c == '\\':
			return r.escaped(from)
		case c < 0x20:
			return nil, r.wrong()
		}
		r.at++
	}
	return nil, r.wrong()
}

// escaped reads on in a string with escapes.
func (r *jsonReader) escaped(from int) ([]byte, error) {
	r.key = append(r.key[:0], r.in[from:r.at]...)
	for r.at < len(r.in) {
		c := r.in[r.at]
		switch {
		case c == '"':
			r.at++
			return r.key, nil
		case c < 0x20:
			return nil, r.wrong()
		case c != '\\':
			r.key = append(r.key, c)
			r.at++
			continue
		}
		r.at++
		switch c := r.peek(); c {
		case '"', '\\', '/':
			r.key = append(r.key, c)
		case 'b', 'f', 'n', 'r', 't':
			r.key = append(r.key, "\b\f\n\r\t"[strings.IndexByte("bfnrt", c)])
		case 'u':
			if err := r.unicode(); err != nil {
				return nil, err
			}
		default:
			return nil, r.wrong()
		}
		r.at++
	}
	return nil, r.wrong()
}

// unicode reads the digits of \u1234, and those of the second half of a pair, and stays
// on the last one.
func (r *jsonReader) unicode() error {
	first, ok := r.hex(r.at + 1)
	if !ok {
		return r.wrong()
	}
	r.at += 4
	if 0xD800 <= first && first < 0xDC00 && r.at+2 < len(r.in) && r.in[r.at+1] == '\\' && r.in[r.at+2] == 'u' {
		if second, ok := r.hex(r.at + 3); ok && 0xDC00 <= second && second < 0xE000 {
			first = 0x10000 + (first-0xD800)<<10 + (second - 0xDC00)
			r.at += 6
		}
	}
	r.key = utf8.AppendRune(r.key, first)
	return nil
}

func (r *jsonReader) hex(at int) (rune, bool) {
	if at+4 > len(r.in) {
		return 0, false
	}
	v, err := strconv.ParseUint(string(r.in[at:at+4]), 16, 16)
	return rune(v), err == nil
}
