package certify

import (
	"math"
	"testing"
)

func TestRoundUpAndDown(t *testing.T) {
	for _, test := range []struct {
		x      float64
		digits int
		up     string
	}{
		{0.11385, 4, "0.1139"},
		{0.1138, 4, "0.1138"}, // the float64 is below 0.1138
		{0.5, 4, "0.5000"},
		{0, 4, "0.0000"},
		{1e-300, 4, "0.0001"},
		{math.Nextafter(0.25, 1), 2, "0.26"},
		{1600.0000001, 2, "1600.01"},
		{math.Inf(1), 2, "+Inf"},
	} {
		if up := RoundUp(test.x, test.digits); up != test.up {
			t.Errorf("%v: up %s, want %s", test.x, up, test.up)
		}
	}
}
