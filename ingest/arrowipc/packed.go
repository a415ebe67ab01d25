package arrowipc

import (
	"encoding/binary"
	"slices"
)

// packed has a function for each codec: it returns the length of the frame at the beginning of a
// buffer, −1 if there is no frame.
var packed = []func(b []byte) int{lz4End, zstdEnd}

// whole reports whether each packed buffer of a body is a length and exactly one frame: the library
// would ignore further bytes. Validity bitmaps of columns without nulls are not checked, since the
// library does not read them.
func whole(batch node, fields []node, values bool, body []byte) bool {
	if !batch.at(3).set {
		return true
	}
	w := walk{nodes: batch.at(1).list, more: batch.at(4).list}
	for _, field := range fields {
		w.column(field, values)
	}
	for i, b := range batch.at(2).list {
		offset, size := b.at(0).number, b.at(1).number
		if size == 0 || w.unread[i] {
			continue
		}
		buffer := body[offset : offset+size]
		if size < 8 {
			return false
		}
		stated := int64(binary.LittleEndian.Uint64(buffer)) //nolint:gosec // its bits
		if frame := buffer[8:]; stated != -1 && (stated < 0 || packed[batch.at(3).at(0).number](frame) != len(frame)) {
			return false
		}
	}
	return true
}

// A walk finds the buffers that the library does not read.
type walk struct {
	nodes, more []node // that are left
	unread      []bool // by buffer
}

func (w *walk) column(field node, values bool) {
	kind, children := field.at(2).number, field.at(5).list
	_, buffers, views := parts(node{list: append(slices.Clone(field.list[:5]), node{})}, values)
	if field.at(4).set && !values {
		kind, children = typeInt, nil
	}
	for i := range buffers {
		w.unread = append(w.unread, i == 0 && kind != typeUnion && w.nodes[0].at(1).number == 0)
	}
	w.nodes = w.nodes[1:]
	if views > 0 {
		w.unread = append(w.unread, make([]bool, w.more[0].number)...)
		w.more = w.more[1:]
	}
	for _, child := range children {
		w.column(child, false)
	}
}

// lz4End returns the length of a frame of LZ4: a header, blocks with their lengths, and checksums.
func lz4End(b []byte) int {
	if len(b) < 7 || binary.LittleEndian.Uint32(b) != 0x184D2204 || b[4]>>6 != 1 {
		return -1
	}
	flags, at, sum := b[4], 7, 0
	if flags&0x08 != 0 { // the length of the content
		at += 8
	}
	if flags&0x01 != 0 { // a dictionary
		at += 4
	}
	if flags&0x10 != 0 {
		sum = 4
	}
	for at+4 <= len(b) {
		size := int(binary.LittleEndian.Uint32(b[at:]) &^ (1 << 31))
		if at += 4; size == 0 {
			return at + int(flags&0x04)
		}
		at += size + sum
	}
	return -1
}

// zstdEnd returns the length of a frame of Zstandard.
func zstdEnd(b []byte) int {
	if len(b) < 6 || binary.LittleEndian.Uint32(b) != 0xFD2FB528 {
		return -1
	}
	flags := b[4]
	single := flags >> 5 & 1
	at := 5 + int(1-single) + []int{0, 1, 2, 4}[flags&3] + []int{int(single), 2, 4, 8}[flags>>6]
	for at+3 <= len(b) {
		head := int(b[at]) | int(b[at+1])<<8 | int(b[at+2])<<16
		if at += 3; head>>1&3 == 1 { // a run of one byte
			at++
		} else {
			at += head >> 3
		}
		if head&1 == 1 {
			return at + int(flags&0x04)
		}
	}
	return -1
}
