package certify

import (
	"errors"
	"fmt"
	"math/big"
)

// Looks are the looks at held-out rows before this one. A look shows how many of n rows
// are missed: one of n+1 answers. With training rows, coins and the analyst's strategy fixed,
// his possible jobs form a tree with n+1 branches at each look. The first look spends
// 19/20 of δ. Look j ≥ 2 spends the part 1/(10j(j+1)), divided by the number of paths to
// it. Together they spend at most δ (docs/explanation/theory.md, 14).
//
// Which looks there were is the maker's word: they are counted in the log of the output, and only
// those at identical rows.
type Looks struct {
	Earlier []int64 `json:"earlier"` // n of each earlier look
	// Ended says that an earlier look showed a curve, which tells far more than a count: the
	// claims from these rows are void, with a bound of 1.
	Ended bool `json:"ended,omitempty"`
}

// MaxLooks is the largest number of looks at the same rows.
const MaxLooks = 1000

// share returns the part of δ that this look may spend.
func (l *Looks) share() Share {
	if l == nil {
		return Share{big.NewRat(19, 20)}
	}
	j := int64(len(l.Earlier)) + 1
	paths := big.NewInt(10 * j)
	paths.Mul(paths, big.NewInt(j+1))
	for _, n := range l.Earlier {
		paths.Mul(paths, big.NewInt(n+1))
	}
	if paths.Sign() <= 0 {
		return Share{new(big.Rat)}
	}
	return Share{new(big.Rat).SetFrac(big.NewInt(1), paths)}
}

// ended reports whether an earlier look showed a curve: no share of δ pays for this one.
func (l *Looks) ended() bool { return l != nil && l.Ended }

// validate reports all faults; nil has none.
func (l *Looks) validate(heldOut bool) error {
	if l == nil {
		return nil
	}
	var faults []error
	if !heldOut {
		faults = append(faults, errors.New("looks at held-out rows, of which there are none"))
	}
	if len(l.Earlier) == 0 || len(l.Earlier) >= MaxLooks {
		faults = append(faults, fmt.Errorf("%d looks before this one: want 1 to %d", len(l.Earlier), MaxLooks-1))
	}
	for _, n := range l.Earlier {
		if n < 1 || n > MaxNumber {
			faults = append(faults, fmt.Errorf("an earlier look at %d rows", n))
		}
	}
	return errors.Join(faults...)
}
