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

// exceeds applies Freedman's inequality: a sum of martingale differences of magnitude at most most,
// whose variances add up to variance, exceeds this limit on one side with probability at most
// e^−level.
func exceeds(sum, most, variance float64) bool {
	b := most * (level / 3)
	return math.Abs(sum) > b+math.Sqrt(float64(b*b)+float64(2*level*variance))
}

// moments returns mean and variance of the numbers, and the greatest possible distance from the mean.
func (s Series) moments() (mean, variance, most float64) {
	n := float64(s.Rows)
	mean = float64(s.Sum) / n
	return mean, float64(s.Squares)/n - float64(mean*mean), SeriesOne + math.Abs(mean)
}

// covariance returns the number of pairs lag rows apart, and their covariance.
func (s Series) covariance(lag int64) (pairs, covariance float64) {
	mean, _, _ := s.moments()
	pairs = float64(s.Rows - lag)
	return pairs, float64(s.Products[lag-1])/pairs - float64(mean*mean)
}

// Correlation returns the correlation of numbers lag rows apart, in [−1, 1]; 0 without pairs or
// variance.
func (s Series) Correlation(lag int64) float64 {
	_, variance, _ := s.moments()
	if s.Rows <= lag || !(variance > 0) {
		return 0
	}
	_, covariance := s.covariance(lag)
	return max(-1, min(1, covariance/variance)) + 0 // −0 becomes 0
}

// alike reports whether numbers lag rows apart have more covariance, positive or negative, than
// independent ones.
func (s Series) alike(lag int64) bool {
	if s.Rows <= lag {
		return false
	}
	_, variance, most := s.moments()
	pairs, covariance := s.covariance(lag)
	return exceeds(covariance*pairs, float64(most*most), float64(float64(pairs*variance)*variance))
}

// Strongest returns the greatest correlation among those beyond their limits, and its lag; 0: there
// is none.
func (s Series) Strongest() (at int64, correlation float64) {
	for lag := int64(1); lag <= Lags; lag++ {
		if r := s.Correlation(lag); s.alike(lag) && math.Abs(r) > math.Abs(correlation) {
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
