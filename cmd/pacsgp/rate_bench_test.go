package main

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
)

// BenchmarkStreamRate is a stream of windows of 250,000 rows of two features, JSON, from
// three partitions, with 100 inducing points, against Apache Kafka on the same machine:
//
//   - backlog: all rows of eight windows are there when it starts. rows/s counts from its start
//     to the last certificate.
//
//   - paced: 50,000 rows come a second while it runs. unread-rows is the most that was on the
//     topic and in no spool, uncommitted-rows the most that was in no published certificate,
//     and s/window the mean time from the last row of a window to its certificate.
//
//     go test ./cmd/pacsgp -run - -bench StreamRate -benchtime 1x
func BenchmarkStreamRate(b *testing.B) {
	for name, rate := range map[string]int{"backlog": 0, "paced": 50_000} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				measureRate(b, rate)
			}
		})
	}
}

func measureRate(b *testing.B, rate int) {
	const windows = 8
	rows, address := 250_000, ""
	if testing.Short() {
		rows, address = 2_000, seededTopics(b)
	} else {
		address = brokertest.Start(b, brokertest.Options{}).Address
	}
	createTopic(b, address, "rows", 3)
	job := serviceJob(b, address, b.TempDir(), jobFile{
		"kafka": fmt.Sprintf("{brokers: [%q]}", address), "source": fmt.Sprintf("{kafka: {topic: rows, group: trainers, rows: %d}, spool: {limit: 500MB}}", rows),
		"inducing": "100", "train": "{}", "duplicates": "keep", "serve": "{listen: 127.0.0.1:0}", "publish": "{kafka: {name: rate}}",
	})
	succeed(b, "topics", "-c", job)
	sent := &atomic.Int64{}
	if rate == 0 {
		produce(b, address, windows*rows, 0, sent)
	}
	began := time.Now()
	r := startService(b, "-c", job)
	metrics := r.find(b, `metrics at (127\.0\.0\.1:[0-9]+)`)
	if rate > 0 {
		go produce(b, address, windows*rows, rate, sent)
	}
	unread, uncommitted := 0.0, 0.0
	var now map[string]float64
	for until := time.Now().Add(10 * time.Minute); now["pacsgp_certificate_latency_seconds_count"] < windows; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			b.Fatalf("%v windows in ten minutes: %s", now["pacsgp_certificate_latency_seconds_count"], r.says())
		}
		there := float64(sent.Load())
		now = scrape(b, metrics)
		unread = max(unread, there-now["pacsgp_spooled_rows_total"])
		uncommitted = max(uncommitted, there-float64(rows)*now["pacsgp_certificate_latency_seconds_count"])
	}
	took := time.Since(began).Seconds()
	r.stop()
	<-r.done
	if r.err != nil {
		b.Fatal(r.err)
	}
	if rate == 0 {
		b.ReportMetric(float64(windows*rows)/took, "rows/s")
		return
	}
	b.ReportMetric(unread, "unread-rows")
	b.ReportMetric(uncommitted, "uncommitted-rows")
	b.ReportMetric(now["pacsgp_certificate_latency_seconds_sum"]/windows, "s/window")
}
