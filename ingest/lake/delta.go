package lake

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/bitpack"
)

// deltaMaxBlock bounds the block size of DELTA_BINARY_PACKED, for which the format sets no
// limit. Writers use 128 to 2048.
const deltaMaxBlock = 1 << 13

// A delta reads integers in DELTA_BINARY_PACKED: blocks of differences from a minimum, each in
// miniblocks of their own bit width. It decodes a miniblock at a time, never a claimed total.
type delta struct {
	src    []byte  // unread bytes; its array has unpackPadding further bytes
	total  uint64  // values that are left
	block  int     // values of a block
	minis  int     // miniblocks of a block
	last   int64   // the last value
	first  bool    // last is the first value and was not returned yet
	least  int64   // the block's smallest difference
	widths []byte  // bits of the block's miniblocks that are left
	own    []byte  // memory of widths
	more   *window // the bytes after src, or nil
	window []int64 // decoded differences
	buf    []int64 // memory of window
}

// reset reads the header of a page's values.
func (d *delta) reset(src []byte, more *window) error {
	d.src, d.more = src, more
	d.widths, d.window = nil, nil
	block, err := d.varint()
	if err != nil {
		return err
	}
	minis, err := d.varint()
	if err != nil {
		return err
	}
	if d.total, err = d.varint(); err != nil {
		return err
	}
	first, err := d.varint()
	if err != nil {
		return err
	}
	if block == 0 || block > deltaMaxBlock || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 {
		return fmt.Errorf("differences in blocks of %d by %d: %w", block, minis, errMalformed)
	}
	d.block, d.minis = int(block), int(minis)
	d.last, d.first = unzigzag(first), true
	if mini := d.block / d.minis; cap(d.buf) < mini {
		d.buf = make([]int64, mini)
	}
	return nil
}

// refill puts the next n bytes into src, if there are so many.
func (d *delta) refill(n int) (err error) {
	d.src, err = d.more.refill(d.src, n)
	return err
}

func (d *delta) varint() (uint64, error) {
	if err := d.refill(binary.MaxVarintLen64); err != nil {
		return 0, err
	}
	u, n := binary.Uvarint(d.src)
	if n <= 0 {
		return 0, fmt.Errorf("differences end early: %w", errMalformed)
	}
	d.src = d.src[n:]
	return u, nil
}

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// read decodes len(dst) values. In 32-bit columns differences wrap: only the low half counts.
func (d *delta) read(dst []int64) error {
	if uint64(len(dst)) > d.total {
		return fmt.Errorf("the page has %d values too few: %w", uint64(len(dst))-d.total, errMalformed)
	}
	d.total -= uint64(len(dst))
	if d.first && len(dst) > 0 {
		d.first = false
		dst[0] = d.last
		dst = dst[1:]
	}
	for len(dst) > 0 {
		if len(d.window) == 0 {
			if err := d.miniblock(); err != nil {
				return err
			}
		}
		n := min(len(dst), len(d.window))
		last := d.last
		for i, v := range d.window[:n] {
			last += v + d.least
			dst[i] = last
		}
		d.last = last
		d.window = d.window[n:]
		dst = dst[n:]
	}
	return nil
}

func (d *delta) miniblock() error {
	if len(d.widths) == 0 {
		least, err := d.varint()
		if err != nil {
			return err
		}
		if err := d.refill(d.minis); err != nil {
			return err
		}
		if len(d.src) < d.minis {
			return fmt.Errorf("differences end early: %w", errMalformed)
		}
		d.least = unzigzag(least)
		d.own = append(d.own[:0], d.src[:d.minis]...) // src moves when it is refilled
		d.widths, d.src = d.own, d.src[d.minis:]
	}
	width := uint(d.widths[0])
	d.widths = d.widths[1:]
	d.window = d.buf[:d.block/d.minis]
	if width == 0 {
		clear(d.window)
		return nil
	}
	if width > 64 {
		return fmt.Errorf("differences of %d bits: %w", width, errMalformed)
	}
	bytes := len(d.window) * int(width) / 8
	if err := d.refill(bytes); err != nil {
		return err
	}
	if have := len(d.src); have < bytes { // a last miniblock without its padding
		d.window = d.window[:have*8/int(width)]
		bytes = have
	}
	if len(d.window) == 0 {
		return fmt.Errorf("differences end early: %w", errMalformed)
	}
	bitpack.Unpack(d.window, d.src[:bytes+unpackPadding], width)
	d.src = d.src[bytes:]
	return nil
}
