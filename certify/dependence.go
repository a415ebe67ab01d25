package certify

import (
	"fmt"
	"math"
)

// Lags is the largest distance, in rows, at which a [Series] is tested for correlation.
const Lags = 8

// SeriesOne stands for the number 1 in a [Series], which has whole numbers only.
const SeriesOne = 1 << 10

// A Series has the sums over a series of numbers in [−1, 1], one for each row in the order of the rows. Each is
// rounded to a multiple of 1/SeriesOne and counted in this unit.
type Series struct {
	Rows     int64       `json:"rows"`
	Sum      int64       `json:"sum"`
	Squares  int64       `json:"squares"`
	Products [Lags]int64 `json:"products"` // entry i is the sum of the products of numbers i+1 rows apart
}

// level is ln(2·8/α) for the two sides of Lags sums: if rows are independent, one of them or more exceeds its
// limit with probability α < 0.001 at most.
const level = 9.75

// Correlation returns the correlation of numbers lag rows apart, in [−1, 1], for 1 ≤ lag ≤ Lags. It is 0
// without pairs or variance. beyond reports whether it is stronger than independent rows show, by Freedman's
// inequality: a sum of martingale differences exceeds the limit on one side with probability at most e^−level.
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

// Strongest returns the strongest correlation among those beyond their limits, and its lag; 0 and 0 if there is none.
func (s Series) Strongest() (at int64, correlation float64) {
	for lag := int64(1); lag <= Lags; lag++ {
		if r, beyond := s.Correlation(lag); beyond && math.Abs(r) > math.Abs(correlation) {
			at, correlation = lag, r
		}
	}
	return at, correlation
}

// validate returns an error unless numbers of so many rows can have these sums.
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
