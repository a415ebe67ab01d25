package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// TestStreamIsFlat: rows at full speed, with -soak millions, through a stream of its own
// process: memory, goroutines and files stay as they are after the first windows, and the
// spools keep within their disk.
func TestStreamIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("twenty windows of a stream")
	}
	total := 100_000
	if *soak {
		total = 10_000_000
	}
	if n, err := strconv.Atoi(os.Getenv("PACSGP_SOAK_ROWS")); err == nil {
		total = n
	}
	const limit = 200e6
	rows := total / 20 // of a window
	s, _ := apache.Lend(t)
	createTopic(t, s.Address, "rows", 3)
	dir := t.TempDir()
	job := serviceJob(t, s.Address, dir, jobFile{
		"kafka": fmt.Sprintf("{brokers: [%q]}", s.Address), "source": fmt.Sprintf("{kafka: {topic: rows, group: trainers, rows: %d}, spool: {limit: 200MB}}", rows),
		"inducing": "10", "train": "{passes: 0.1}", "duplicates": "keep", "memory": "64MiB", "serve": "{listen: 127.0.0.1:0}",
	})
	succeed(t, "topics", "-c", job)
	run := exec.CommandContext(t.Context(), os.Args[0]) // without the patience of child
	run.Env = append(os.Environ(), fmt.Sprintf(`%s={"Args":["stream","-c",%q]}`, childVariable, job))
	said := &utterances{}
	run.Stderr = said
	fatal.If(t, run.Start())
	t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	began := time.Now()
	go produce(t, s.Address, total, 0, new(atomic.Int64))
	address := said.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
	var flat map[string]float64 // after some windows
	most := 0.0                 // of the spools
	reported := -1.0
	for done := 0.0; done < 19; time.Sleep(200 * time.Millisecond) {
		if time.Since(began) > time.Hour {
			t.Fatalf("%v windows in an hour", done)
		}
		now := scrape(t, address)
		most = max(most, now["pacsgp_spool_bytes"])
		if done = now["pacsgp_certificate_latency_seconds_count"]; done == reported {
			continue
		}
		reported = done
		t.Logf("after %2.0f windows, %4.0f s: %4.0f MB resident, %3.0f goroutines, %2.0f files, spools %3.0f MB, lag %8.0f offsets, latency %.1f s on average", done, time.Since(began).Seconds(),
			now["process_resident_memory_bytes"]/1e6, now["go_goroutines"], now["process_open_fds"], now["pacsgp_spool_bytes"]/1e6, now["pacsgp_group_lag_offsets"],
			now["pacsgp_certificate_latency_seconds_sum"]/max(1, done))
		if done < 5 {
			continue
		}
		if flat == nil {
			flat = now
		}
		for name, room := range map[string]float64{"process_resident_memory_bytes": 96e6, "go_goroutines": 30, "process_open_fds": 30} {
			if now[name] > flat[name]+room {
				t.Errorf("after %v windows %s is %v, and was %v after five", done, name, now[name], flat[name])
			}
		}
	}
	if most > limit*1.25 { // by a few segments
		t.Errorf("the spools had %.0f MB", most/1e6)
	}
	took := time.Since(began).Seconds()
	t.Logf("%d rows in %.0f s, %.0f rows a second from the topic to the certificate; the spools had %.0f MB at most", total*19/20, took, float64(total)*19/20/took, most/1e6)
}

// produce sends rows of the generator, as fast as it can or, if rate is not 0, so many a
// second. sent receives how many there are on the topic.
func produce(t testing.TB, address string, total, rate int, sent *atomic.Int64) {
	p := foreign(t, address)
	began := time.Now()
	for first := 0; first < total; {
		n := min(5000, total-first)
		records := recordsOf(t, "rows", int64(first), int64(n))
		if rate > 0 {
			time.Sleep(time.Until(began.Add(time.Duration(first) * time.Second / time.Duration(rate))))
		}
		if err := p.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			if t.Context().Err() == nil {
				t.Error(err)
			}
			return
		}
		first += n
		sent.Store(int64(first))
	}
}
