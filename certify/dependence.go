package certify

import (
	"fmt"
	"math"
)

// Lags is the largest distance, in rows, of two numbers that are correlated.
const Lags = 8

// SeriesOne is the unit of a [Series]: it counts the number 1 as SeriesOne.
const SeriesOne = 1 << 10

// A Series has the sums of a series of whole numbers from −SeriesOne to SeriesOne, one a row, in
// the order of the rows.
type Series struct {
	Rows     int64       `json:"rows"`
	Sum      int64       `json:"sum"`
	Squares  int64       `json:"squares"`
	Products [Lags]int64 `json:"products"` // sums of products of numbers 1 to Lags rows apart
}

// level is ln(2·8/α) for the two sides of Lags sums: if rows are independent, any of them
// exceeds its limit with probability α < 0.001.
const level = 9.75

// Correlation returns the correlation of numbers lag rows apart, in [−1, 1], 0 without pairs or variance, and
// whether it is beyond what independent rows show, by Freedman's inequality: a sum of martingale differences
// exceeds the limit on one side with probability at most e^−level.
func (s Series) Correlation(lag int64) (correlation float64, beyond bool) {
	n, pairs := float64(s.Rows), float64(s.Rows-lag)
	mean := float64(s.Sum) / n
	variance := float64(s.Squares)/n - float64(mean*mean)
	if pairs <= 0 || !(variance > 0) {
		return 0, false
	}
	covariance, most := float64(s.Products[lag-1])/pairs-float64(mean*mean), SeriesOne+math.Abs(mean)
	b := float64(most*most) * (level / 3)
	limit := b + math.Sqrt(float64(b*b)+float64(2*level*float64(float64(pairs*variance)*variance)))
	return max(-1, min(1, covariance/variance)) + 0, math.Abs(covariance*pairs) > limit // −0 becomes 0
}

// Strongest returns the greatest correlation among those beyond their limits, and its lag; 0: there
// is none.
func (s Series) Strongest() (at int64, correlation float64) {
	for lag := int64(1); lag <= Lags; lag++ {
		if r, beyond := s.Correlation(lag); beyond && math.Abs(r) > math.Abs(correlation) {
			at, correlation = lag, r
		}
	}
	return at, correlation
}

// validate returns an error unless so many numbers can have these sums.
func (s Series) validate(rows int64) error {
	possible := s.Rows == rows && 0 <= s.Squares && s.Squares <= SeriesOne*SeriesOne*rows && max(s.Sum, -s.Sum) <= SeriesOne*rows
	for _, p := range s.Products {
		possible = possible && max(p, -p) <= s.Squares
	}
	if !possible {
		return fmt.Errorf("a series of %d rows, want %d, or its sums are none: the sum %d, the squares %d, the products %d", s.Rows, rows, s.Sum, s.Squares, s.Products)
	}
	return nil
}
