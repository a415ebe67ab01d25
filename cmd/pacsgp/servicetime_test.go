package main

import (
	"fmt"
	"testing"
	"time"
)

// TestServiceByTime: windows of record time end at the first record that is late enough,
// those with too few rows go on, the clock of this machine does not matter, and bad rows
// are counted by window and sent to their topic.
func TestServiceByTime(t *testing.T) {
	t.Parallel()
	c := smallTopic(t)
	address := c.ListenAddrs()[0]
	createTopic(t, address, "timed", 3)
	sent := 0
	send := func(hour float64, n int, bad bool) { // records of an hour long ago, a second apart
		t.Helper()
		began := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(hour * float64(time.Hour)))
		records := recordsOf(t, "timed", int64(sent), int64(n))
		for i, r := range records {
			r.Timestamp = began.Add(time.Duration(i) * time.Second)
			if bad && i == n/2 {
				r.Value = []byte(`{"x1":null,"in":{"x2":1},"y":1}`)
			}
		}
		sent += n
		send(t, address, records...)
	}
	job := serviceJob(t, address, t.TempDir(), jobFile{
		"kafka": fmt.Sprintf("{brokers: [%q]}", address), "source": "{kafka: {topic: timed, group: trainers, for: 1h, spool: {limit: 10MB}}}",
		"stream": "{least_rows: 100}", "bad_rows": "{tolerance: 5 %, to: {kafka: timed-dead}}",
	})
	succeed(t, "topics", "-c", job)
	send(0, 150, true)  // a window of 150 rows, one of them bad
	send(1.1, 20, true) // too few: it goes on for a second hour
	send(2.2, 120, true)
	send(9, 3, false) // ends it
	r := startService(t, "-c", job)
	all := awaitCertificates(t, address, 2, r)
	r.end(t)
	for i, want := range []struct{ rows, bad int64 }{{150, 1}, {20 + 120, 2}} {
		if l := all[i].Ledger; l.Rows != want.rows || l.Bad != want.bad {
			t.Errorf("window %d has %d rows, %d of them bad, want %+v", i, l.Rows, l.Bad, want)
		}
	}
	if n := committed(t, c, "timed-dead"); n != 3 {
		t.Errorf("%d dead letters, want 3", n)
	}
}
