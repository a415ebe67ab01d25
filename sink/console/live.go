package console

import (
	"fmt"
	"net/http"
	"strings"
)

// Live is what a service does now.
type Live struct {
	Doing string    // in words
	Facts []Fact    // in their order
	Have  int64     // rows of the window that fills, or steps of training
	Of    int64     // how many there will be; 0: nobody knows
	What  string    // that fills
	Trace []float64 // estimates of the bound while training, the latest last
}

// A Fact is a name with its value.
type Fact struct{ Name, Value string }

// renewed is how often a browser loads the page of what a service does, in seconds.
const renewed = 5

func (s *server) livePage(w http.ResponseWriter, _ *http.Request) {
	now := s.live()
	s.show(w, http.StatusOK, "live", page{Title: "Now", Now: s.index.Now(), Renewed: renewed, Data: struct {
		Live

		Outline string
		Latest  float64
	}{now, trace(now.Trace), latest(now.Trace)}})
}

// latest is the last estimate, 1 if there is none.
func latest(points []float64) float64 {
	if n := len(points); n > 0 && points[n-1] >= 0 {
		return min(points[n-1], 1)
	}
	return 1
}

// trace is a line of estimates between 0 and 1; what is above is cut.
func trace(points []float64) string {
	if len(points) < 2 {
		return ""
	}
	var path strings.Builder
	for i, v := range points {
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		if !(v >= 0) { // NaN too
			v = 1
		}
		_, _ = fmt.Fprintf(&path, "%s%.1f %.1f", verb, 2+96*float64(i)/float64(len(points)-1), 22-20*min(v, 1))
	}
	return path.String()
}
