package pipeline

import (
	"testing"
	"time"
)

// A limit cuts the longest training, and leaves it the shortest at the lowest speed.
func TestEstimateOfLimitedTraining(t *testing.T) {
	for limit, want := range map[time.Duration]float64{0: 15, time.Second: 4, time.Minute: 15} {
		var e Estimate
		if e.time(20, 100, []float64{10, 10, 10, 10, 10}, limit); e.Least != 2 || e.Most != want {
			t.Errorf("limit %v: %v to %v s, want 2 to %v", limit, e.Least, e.Most, want)
		}
	}
}
