package ingest

import "testing"

func TestDidYouMean(t *testing.T) {
	names := []string{"target", "train", "features", "delay", "distance"}
	for name, want := range map[string]string{
		"targt": "target", "tagret": "target", "Train": "train", "featurs": "features", "dealy": "delay", "distances": "distance",
		"x": "", "weather": "", "": "",
	} {
		if want != "" {
			want = `; did you mean "` + want + `"?`
		}
		if got := DidYouMean(name, names); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", name, got, want)
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
