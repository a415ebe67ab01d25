package ingest

import (
	"fmt"
	"testing"
	"time"
)

func TestNearest(t *testing.T) {
	names := []string{"target", "train", "features", "delay", "distance"}
	for name, want := range map[string]string{
		"targt": "target", "tagret": "target", "Train": "train", "featurs": "features", "dealy": "delay", "distances": "distance",
		"x": "", "weather": "", "": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

// The distance is a metric's, and counts single changes.
func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"día", "dia", 1}, {"same", "same", 0}} {
		if got, back := editDistance(c.a, c.b), editDistance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q, %q: %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}

// A wide table is searched at once: 300,000 columns took seconds.
func TestNearestAmongMany(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads the clock, which says nothing under the race detector")
	}
	var names []string
	for i := range 300_000 {
		names = append(names, fmt.Sprintf("column-%d", i))
	}
	for _, name := range []string{"y", "columm-299999"} {
		began := time.Now()
		_ = Nearest(name, names)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%q: %v", name, took)
		} else {
			t.Log(name, took)
		}
	}
}
