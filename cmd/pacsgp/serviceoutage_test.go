package main

import (
	"testing"
	"time"
)

// TestStreamOutlivesItsBroker: the broker is killed while windows are spooled, trained and
// published, is away for some seconds (with -soak for a minute), and comes back: the stream
// goes on by itself, and every row is in one certificate.
func TestStreamOutlivesItsBroker(t *testing.T) {
	t.Parallel()
	s, _ := apache.Lend(t)
	createTopic(t, s.Address, "rows", 3)
	job := serviceJob(t, s.Address, t.TempDir(), jobFile{"stream": "{session_timeout: 2s}"})
	succeed(t, "topics", "-c", job)
	fillTopic(t, s.Address, 0)
	r := startService(t, "-c", job)
	awaitCertificates(t, s.Address, 1, r)
	times, away := int64(1), 3*time.Second
	if *soak {
		times, away = 3, time.Minute
	}
	for i := range times {
		fillTopic(t, s.Address, 180*(2*i+1))
		fillTopic(t, s.Address, 180*(2*i+2)) // three windows, of which some are not published yet
		s.Kill(t)
		time.Sleep(away)
		s.Run(t)
		awaitCertificates(t, s.Address, int(4+3*i), r)
	}
	r.end(t)
	all := certificates(t, s.Address, "pacsgp-certificates")
	rows := int64(0)
	for _, end := range onceEach(t, "trainers", all) {
		rows += end
	}
	if want := 1 + 3*times; int64(len(all)) != want || rows != 120*want {
		t.Errorf("%d certificates of %d rows, want %d of %d", len(all), rows, want, 120*want)
	}
}
