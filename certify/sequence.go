package certify

import "math/big"

// A Sequence is the position of a certificate among those of one job on consecutive windows of rows. Number k
// may spend δ/(k(k+1)). These parts add up to at most δ, so that all certificates of the sequence hold at once
// with confidence 1−δ.
//
// This requires that each number is fixed before the bound of its certificate is known, and is used only once.
// No single document can show that: see docs/explanation/certificate.md.
type Sequence struct {
	Name   string `json:"name"` // distinguishes the sequences of one log
	Number int64  `json:"run"`  // k, 1 to [MaxNumber]
}

// MaxNumber is the largest number of a certificate in its sequence.
const MaxNumber = 1 << 40

// share returns the part of δ that the certificate may spend: all of it without a sequence.
func (s *Sequence) share() Share {
	if s == nil {
		return Share{}
	}
	k := big.NewInt(s.Number)
	k.Mul(k, new(big.Int).Add(k, big.NewInt(1)))
	if k.Sign() <= 0 { // math/big would panic
		return Share{new(big.Rat)}
	}
	return Share{new(big.Rat).SetFrac(big.NewInt(1), k)}
}

// validate reports all faults. A nil s is valid.
func (s *Sequence) validate() error {
	if s == nil {
		return nil
	}
	faults := faultList{Name("name of the sequence", s.Name)}
	faults.when(s.Number < 1 || s.Number > MaxNumber, "number %d of a sequence: they count from 1 to %d", s.Number, int64(MaxNumber))
	return faults.err()
}
