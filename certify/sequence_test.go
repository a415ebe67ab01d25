package certify

import (
	"math/big"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

func numbered(k int64) Delta {
	return Delta{Declared: .01, Methods: alone(), Sequence: &Sequence{"s", k}}
}

// The union bound: the first n certificates spend δ·n/(n+1), exactly, which is never more
// than δ and comes as near to it as one likes.
func TestSequenceSpendsDelta(t *testing.T) {
	spent := new(big.Rat)
	for k := range int64(1000) {
		spent.Add(spent, numbered(k+1).Share(MethodPACBayes).rational())
		if want := big.NewRat(k+1, k+2); spent.Cmp(want) != 0 {
			t.Fatalf("the first %d spend %s of delta, want %s", k+1, spent, want)
		}
	}
	d := numbered(3)
	d.Methods = []MethodID{MethodPACBayes, MethodHoldout}
	if s := d.Share(MethodHoldout); s.String() != "57/800" { // 1/12 · 9/10 · 19/20
		t.Errorf("a method has %s of delta, want 57/800", s)
	}
}

// ln 1/δ_k errs upwards, for the largest number too, where k(k+1) is no float64 and no 64-bit integer.
func TestSequenceErrsUpwards(t *testing.T) {
	for _, k := range []int64{1, 2, 7, 1000, 1 << 31, 1<<32 + 1, MaxNumber} {
		d := numbered(k)
		got, err := lnInverseDelta(d.Declared, d.Share(MethodPACBayes))
		fatal.If(t, err)
		n := new(big.Float).SetPrec(300).SetInt64(k)
		n.Mul(n, new(big.Float).SetInt64(k+1)).Mul(n, big.NewFloat(100))
		errsUp(t, got, ln(n), 0x1p-52, 0, "ln 1/delta_%d", k)
	}
}

// The bound pays for the number, and a number that no certificate can have is refused.
func TestSequenceIsPaidFor(t *testing.T) {
	bound := func(s *Sequence) float64 {
		ev := sound(t)
		ev.Delta.Sequence = s
		c, err := Certify(ev)
		fatal.If(t, err)
		if err := Recompute(c); err != nil {
			t.Error(err)
		}
		g, _ := c.Claim(ClaimDraw)
		return g.Bound
	}
	alone, first, later := bound(nil), bound(&Sequence{"s", 1}), bound(&Sequence{"s", 100})
	if !(alone < first && first < later) {
		t.Errorf("bounds %v without a sequence, %v and %v in one: want them to rise", alone, first, later)
	}
	for name, s := range map[string]Sequence{
		"no number": {"s", 0}, "a negative one": {"s", -3}, "too large": {"s", MaxNumber + 1}, "no name": {"", 1}, "half a sentence": {`s" and`, 1},
	} {
		ev := sound(t)
		ev.Delta.Sequence = &s
		if _, err := Certify(ev); err == nil {
			t.Errorf("%s: certified", name)
		}
	}
}
