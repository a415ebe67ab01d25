package ingest

import (
	"fmt"
	"math"
)

// ReasonColumn is the name of the text column that a source adds if it marks rejected rows. It is
// null in good rows; bad cells of others are NaN.
const ReasonColumn = "_reason"

// MaxInteger is the largest magnitude of an integer, or of a decimal without its point, in a
// row: not all larger integers are float64 numbers.
const MaxInteger = 1 << 53

// MaxMagnitude is the largest magnitude of a number in a row, so that sums of squares do not overflow.
const MaxMagnitude = 1e30

// A Fault is the rule that a cell breaks.
type Fault uint8

// The faults of a cell.
const (
	None     Fault = iota
	Null           // no value
	NotANum        // a NaN of the source
	Infinite       // +Inf or −Inf
	TooLong        // an integer or decimal beyond MaxInteger
	TooFar         // a point in time that cannot be converted to seconds
	Mistyped       // a value outside the declared type of its column
	TooLarge       // a number beyond ±MaxMagnitude
)

var faultWords = [...]string{
	None:     "good",
	Null:     "is null",
	NotANum:  "is NaN",
	Infinite: "is infinite",
	TooLong:  "has more digits than a float64 holds (beyond 2^53)",
	TooFar:   "is a time out of range",
	Mistyped: "is beyond the declared type of its column",
	TooLarge: "is beyond 1e30 in magnitude",
}

// String returns the fault in words, as messages use it.
func (f Fault) String() string { return faultWords[f] }

// faultCell is a quiet NaN that neither processors nor usual writers make. Its low byte is replaced by the fault.
const faultCell = 0x7FFC_BAD0_0000_0000

// Cell returns the NaN of a cell with this fault. A NaN of the source with the same bits is bad
// too; it only gets the wrong reason.
func (f Fault) Cell() float64 { return math.Float64frombits(faultCell | uint64(f)) }

// FaultOf returns the fault of a decoded cell.
func FaultOf(v float64) Fault {
	switch {
	case math.Abs(v) <= MaxMagnitude:
		return None
	case math.IsInf(v, 0):
		return Infinite
	case !math.IsNaN(v):
		return TooLarge
	}
	if b := math.Float64bits(v); b&^0xFF == faultCell && b&0xFF != 0 && b&0xFF <= uint64(TooLarge) {
		return Fault(b & 0xFF)
	}
	return NotANum
}

// Check reports whether all values are good, and returns the smallest and the largest
// value other than NaN (+Inf, −Inf if there is none).
//
// It compares the bits as integers in the order of the numbers, without branches. NaN
// and numbers that are too large are beyond the integers of ±MaxMagnitude.
func Check(values []float64) (lo, hi float64, good bool) {
	lo0, lo1, hi0, hi1 := int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MinInt64), int64(math.MinInt64)
	n := len(values) &^ 3
	for i := 0; i < n; i += 4 {
		v := values[i : i+4 : i+4]
		a, b, c, d := order(v[0]), order(v[1]), order(v[2]), order(v[3])
		lo0, hi0 = min(lo0, a, c), max(hi0, a, c)
		lo1, hi1 = min(lo1, b, d), max(hi1, b, d)
	}
	for _, v := range values[n:] {
		lo0, hi0 = min(lo0, order(v)), max(hi0, order(v))
	}
	least, most := min(lo0, lo1), max(hi0, hi1)
	if len(values) == 0 || least < order(-MaxMagnitude) || most > order(MaxMagnitude) {
		lo, hi = numbers(values)
		return lo, hi, len(values) == 0
	}
	return fromOrder(least), fromOrder(most), true
}

// order maps numbers to integers of the same order. On bits it is its own inverse.
func order(v float64) int64 {
	b := int64(math.Float64bits(v)) //nolint:gosec // bits, not a number
	return b ^ int64(uint64(b>>63)>>1)
}

func fromOrder(i int64) float64 {
	return math.Float64frombits(uint64(i ^ int64(uint64(i>>63)>>1))) //nolint:gosec // bits, not a number
}

// numbers returns the smallest and the largest value that is no NaN.
func numbers(values []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
	}
	return lo, hi
}

// A RejectedRowError says which row breaks which rule. A source that marks no rows stops there: a
// certificate over silently dropped rows would be false. No retry helps.
type RejectedRowError struct {
	Where  string // file, or topic and partition
	Row    int64  // number of the row in Where, 0 first
	Column string
	Target bool // Column is the target
	Fault  Fault
}

// Error returns position, fault and what to do about it.
func (e *RejectedRowError) Error() string {
	hint := "correct or remove the row, or allow some rejected rows (rejected); or fill the missing values of the feature (fill), or leave it out (exclude); pacsgp plan counts the nulls of all columns"
	switch {
	case e.Target && e.Fault <= Infinite:
		hint = "a target cannot be filled: remove rows without one from the files, or allow some rejected rows, as in rejected: {limit: 1 %}"
	case e.Fault == TooLong:
		hint = "store the column as text if it names units or groups, as a double if it is a quantity, or leave a feature out (exclude)"
	case e.Fault == TooLarge:
		hint = "if it means a missing value, store a null; else change the unit of the column, or leave a feature out (exclude)"
	case e.Fault == Mistyped:
		hint = "other programs read another value or none: write the column with a type that has all its values, or leave a feature out (exclude)"
	}
	return fmt.Sprintf("%s: row %d (from 0), column %q %v; %s", e.Where, e.Row, e.Column, e.Fault, hint)
}
