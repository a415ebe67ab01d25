package lake

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/bitpack"
)

// hybridWindow is the number of packed values that are unpacked at a time: a multiple of 8, so that
// windows begin at a byte.
const hybridWindow = 512

// unpackPadding is the number of bytes behind its input that unpacking may read: all buffers of
// pages have that much more capacity.
const unpackPadding = 32

// A hybrid reads integers of a fixed width in Parquet's mix of runs and packed groups of eight:
// definition levels and indexes into a dictionary. It decodes as many as are asked for,
// never the claimed length of a run.
type hybrid struct {
	src   []byte // unread bytes; its array has unpackPadding further bytes
	width uint
	more  *window // the bytes after src, or nil

	run    uint64 // values left in the current run of equal values
	value  int32  // of the run
	packed uint64 // values left in the current packed groups, outside the window
	window []int32
	buf    [hybridWindow]int32
}

func (h *hybrid) reset(src []byte, width uint) {
	h.src, h.width, h.more = src, width, nil
	h.run, h.packed, h.window = 0, 0, nil
}

func (h *hybrid) read(dst []int32) error {
	for len(dst) > 0 {
		values, run, err := h.next(len(dst))
		if err != nil {
			return err
		}
		for i := range dst[:run] {
			dst[i] = h.value
		}
		copy(dst, values)
		dst = dst[run+len(values):]
	}
	return nil
}

// next decodes at least one of the next n values. It returns values, valid until the next call, or
// the length of a run of h.value.
func (h *hybrid) next(n int) (values []int32, run int, err error) {
	for h.run == 0 && len(h.window) == 0 {
		var err error
		if h.packed > 0 {
			err = h.unpack()
		} else {
			err = h.header()
		}
		if err != nil {
			return nil, 0, err
		}
	}
	if h.run > 0 {
		run = int(min(h.run, uint64(n)))
		h.run -= uint64(run)
		return nil, run, nil
	}
	n = min(n, len(h.window))
	values, h.window = h.window[:n], h.window[n:]
	return values, 0, nil
}

// skip skips n values if they are a run of one value, as the levels of a column without nulls
// usually are; else it returns false.
func (h *hybrid) skip(n int, value int32) bool {
	if h.run == 0 && len(h.window) == 0 && h.packed == 0 && h.header() != nil {
		return false // read reports it
	}
	if h.value != value || h.run < uint64(n) {
		return false
	}
	h.run -= uint64(n)
	return true
}

// groupFill is the largest number of values that pad the last packed group: 7 by the format, but
// DuckDB packs 256 at a time.
const groupFill = 255

// finished returns an error if more is left than the padding of the last group.
func (h *hybrid) finished() error {
	if h.left() > 0 || h.run > 0 || h.packed+uint64(len(h.window)) > groupFill {
		return fmt.Errorf("levels or indexes go on after the page's last value: %w", errMalformed)
	}
	return nil
}

// header starts the next run or sequence of packed groups.
func (h *hybrid) header() error {
	if err := h.refill(binary.MaxVarintLen64 + 4); err != nil {
		return err
	}
	u, n := binary.Uvarint(h.src)
	if n <= 0 {
		return fmt.Errorf("levels or indexes end early: %w", errMalformed)
	}
	h.src = h.src[n:]
	if u>>1 == 0 { // other data often begin like that
		return fmt.Errorf("an empty run of levels or indexes: %w", errMalformed)
	}
	if u&1 == 1 {
		groups := min(u>>1, uint64(h.left())) // each has width bytes, so one at least
		h.packed = groups * 8
		// A writer may cut the last group short.
		if have := uint64(h.left()) * 8 / uint64(h.width); have < h.packed {
			h.packed = have
		}
		return nil
	}
	size := int(h.width+7) / 8
	if size > len(h.src) {
		return fmt.Errorf("a run of levels or indexes ends early: %w", errMalformed)
	}
	var b [4]byte
	copy(b[:], h.src[:size])
	h.src = h.src[size:]
	h.run, h.value = u>>1, int32(binary.LittleEndian.Uint32(b[:]))
	return nil
}

func (h *hybrid) left() int { return len(h.src) + h.more.rest() }

// refill puts the next n bytes into src, if there are so many.
func (h *hybrid) refill(n int) (err error) {
	h.src, err = h.more.refill(h.src, n)
	return err
}

func (h *hybrid) unpack() error {
	n := int(min(h.packed, hybridWindow))
	if err := h.refill((n*int(h.width) + 7) / 8); err != nil {
		return err
	}
	h.window = h.buf[:n]
	bytes := min((n*int(h.width)+7)/8, len(h.src))
	bitpack.Unpack(h.window, h.src[:bytes+unpackPadding], h.width)
	h.src = h.src[bytes:]
	h.packed -= uint64(n)
	return nil
}
