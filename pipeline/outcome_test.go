package pipeline

import (
	"testing"

	"github.com/pacsgp/pacsgp/certify"
)

// Of two alternatives a certified one is better, then the lower bound, then the first.
func TestBetterAlternative(t *testing.T) {
	certified, vacuous := certify.StatusCertified, certify.StatusVacuous
	for _, c := range []struct {
		a, b AlternativeRecord
		want bool
	}{
		{AlternativeRecord{Status: certified, Bound: 0.4}, AlternativeRecord{Status: vacuous, Bound: 0.1}, true},
		{AlternativeRecord{Status: vacuous, Bound: 0.1}, AlternativeRecord{Status: certified, Bound: 0.4}, false},
		{AlternativeRecord{Status: certified, Bound: 0.3}, AlternativeRecord{Status: certified, Bound: 0.4}, true},
		{AlternativeRecord{Status: certified, Bound: 0.4}, AlternativeRecord{Status: certified, Bound: 0.4}, false}, // the first stays
		{AlternativeRecord{Status: vacuous, Bound: 0.3}, AlternativeRecord{Status: vacuous, Bound: 0.4}, true},
	} {
		if got := c.a.better(c.b); got != c.want {
			t.Errorf("%+v better than %+v: %v", c.a, c.b, got)
		}
	}
}
