//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// BenchmarkStreamLatency is the time from the last row of a window to its certificate,
// of the second window of a stream: s/latency, and
// the processor time of it, cpu-s/latency. Rows come as fast as they are trained on, but for the last
// ones. The spool of each then goes through a job that trains when all rows are there:
// its training is train-s, and of-train what the latency has of that. Bounds are of a draw of Q.
//
//	go test ./cmd/pacsgp -run - -bench StreamLatency -benchtime 1x
func BenchmarkStreamLatency(b *testing.B) {
	rows := 20_000
	if testing.Short() {
		rows = 600
	}
	for b.Loop() {
		measureLatency(b, rows)
	}
}

func measureLatency(b *testing.B, rows int) {
	address := cluster(b, kfake.SeedTopics(1, "rows")).ListenAddrs()[0]
	g, err := synth.New(synth.Config{Seed: smallSeed, Noise: 0.3, Features: 4})
	fatal.If(b, err)
	sent := 0
	produce := func(n int) {
		records := make([]*kgo.Record, n)
		for i, columns := 0, g.Rows(int64(sent), n); i < n; i++ {
			records[i] = &kgo.Record{Topic: "rows", Value: fmt.Appendf(nil, `{"x1":%v,"x2":%v,"x3":%v,"x4":%v,"y":%v}`, columns[0][i], columns[1][i], columns[2][i], columns[3][i], columns[4][i])}
		}
		send(b, address, records...)
		sent += n
	}
	dir := b.TempDir()
	common := jobFile{
		"target": "y", "features": "[x1, x2, x3, x4]", "loss": "{epsilon: 0.75}", "delta": "0.01", "guarantees": "pac-bayes",
		"roles": fmt.Sprintf("{by: first, reference: %d}", rows/20),
	}
	job := jobFile{
		"kafka": fmt.Sprintf("{brokers: [%q]}", address), "source": fmt.Sprintf("{kafka: {topic: rows, group: trainers, rows: %d, spool: {limit: 100MB, keep: true}}}", rows),
		"publish":      "{kafka: {name: timed}}",
		"delta_policy": "each", "output": "out",
	}
	batch := jobFile{"source": "{paths: [out/window-000000000002/spool]}", "output": "batch"}
	maps.Copy(job, common)
	maps.Copy(batch, common)
	stream := job.write(b, dir)
	succeed(b, "topics", "-c", stream)
	ctx, cancel := context.WithCancel(b.Context())
	said, done := &utterances{}, make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"stream", "-c", stream}, testSystem(said, said, plain(), nil))
	}()
	await := func(number int) {
		text := fmt.Sprintf("published certificate number %d,", number)
		for until := time.Now().Add(10 * time.Minute); !strings.Contains(said.says(), text); time.Sleep(2 * time.Millisecond) {
			if time.Now().After(until) {
				b.Fatalf("no certificate number %d: %s", number, said.says())
			}
		}
	}
	produce(rows)
	await(1)
	last := rows / 64
	produce(rows - last)
	for before, until := time.Duration(-1), time.Now().Add(10*time.Minute); time.Now().Before(until); time.Sleep(time.Second) {
		now := processorTime(b)
		if before >= 0 && now-before < 100*time.Millisecond { // all steps are made
			break
		}
		before = now
	}
	used, began := processorTime(b), time.Now()
	produce(last)
	await(2)
	latency, cpu := time.Since(began).Seconds(), (processorTime(b) - used).Seconds()
	cancel()
	fatal.If(b, <-done)
	got := timedRecord(b, filepath.Join(dir, "out", doneWindow+windowNumber(2)))
	used = processorTime(b)
	lake := batch.write(b, dir)
	pacsgp(b, "train", "-c", lake)
	cpuOfJob := (processorTime(b) - used).Seconds()
	whole := timedRecord(b, filepath.Join(dir, "batch"))
	b.ReportMetric(latency, "s/latency")
	b.ReportMetric(cpu, "cpu-s/latency")
	b.ReportMetric(whole.Diagnostics.TrainSeconds, "train-s")
	b.ReportMetric(cpuOfJob, "cpu-s/job")
	b.ReportMetric(latency/whole.Diagnostics.TrainSeconds, "of-train")
	b.ReportMetric(got.Draw.Bound, "bound")
	b.ReportMetric(whole.Draw.Bound, "bound-of-job")
}

// timedRecord is the record of a run.
func timedRecord(b *testing.B, folder string) (r pipeline.RunRecord) {
	fatal.If(b, json.Unmarshal(readFile(b, filepath.Join(folder, sinklake.RunFile)), &r))
	return r
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var use syscall.Rusage
	fatal.If(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
