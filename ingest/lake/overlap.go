package lake

import (
	"cmp"
	"fmt"
	"slices"
)

// A span is where a chunk has its pages.
type span struct {
	start, end int64
	group      int
	column     *column
}

// refuseShared refuses columns that share bytes of the file with another one, or between row
// groups: a footer that names the same pages twice makes one row count as two.
func (f *footer) refuseShared() {
	var spans []span
	for c, ch := range f.chunks() {
		spans = append(spans, span{ch.start, ch.end, ch.group, c})
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.group, b.group))
	})
	last := 0 // the span that ends last of those that were looked at
	for i := 1; i < len(spans); i++ {
		if a, b := spans[last], spans[i]; b.start < a.end {
			a.refuse(b)
			b.refuse(a)
		}
		if spans[i].end > spans[last].end {
			last = i
		}
	}
}

// refuse refuses the span's column for what it shares with another one.
func (s span) refuse(other span) {
	if s.column.refused == "" {
		s.column.refused = fmt.Sprintf("row group %d: its bytes %d to %d are also those of column %q in row group %d, at %d to %d: rows would count twice; write the file again",
			s.group, s.start, s.end, other.column.Name, other.group, other.start, other.end)
	}
}
