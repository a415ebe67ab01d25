package certify

import "math/big"

// Reuse lists the uses of the held-out rows before this one. A use shows how many of n rows are missed, which is one
// of n+1 answers. If training rows, random numbers and the analyst's strategy are fixed, the possible jobs form a
// tree with n+1 branches at each use. The first use spends 19/20 of δ. Use j ≥ 2 spends the part 1/(10j(j+1)),
// divided by the number of paths to it. Together they spend at most δ (docs/explanation/theory.md, 14).
//
// Verification cannot check the list, which comes from the log of the output. That log counts uses of identical
// rows only.
type Reuse struct {
	Earlier []int64 `json:"earlier"` // the number n of held-out rows in each earlier use
	// Ended says that an earlier use showed a curve, which shows far more than a count, or that there were
	// [MaxUses] or more, of which Earlier has the first. Then claims from these rows are void, with a bound of 1.
	Ended bool `json:"ended,omitempty"`
}

// MaxUses is the largest number of uses of the same rows.
const MaxUses = 1000

// share returns the part of δ that this use may spend.
func (l *Reuse) share() Share {
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

// ended reports whether the rows are used up: no share of δ pays for this one.
func (l *Reuse) ended() bool { return l != nil && l.Ended }

// validate reports all faults. A nil l is valid.
func (l *Reuse) validate(heldOut bool) error {
	if l == nil {
		return nil
	}
	var faults faultList
	faults.when(!heldOut, "uses of held-out rows, of which there are none")
	faults.when(len(l.Earlier) == 0 || len(l.Earlier) >= MaxUses, "%d uses before this one: want 1 to %d", len(l.Earlier), MaxUses-1)
	for _, n := range l.Earlier {
		faults.when(n < 1 || n > MaxNumber, "an earlier use of %d rows", n)
	}
	return faults.err()
}
