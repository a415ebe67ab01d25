package parquetmeta

import (
	"encoding/binary"
	"fmt"
)

// groupFill is how many values can pad the last packed group: at most 7 in the format, but DuckDB packs 256 at a time.
const groupFill = 255

// Runs returns an error unless data, from index at, has n values of this many bits, as runs and as packed groups of
// eight. Only the last group may have further values, as padding. The check is needed since the library allocates
// what a run claims, and reads past the end. If the last group is cut short, the result is data with zeros appended.
func Runs(data []byte, at int, bits uint, n int) ([]byte, error) {
	ends := fmt.Errorf("levels or indexes end early: %w", ErrMalformed)
	have := 0
	for at < len(data) {
		u, k := binary.Uvarint(data[at:])
		if k <= 0 {
			return nil, ends
		}
		count, rest := u>>1, len(data)-at-k
		at += k
		switch {
		case count == 0: // other data often begins with such a run
			return nil, fmt.Errorf("an empty run of levels or indexes: %w", ErrMalformed)
		case u&1 == 0:
			if at += int(bits+7) / 8; at > len(data) {
				return nil, ends
			}
			if have += int(min(count, uint64(n)+1)); have > n {
				have += groupFill
			}
		case count > uint64(max(rest, (n+groupFill)/8)):
			return nil, ends
		default:
			size := int(count) * int(bits)
			if missing := size - rest; missing > 0 {
				if missing >= int(bits) { // no byte of the last group
					return nil, ends
				}
				have += rest * 8 / int(bits)
				data = append(append(make([]byte, 0, at+size+64), data...), make([]byte, missing)...)
			} else {
				have += int(count) * 8
			}
			at += size
		}
		if have > n+groupFill {
			return nil, fmt.Errorf("levels or indexes go on after the page's last value: %w", ErrMalformed)
		}
	}
	if have < n {
		return nil, ends
	}
	return data, nil
}
