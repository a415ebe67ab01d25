package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// TestServiceByTime: windows of record time end at the first record that is late enough,
// those with too few rows go on, the clock of this machine does not matter, and bad rows
// are counted by window and sent to their topic.
func TestServiceByTime(t *testing.T) {
	c := smallTopic(t)
	address := c.ListenAddrs()[0]
	createTopic(t, address, "timed", 3)
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("timed"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	fatal.If(t, err)
	defer client.Close()
	g, err := synth.New(synth.Config{Seed: smallSeed, Noise: 0.1, Features: 2})
	fatal.If(t, err)
	sent := 0
	send := func(hour float64, n int, bad bool) { // records of an hour long ago, a second apart
		t.Helper()
		began := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(hour * float64(time.Hour)))
		var records []*kgo.Record
		rows := g.Rows(int64(sent), n)
		for i := range n {
			value := fmt.Sprintf(`{"x1":%v,"in":{"x2":%v},"y":%v}`, rows[0][i], rows[1][i], rows[2][i])
			if bad && i == n/2 {
				value = `{"x1":null,"in":{"x2":1},"y":1}`
			}
			records = append(records, &kgo.Record{Partition: int32(i % 3), Value: []byte(value), Timestamp: began.Add(time.Duration(i) * time.Second)})
		}
		sent += n
		fatal.If(t, client.ProduceSync(t.Context(), records...).FirstErr())
	}
	job := serviceJob(t, address, t.TempDir(), jobFile{
		"source": fmt.Sprintf("{kafka: {brokers: [%q], topic: timed, group: trainers, for: 1h, spool: {limit: 10MB}}}", address),
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
