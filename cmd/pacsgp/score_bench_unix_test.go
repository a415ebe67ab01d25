//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// Rows a second of score, of the model alone and of the source alone: what the first has of
// the lesser of the others is printed as of-lesser. The times of the three alternate, so
// that they have the same of the machine. How much of the processors each takes for a row is
// printed too, and what the broker takes, which runs on the same ones. A larger model, as
// default training chooses for tens of thousands of rows, takes more of the time.
//
//	go test ./cmd/pacsgp -run - -bench Score
func BenchmarkScoreFiles(b *testing.B) { perModel(b, scoreFiles) }

func scoreFiles(b *testing.B, inducing, rows int) {
	dir, file := scoredBy(b, inducing, 8, int64(rows/8))
	w := testSystem(discard{}, discard{}, plain())
	c, err := loadScore(b.Context(), file, w)
	fatal.If(b, err)
	n := 0
	compareWays(
		b, rows, nil, way{"model", modelAlone(b, dir, rows, c.Resources().Workers)},
		way{"source", filesAlone(b, dir, c.Resources().Workers)},
		way{"score", func() {
			n++
			c.Output.Folder = filepath.Join(dir, fmt.Sprintf("scored%d", n))
			fatal.If(b, runScore(b.Context(), w, c, "", true))
		}})
}

// The same of a topic on a broker of its own.
func BenchmarkScoreTopic(b *testing.B) { perModel(b, scoreTopic) }

func scoreTopic(b *testing.B, inducing, rows int) {
	s := brokertest.Start(b, brokertest.Options{})
	dir, _ := scoredBy(b, inducing, 1, 40)
	client := own(b, s.Address)
	createTopic(b, s.Address, "features", 2)
	createTopic(b, s.Address, "predictions", 2)
	fillFeatures(b, s.Address, rows)
	w := testSystem(discard{}, discard{}, plain())
	n := 0
	ways := []way{
		{"model", modelAlone(b, dir, rows, runtime.GOMAXPROCS(0))},
		{"source", func() {
			cfg := kafkalog.Config{Client: client, Topic: "features", Columns: []string{"x1", "x2"}}
			decoders, err := cfg.Decoders(b.Context(), 1)
			fatal.If(b, err)
			err = cfg.Follow(b.Context(), nil, true, func(t kafkalog.Batch) error {
				found, err := decoders[0].Rows(t.Records)
				if err == nil {
					found.Batch.Release()
				}
				return err
			})
			fatal.If(b, err)
		}},
	}
	ways = append(ways, way{"score", func() {
		n++
		path := filepath.Join(dir, "bench.yaml")
		writeFile(b, path, fmt.Appendf(nil, "model: out\nkafka: {brokers: [%q]}\nsource: {kafka: {topic: features, group: bench%d}}\noutput: {kafka: predictions}\n", s.Address, n))
		c, err := loadScore(b.Context(), path, w)
		if err == nil {
			err = runScore(b.Context(), w, c, "", true)
		}
		fatal.If(b, err)
	}})
	compareWays(b, rows, s.Processor, ways...)
}

// perModel measures with models of several numbers of inducing points.
func perModel(b *testing.B, run func(b *testing.B, inducing, rows int)) {
	for _, inducing := range []int{200, 1000} {
		if inducing == 200 || !testing.Short() {
			b.Run(fmt.Sprintf("M=%d", inducing), func(b *testing.B) { run(b, inducing, 1_000_000) })
		}
	}
}

// A way is something that is done with all rows.
type way struct {
	name string
	run  func()
}

