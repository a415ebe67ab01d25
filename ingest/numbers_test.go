package ingest_test

import (
	"math"
	"testing"

	"github.com/pacsgp/pacsgp/ingest"
)

// All halves: those that are no integers times 2⁻²⁴ are infinite or NaN, and each is the mean of the
// numbers next to it, but where the exponent changes.
func TestHalf(t *testing.T) {
	for b, want := range map[uint16]float64{0: 0, 1: 0x1p-24, 0x3ff: 1023 * 0x1p-24, 0x400: 0x1p-14, 0x347: 839 * 0x1p-24, 0x3c00: 1, 0xbc00: -1, 0x7bff: 65504, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1)} {
		if got := ingest.Half(b); got != want {
			t.Errorf("%#x is %g, want %g", b, got, want)
		}
	}
	for b := range uint16(0x7c00) {
		v, next := ingest.Half(b), ingest.Half(b+1)
		step := math.Ldexp(1, max(int(b>>10), 1)-25)
		if b < 0x7bff && next-v != step || ingest.Half(b|0x8000) != -v {
			t.Fatalf("%#x is %g, and the next one %g", b, v, next)
		}
		if nan := ingest.Half(0x7c01 + b%0x3ff); nan == nan {
			t.Fatalf("%g is no NaN", nan)
		}
	}
	if !math.Signbit(ingest.Half(0x8000)) {
		t.Error("-0 is 0")
	}
}
