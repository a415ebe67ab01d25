package lake

import (
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/ingest"
)

// statistics are those of the decoded values of a chunk, to be compared with the footer's: a
// contradiction shows a decoding fault, or damage that no checksum reveals.
type statistics struct {
	lo, hi float64
	nulls  int64
	faults bool // some value is bad and not null: bounds may not be attained
	finite bool // all values added since it was set are good
}

func newStatistics() statistics {
	return statistics{lo: math.Inf(1), hi: math.Inf(-1), finite: true}
}

// add adds the next values, with their extent. A value outside the footer's bounds is an error
// at once.
func (s *statistics) add(values []float64, lo, hi float64, finite bool, ch *chunk) error {
	s.finite = s.finite && finite
	if !finite {
		for _, v := range values {
			switch ingest.FaultOf(v) {
			case ingest.None:
			case ingest.Null:
				s.nulls++
			default:
				s.faults = true
			}
		}
	}
	s.lo, s.hi = min(s.lo, lo), max(s.hi, hi)
	if lo < ch.lo.value || hi > ch.hi.value { // false where a bound is NaN: unknown
		return fmt.Errorf("values from %v to %v, but the footer's statistics say %v to %v: the file is damaged or was written wrongly; write it again", lo, hi, ch.lo.value, ch.hi.value)
	}
	return nil
}

// compare checks all values of a chunk against the footer.
func (s *statistics) compare(ch *chunk) error {
	if ch.counted && s.nulls != ch.nulls {
		return fmt.Errorf("%d nulls, but the footer's statistics say %d: the file is damaged or was written wrongly; write it again", s.nulls, ch.nulls)
	}
	if s.faults || s.nulls == ch.rows {
		return nil
	}
	if !ch.lo.attained(s.lo) || !ch.hi.attained(s.hi) {
		return fmt.Errorf("values from %v to %v, but the footer's statistics say %v to %v: the file is damaged or was written wrongly; write it again", s.lo, s.hi, ch.lo.value, ch.hi.value)
	}
	return nil
}

// attained reports whether an extreme value v agrees with the bound.
func (b bound) attained(v float64) bool {
	return math.IsNaN(b.value) || b.inexact || v == b.value
}