// compareWays runs the ways in turns: the first two alone, then those that are compared.
// broker is what the broker has used of the processors; nil: there is none.
func compareWays(b *testing.B, rows int, broker func() time.Duration, ways ...way) {
	type use struct{ clock, own, broker time.Duration }
	now := func() use {
		u := use{own: processorTime(b)}
		if broker != nil {
			u.broker = broker()
		}
		return u
	}
	used := make([]use, len(ways))
	times := 0
	for b.Loop() {
		for i, one := range ways {
			before, began := now(), time.Now()
			one.run()
			took, after := time.Since(began), now()
			used[i] = use{used[i].clock + took, used[i].own + after.own - before.own, used[i].broker + after.broker - before.broker}
		}
		times++
	}
	all := float64(rows * times)
	rate := func(i int) float64 { return all / used[i].clock.Seconds() }
	for i, one := range ways {
		b.ReportMetric(rate(i), one.name+"-rows/s")
		b.ReportMetric(used[i].own.Seconds()/all*1e6, one.name+"-processor-µs/row")
		if broker != nil && i > 0 {
			b.ReportMetric(used[i].broker.Seconds()/all*1e6, one.name+"-broker-µs/row")
		}
		if i > 1 {
			b.ReportMetric(rate(i)/min(rate(0), rate(1)), one.name+"-of-lesser")
		}
	}
}

// scoredBy is a folder with a model of so many inducing points and rows to score in new/.
func scoredBy(b *testing.B, inducing, files int, rows int64) (dir, score string) {
	dir = b.TempDir()
	g := smallRows(b)
	fatal.If(b, errors.Join(g.WriteLake(b.Context(), filepath.Join(dir, "lake"), 1, 0, 8000), g.WriteLake(b.Context(), filepath.Join(dir, "new"), files, 5000, rows*int64(files))))
	succeed(b, "train", "-c", tiny(jobFile{"inducing": fmt.Sprint(inducing)}).write(b, dir))
	score = filepath.Join(dir, "score.yaml")
	writeFile(b, score, []byte("model: out\nsource: {paths: [new]}\noutput: scored\n"))
	return dir, score
}

// modelAlone predicts as many rows from memory.
func modelAlone(b *testing.B, dir string, rows, workers int) func() {
	f := score.NewFollower(score.Config{Pointers: config.FolderPointers(filepath.Join(dir, "out")), Ready: score.Verified(job.Resources{Workers: workers})})
	by, err := f.Follow(b.Context(), func(pass.Model) error { return nil })
	fatal.If(b, err)
	b.Cleanup(f.Close)
	const batch = 8192
	records := ingest.NewRecords([]string{"x1", "x2"}, ingest.Mark, nil)
	block := records.Block(batch)
	for i := range batch {
		block.Columns[0][i], block.Columns[1][i] = float64(i%97)/97, float64(i%89)/89
	}
	record := records.New(block, nil)
	b.Cleanup(record.Release)
	var space []pipeline.Prediction
	return func() {
		for left := rows; left > 0; left -= batch {
			var err error
			if space, err = by.Ready.Batch(record, space[:0]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// filesAlone reads the files.
func filesAlone(b *testing.B, dir string, workers int) func() {
	return func() {
		src, err := config.Lake{filepath.Join(dir, "new")}.Open(b.Context(), dataset.Choice{Features: []string{"x1", "x2"}, Mark: true, Decoders: workers, NoDigests: true})
		fatal.If(b, err)
		readAll(b, src)
	}
}

// readAll reads a source as predicting does.
func readAll(b *testing.B, src dataset.Source) {
	for i := range src.Shards() {
		batches, err := src.Open(b.Context(), i)
		fatal.If(b, err)
		for {
			record, err := batches.Next(b.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			fatal.If(b, err)
			record.Release()
		}
		fatal.If(b, batches.Close())
	}
}

// fillFeatures fills the topic of rows.
func fillFeatures(b *testing.B, address string, rows int) {
	records := make([]*kgo.Record, rows)
	for i := range records {
		records[i] = &kgo.Record{Topic: "features", Partition: int32(i % 2), Value: fmt.Appendf(nil, `{"x1":%v,"x2":%v}`, float64(i%9973)/9973, float64(i%9901)/9901)}
	}
	send(b, address, records...)
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var use syscall.Rusage
	fatal.If(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
