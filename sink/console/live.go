package console

import (
	"fmt"
	"net/http"
	"strings"
)

// Live is the current work of a service.
type Live struct {
	Doing string    // in words
	Facts []Fact    // in the order of the page
	Have  int64     // rows of the window so far, or steps of training
	Of    int64     // the final value of Have; 0 means unknown
	What  string    // the name of Have
	Trace []float64 // estimates of the bound during training, the latest last
}

// A Fact is a name with its value.
type Fact struct{ Name, Value string }

// renewed is the interval of reloading the page of a service, in seconds.
const renewed = 5

func (s *server) livePage(w http.ResponseWriter, _ *http.Request) {
	now := s.live()
	latest := 1.0
	if n := len(now.Trace); n > 0 && now.Trace[n-1] >= 0 {
		latest = min(now.Trace[n-1], 1)
	}
	s.show(w, http.StatusOK, "live", page{Title: "Now", Now: s.index.Now(), Renewed: renewed, Data: struct {
		Live

		Outline string
		Latest  float64
	}{now, outline(now.Trace), latest}})
}

// outline returns the path of a small line through numbers from 0 to 1. Larger ones and NaN are drawn
// as 1.
func outline(numbers []float64) string {
	if len(numbers) < 2 {
		return ""
	}
	var path polyline
	for i, v := range numbers {
		if !(v >= 0) { // NaN too
			v = 1
		}
		path.to(2+96*float64(i)/float64(len(numbers)-1), 22-20*min(v, 1))
	}
	return path.String()
}

// A polyline is the path of an SVG line.
type polyline struct{ strings.Builder }

func (p *polyline) to(x, y float64) {
	verb := "L"
	if p.Len() == 0 {
		verb = "M"
	}
	_, _ = fmt.Fprintf(p, "%s%.1f %.1f", verb, x, y)
}
