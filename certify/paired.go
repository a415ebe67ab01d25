package certify

import (
	"errors"
	"fmt"
	"math"
)

// A Paired test asks whether a challenger is better than a champion, by the losses of both on
// rows that are new to both. If the champion's expected loss of every row, given all rows before
// it, is at most the challenger's, the test ever finds the challenger better with probability at
// most Error. All is rounded down. The fields are the whole state, also as JSON.
//
// Each row multiplies a bet's stake by 1 + b·(loss of the champion − loss of the challenger). For
// losses of 0 and 1 a bet wins where the champion alone misses.
type Paired struct {
	Error  float64   `json:"error"`  // in (0, 1)
	Rows   int64     `json:"rows"`   // so far
	Stakes []float64 `json:"stakes"` // of the bets
	Better int64     `json:"better"` // number of the row that decided, from 1; 0: not decided
}

// pairedBets are the b of the bets, all exact.
func pairedBets() []float64 { return []float64{0x1p-5, 0x1p-4, 0x1p-3, 0x1p-2, 0x1p-1, 0x3p-2} }

// NewPaired returns a test before its first row.
func NewPaired(mistake float64) (Paired, error) {
	p := Paired{Error: mistake}
	for range pairedBets() {
		p.Stakes = append(p.Stakes, down(1/float64(len(pairedBets()))))
	}
	return p, p.Validate()
}

// Validate reports the faults of a state that was read. Conditions are written so that NaN fails.
func (p *Paired) Validate() error {
	var faults []error
	if !(leastError <= p.Error && p.Error < 1) {
		faults = append(faults, fmt.Errorf("a wrong promotion with probability %g, want %g to 1", p.Error, leastError))
	}
	if p.Rows < 0 || p.Better < 0 || p.Better > p.Rows || !staked(p.Stakes, len(pairedBets())) {
		faults = append(faults, errors.New("it is no state of a paired test"))
	}
	return errors.Join(faults...)
}

// Add adds the losses of both on one row, in units of 2⁻⁶⁰ ([Units]). A loss above [UnitsPerLoss] is
// an error.
func (p *Paired) Add(champion, challenger uint64) error {
	if champion > UnitsPerLoss || challenger > UnitsPerLoss {
		return fmt.Errorf("certify: losses of %d and %d units of 2^-60, of which one is above 1", champion, challenger)
	}
	if p.Rows++; champion == challenger || p.Better > 0 {
		return nil
	}
	// The difference in 53 bits, rounded down.
	gain := math.Ldexp(float64((champion-min(champion, challenger))&^0xff), -60)
	if challenger > champion {
		gain = -math.Ldexp(float64((challenger-champion+0xff)&^0xff), -60)
	}
	var worth float64
	for k, b := range pairedBets() {
		p.Stakes[k] = down(p.Stakes[k] * down(1+math.Nextafter(b*gain, -1)))
		worth = down(worth + p.Stakes[k])
	}
	if worth >= up(up(1/p.Error)) {
		p.Better = p.Rows
	}
	return nil
}
