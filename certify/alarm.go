package certify

import (
	"errors"
	"fmt"
	"math"
)

// An Alarm watches the losses of a fixed predictor for more than a bound allows. If the expected
// loss of every row, given all rows before it, is at most the bound, the chance that the alarm is
// ever raised is at most Delta.
//
// It bets on losses above the bound: a bet has a factor of (1 + (θ−1)·loss)/(1 + (θ−1)·bound), whose
// mean is at most 1 while the bound holds. A part of the stake is kept for each later block of
// rows, so that a long good time does not make it blind. All is rounded down: rounding raises no
// alarm. The fields are its state, exactly, also as JSON.
type Alarm struct {
	Bound  float64   `json:"bound"`  // on the expected loss, above 0 and at most 1
	Delta  float64   `json:"delta"`  // in (0, 1)
	Rows   int64     `json:"rows"`   // so far
	Stakes []float64 `json:"stakes"` // of the bets
	Worth  float64   `json:"worth"`  // of stakes and what is kept back, 1 at the beginning
	Raised int64     `json:"raised"` // number of the row, from 1, that raised it; 0: none did
}

// alarmOdds are the θ of the bets: by how much the odds of a loss have grown. They are exact.
func alarmOdds() []float64 { return []float64{1.25, 1.5, 2, 4, 8} }

// alarmMisses is how many misses a block of rows has where the bound is attained.
const alarmMisses = 10

// NewAlarm returns an alarm that has seen no row. A bound of 1 raises none.
func NewAlarm(bound, delta float64) (Alarm, error) {
	a := Alarm{Bound: bound, Delta: delta, Stakes: make([]float64, len(alarmOdds())), Worth: 1}
	return a, a.Validate()
}

// Validate reports the faults of a state that was read. Conditions are written so that NaN fails.
func (a *Alarm) Validate() error {
	var faults []error
	if !(0 < a.Bound && a.Bound <= 1) {
		faults = append(faults, fmt.Errorf("an alarm above a bound of %g, want one above 0 and at most 1", a.Bound))
	}
	if !(leastError <= a.Delta && a.Delta < 1) {
		faults = append(faults, fmt.Errorf("a false alarm with probability %g, want %g to 1", a.Delta, leastError))
	}
	if a.Rows < 0 || a.Raised < 0 || a.Raised > a.Rows || !staked(a.Stakes, alarmOdds()) || !staked([]float64{a.Worth}, []float64{1}) {
		faults = append(faults, errors.New("it is no state of an alarm"))
	}
	return errors.Join(faults...)
}

// leastError is the least probability of an error that is declared: stakes do not overflow before
// they are worth its inverse.
const leastError = 1e-15

// staked reports whether stakes can be those of bets.
func staked(stakes, bets []float64) bool {
	for _, s := range stakes {
		if !(0 <= s && s <= math.MaxFloat64) {
			return false
		}
	}
	return len(stakes) == len(bets)
}

// Add adds the losses of rows in the order in which they came, in units of 2⁻⁶⁰ ([Units]), each at
// most [UnitsPerLoss]. However rows are cut into calls, the state is the same. Raised, it only counts rows.
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

// down is below x > 0 before its last rounding, and 0 for 0.
func down(x float64) float64 { return math.Nextafter(x, 0) }

// up is above x > 0 before its last rounding.
func up(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
