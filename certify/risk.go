package certify

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// UnitsPerLoss is the number of units in a loss of 1: a [RiskSum] counts losses in units of 2⁻⁶⁰.
const UnitsPerLoss = 1 << 60

// A RiskSum is the exact sum of the losses of a number of examples, each rounded to a multiple of 2⁻⁶⁰: up by
// [RiskSum.Add], down by [RiskSum.AddLower]. With Add alone it is an upper bound, with AddLower alone a lower one. It
// does not depend on order, sharding or number of workers. The zero value is an empty sum.
//
// As JSON it is {"n": examples, "sum": 32 hexadecimal digits}, the 128-bit sum in units of 2⁻⁶⁰.
type RiskSum struct {
	hi, lo uint64 // the sum in units of 2⁻⁶⁰, at most count·2⁶⁰
	count  int64
}

// Units returns loss in units of 2⁻⁶⁰, rounded up. A loss outside [0, 1], NaN included, is an error.
func Units(loss float64) (uint64, error) {
	if !(0 <= loss && loss <= 1) { // written so that NaN fails
		return 0, fmt.Errorf("certify: loss %g is outside [0, 1]: no bound covers it", loss)
	}
	return uint64(math.Ceil(loss * UnitsPerLoss)), nil // the product is exact: a power of two
}

// Add adds the loss of one example, rounded up to a multiple of 2⁻⁶⁰. A loss
// outside [0, 1], NaN included, is an error and adds nothing.
func (s *RiskSum) Add(loss float64) error {
	units, err := Units(loss)
	if err != nil {
		return err
	}
	return s.AddUnits(units)
}

// AddLower adds the loss of one example, rounded down to a multiple of 2⁻⁶⁰. A
// loss outside [0, 1], NaN included, is an error and adds nothing.
func (s *RiskSum) AddLower(loss float64) error {
	if !(0 <= loss && loss <= 1) { // written so that NaN fails
		return fmt.Errorf("certify: loss %g is outside [0, 1]: no bound covers it", loss)
	}
	return s.AddUnits(uint64(math.Floor(loss * UnitsPerLoss))) // the product is exact: a power of two
}

// AddUnits adds one example whose loss is units·2⁻⁶⁰. A loss above 1, or more than 2⁶³−1 examples, is an error
// and adds nothing.
func (s *RiskSum) AddUnits(units uint64) error {
	if units > UnitsPerLoss {
		return fmt.Errorf("certify: loss of %d units of 2^-60 is above 1", units)
	}
	return s.Merge(RiskSum{lo: units, count: 1})
}

// Merge adds the examples of other. It is associative and commutative. A count
// above 2⁶³−1 is an error and adds nothing.
func (s *RiskSum) Merge(other RiskSum) error {
	if s.count > math.MaxInt64-other.count {
		return fmt.Errorf("certify: %d and %d examples are more than a risk sum can count", s.count, other.count)
	}
	lo, carry := bits.Add64(s.lo, other.lo, 0)
	s.hi, s.lo = s.hi+other.hi+carry, lo
	s.count += other.count
	return nil
}

// Count returns the number of examples.
func (s RiskSum) Count() int64 { return s.count }

// Upper returns the mean loss rounded up: the smallest float64 that is not below it. It is NaN for an empty sum.
func (s RiskSum) Upper() float64 {
	f, side := s.mean()
	if side < 0 {
		f = math.Nextafter(f, 2)
	}
	return f
}

// Lower returns the mean loss rounded down: the largest float64 that is not above it. It is NaN for an empty sum.
func (s RiskSum) Lower() float64 {
	f, side := s.mean()
	if side > 0 {
		f = math.Nextafter(f, -1)
	}
	return f
}

// mean returns the float64 nearest to the mean loss. side is −1, 0 or 1 if that is below, at or above it.
func (s RiskSum) mean() (f float64, side int) {
	if s.count == 0 {
		return math.NaN(), 0
	}
	mean := new(big.Rat).SetFrac(s.total(), new(big.Int).Lsh(big.NewInt(s.count), 60))
	f, _ = mean.Float64()
	return f, new(big.Rat).SetFloat64(f).Cmp(mean)
}

// ones returns the sum of n losses, of which k are 1 and the others 0, for 0 ≤ k ≤ n.
func ones(k, n int64) RiskSum {
	return RiskSum{hi: uint64(k) >> 4, lo: uint64(k) << 60, count: n} //nolint:gosec // not negative
}

// ones returns the sum rounded up to a whole number. If all losses are 0 or 1, it is the number of ones.
func (s RiskSum) ones() int64 {
	up := new(big.Int).Add(s.total(), big.NewInt(UnitsPerLoss-1))
	return up.Rsh(up, 60).Int64()
}

// whole returns the sum rounded up to a whole number.
func (s RiskSum) whole() RiskSum { return ones(s.ones(), s.count) }

// total returns the sum in units of 2⁻⁶⁰.
func (s RiskSum) total() *big.Int {
	sum := new(big.Int).SetUint64(s.hi)
	return sum.Lsh(sum, 64).Or(sum, new(big.Int).SetUint64(s.lo))
}

// riskSumJSON is the JSON form of a RiskSum.
type riskSumJSON struct {
	N   int64  `json:"n"`
	Sum string `json:"sum,omitempty"`
}

// form returns the JSON form of a sum.
func (s RiskSum) form() riskSumJSON {
	return riskSumJSON{s.count, fmt.Sprintf("%016x%016x", s.hi, s.lo)}
}

// MarshalJSON writes the count and the exact sum.
func (s RiskSum) MarshalJSON() ([]byte, error) { return json.Marshal(s.form()) }

// UnmarshalJSON reads the form of MarshalJSON. A sum above its count, or of another form, is an error.
func (s *RiskSum) UnmarshalJSON(data []byte) error {
	var j riskSumJSON
	if err := unmarshalStrict(data, &j); err != nil {
		return fmt.Errorf("certify: risk sum: %w", err)
	}
	read, err := j.read()
	if err == nil {
		*s = read
	}
	return err
}

// read returns the sum of the JSON form.
func (j riskSumJSON) read() (RiskSum, error) {
	digits, err := hex.DecodeString(j.Sum)
	if err != nil || len(digits) != 16 {
		return RiskSum{}, fmt.Errorf("certify: risk sum %q is not 32 hexadecimal digits", j.Sum)
	}
	read := RiskSum{binary.BigEndian.Uint64(digits), binary.BigEndian.Uint64(digits[8:]), j.N}
	return read, read.validate()
}

// validate checks that the sum can be that of losses in [0, 1].
func (s RiskSum) validate() error {
	if s.count < 0 {
		return fmt.Errorf("certify: risk sum over %d examples", s.count)
	}
	if limit := new(big.Int).Lsh(big.NewInt(s.count), 60); s.total().Cmp(limit) > 0 {
		return fmt.Errorf("certify: risk sum is above 1 for each of its %d examples", s.count)
	}
	return nil
}
