package certify

import (
	"fmt"
	"math"
	"slices"
)

// An Alarm tests whether a fixed predictor loses more than a bound allows. If the expected loss of every row,
// given all rows before it, is at most Bound, the probability that the alarm is ever raised is at most Delta.
//
// It bets on losses above the bound: each row multiplies the stake of a bet by
//
//	(1 + (θ−1)·loss) / (1 + (θ−1)·bound),
//
// whose mean is at most 1 while the bound holds. Part of the stake is reserved for each later block of rows, so
// that a long time without losses cannot use up all of it. Every step rounds down, so rounding never raises the
// alarm. The fields are the whole state, also as JSON.
type Alarm struct {
	Bound  float64   `json:"bound"`  // on the expected loss of a row, in (0, 1]
	Delta  float64   `json:"delta"`  // probability of a false alarm, in [1e-15, 1)
	Rows   int64     `json:"rows"`   // rows that were added
	Stakes []float64 `json:"stakes"` // present stake of each bet
	Worth  float64   `json:"worth"`  // sum of the stakes and the reserved part; 1 at the beginning
	Raised int64     `json:"raised"` // number of the row, from 1, that raised the alarm; 0 if none did
}

// alarmOdds returns the θ of the bets, which float64 holds exactly. A bet gains most if the odds of a loss are
// θ times those at the bound.
func alarmOdds() []float64 { return []float64{1.25, 1.5, 2, 4, 8} }

// alarmMisses is the expected sum of the losses in a block of rows whose expected loss equals the bound.
const alarmMisses = 10

// NewAlarm returns the state before the first row. An alarm with a bound of 1 is never raised.
func NewAlarm(bound, delta float64) (Alarm, error) {
	a := Alarm{Bound: bound, Delta: delta, Stakes: make([]float64, len(alarmOdds())), Worth: 1}
	return a, a.Validate()
}

// Validate reports the faults of a state that was read. Each condition is written so that NaN fails.
func (a *Alarm) Validate() error {
	var faults faultList
	faults.when(!(0 < a.Bound && a.Bound <= 1), "an alarm above a bound of %g, want one above 0 and at most 1", a.Bound)
	faults.when(!(leastError <= a.Delta && a.Delta < 1), "a false alarm with probability %g, want %g to 1", a.Delta, leastError)
	possible := 0 <= a.Raised && a.Raised <= a.Rows && staked(a.Stakes, len(alarmOdds())) && staked([]float64{a.Worth}, 1) &&
		(a.Worth >= up(up(1/a.Delta))) == (a.Raised > 0)
	faults.when(!possible, "it is no state of an alarm")
	return faults.err()
}

// leastError is the least probability of a false alarm that may be declared. A test ends once its stakes are
// worth the inverse of that probability, long before they overflow.
const leastError = 1e-15

// staked reports whether stakes has one finite number ≥ 0 for each bet.
func staked(stakes []float64, bets int) bool {
	return len(stakes) == bets && !slices.ContainsFunc(stakes, func(s float64) bool { return !(0 <= s && s <= math.MaxFloat64) })
}

// Add adds the losses of rows, in the order of the rows and in units of 2⁻⁶⁰ ([Units]). A loss above
// [UnitsPerLoss] is an error; the losses before it are added. The state does not depend on how rows are divided
// among calls. After the alarm is raised, rows are only counted.
func (a *Alarm) Add(losses []uint64) error {
	block := int64(math.Ceil(alarmMisses / a.Bound))
	odds := alarmOdds()
	price := make([]float64, len(odds)) // upper bounds on 1 + (θ−1)·bound
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
		won := math.Ldexp(float64(loss&^0xff), -60) // 53 bits: exact, and at most the loss
		number := float64(a.Rows/block + 1)         // of the block of rows, from 1
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

// down returns the float64 next below x > 0, a lower bound on every exact result that rounds to x. It returns 0 for 0.
func down(x float64) float64 { return math.Nextafter(x, 0) }

// up returns the float64 next above x > 0, an upper bound on every exact result that rounds to x.
func up(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
