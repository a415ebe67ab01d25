package pass

import (
	"math"

	"github.com/pacsgp/pacsgp/certify"
)

// A series is a [certify.Series] of consecutive rows, with the numbers at both ends. By these the series of shards are
// joined exactly, so that dependence is found even if row groups are small (docs/reference/formats.md, section 7).
type series struct {
	certify.Series

	first [certify.Lags]int64 // the first numbers
	last  [certify.Lags]int64 // the last numbers, from the last one backwards
}

// inSteps returns v, clamped to [−1, 1], in steps of 1/[certify.SeriesOne], rounded down.
func inSteps(v float64) int64 {
	return int64(math.Floor(certify.SeriesOne * max(-1, min(1, v))))
}

// add appends a number, in steps.
func (s *series) add(v int64) {
	if s.Rows < certify.Lags {
		s.first[s.Rows] = v
	}
	for i, before := range s.last {
		s.Products[i] += v * before // numbers before the first are 0
	}
	copy(s.last[1:], s.last[:])
	s.last[0] = v
	s.Rows++
	s.Sum += v
	s.Squares += v * v
}

// merge adds the series that follows.
func (s *series) merge(next series) {
	for i, v := range next.first[:min(next.Rows, certify.Lags)] {
		for lag := i + 1; lag <= certify.Lags; lag++ {
			s.Products[lag-1] += v * s.last[lag-1-i]
		}
	}
	for lag, p := range next.Products {
		s.Products[lag] += p
	}
	if s.Rows < certify.Lags {
		copy(s.first[s.Rows:], next.first[:])
	}
	if n := min(next.Rows, certify.Lags); n > 0 {
		copy(s.last[n:], s.last[:])
		copy(s.last[:n], next.last[:])
	}
	s.Rows, s.Sum, s.Squares = s.Rows+next.Rows, s.Sum+next.Sum, s.Squares+next.Squares
}
