package certify

import (
	"fmt"
	"math"
	"slices"
)

// An Alarm is raised when a fixed predictor loses more than a bound allows. If the expected
// loss of every row, given all rows before it, is at most the bound, the alarm is ever raised
// with probability at most Delta.
//
// It bets on losses above the bound: each row multiplies a bet's stake by
// (1 + (θ−1)·loss)/(1 + (θ−1)·bound), whose mean is at most 1 while the bound holds. A part of the
// stake is kept back for each later block of rows, so that a long good time does not use up all of
// it. All is rounded down: rounding raises no alarm. The fields are the whole state, also as JSON.
type Alarm struct {
	Bound  float64   `json:"bound"`  // on the expected loss, above 0 and at most 1
	Delta  float64   `json:"delta"`  // in (0, 1)
	Rows   int64     `json:"rows"`   // so far
	Stakes []float64 `json:"stakes"` // of the bets
	Worth  float64   `json:"worth"`  // the stakes and the part kept back together; 1 at the beginning
	Raised int64     `json:"raised"` // number of the row that raised the alarm, from 1; 0: not raised
}

// alarmOdds are the θ of the bets, all exact: each bet is best if the odds of a loss have grown
// θ-fold.
func alarmOdds() []float64 { return []float64{1.25, 1.5, 2, 4, 8} }

// alarmMisses is the expected sum of losses in a block of rows if the bound is attained.
const alarmMisses = 10

// NewAlarm returns an alarm before its first row. With a bound of 1 it is never raised.
func NewAlarm(bound, delta float64) (Alarm, error) {
	a := Alarm{Bound: bound, Delta: delta, Stakes: make([]float64, len(alarmOdds())), Worth: 1}
	return a, a.Validate()
}

// Validate reports the faults of a state that was read. Conditions are written so that NaN fails.
func (a *Alarm) Validate() error {
	var faults faultList
	faults.when(!(0 < a.Bound && a.Bound <= 1), "an alarm above a bound of %g, want one above 0 and at most 1", a.Bound)
	faults.when(!(leastError <= a.Delta && a.Delta < 1), "a false alarm with probability %g, want %g to 1", a.Delta, leastError)
	possible := 0 <= a.Raised && a.Raised <= a.Rows && staked(a.Stakes, len(alarmOdds())) && staked([]float64{a.Worth}, 1)
	faults.when(!possible, "it is no state of an alarm")
	return faults.err()
}

// leastError is the least probability of an error that can be declared: a test ends when its
// stakes are worth the inverse, long before they overflow.
const leastError = 1e-15

// staked reports whether stakes can be those of so many bets.
func staked(stakes []float64, bets int) bool {
	return len(stakes) == bets && !slices.ContainsFunc(stakes, func(s float64) bool { return !(0 <= s && s <= math.MaxFloat64) })
}

// Add adds the losses of rows in their order, in units of 2⁻⁶⁰ ([Units]). A loss above
// [UnitsPerLoss] is an error. The state does not depend on how rows are divided among calls. A
// raised alarm only counts rows.
func (a *Alarm) Add(losses []uint64) error {
	block := int64(math.Ceil(alarmMisses / a.Bound))
	odds := alarmOdds()
	price := make([]float64, len(odds)) // of a bet: not below 1 + (θ−1)·bound
	for j, theta := range odds {
		price[j] = up(1 + up((theta-1)*a.Bound))
	}
	enough := up(up(1 / a.Delta))
	for _, loss := range losses {
		if loss > UnitsPerLoss {
			return fmt.Errorf("certify: loss of %d units of 2^-60 is above 1", loss)
		}
		if a.Raised > 0 {
			a.Rows++
			continue
		}
		won := math.Ldexp(float64(loss&^0xff), -60) // 53 bits: exact, at most the loss
		number := float64(a.Rows/block + 1)         // of the block
		kept := down(1 / up(number+1))
		worth := kept
		for j, theta := range odds {
			if a.Rows%block == 0 {
				a.Stakes[j] = down(a.Stakes[j] + down(kept/up(number*float64(len(odds)))))
			}
			a.Stakes[j] = down(a.Stakes[j] * down(down(1+down((theta-1)*won))/price[j]))
			worth = down(worth + a.Stakes[j])
		}
		a.Rows++
		if a.Worth = worth; worth >= enough {
			a.Raised = a.Rows
		}
	}
	return nil
}

// down returns the float64 below x > 0, which is below the exact result that was rounded to x;
// and 0 for 0.
func down(x float64) float64 { return math.Nextafter(x, 0) }

// up returns the float64 above x > 0, which is above the exact result that was rounded to x.
func up(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
