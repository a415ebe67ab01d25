package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Rows a second of score, by models of several numbers of inducing points: a larger one, as default
// training chooses for tens of thousands of rows, takes more of the time.
//
//	go test ./cmd/pacsgp -run - -bench Score
func BenchmarkScoreFiles(b *testing.B) {
	perModel(b, func(b *testing.B, dir string, rows int64) (text string) {
		fatal.If(b, smallRows(b).WriteLake(b.Context(), filepath.Join(dir, "new"), 8, 5000, rows))
		return "source: {paths: [new]}\noutput: scored%d\n"
	})
}

// The same of a topic.
func BenchmarkScoreTopic(b *testing.B) {
	perModel(b, func(b *testing.B, _ string, rows int64) (text string) {
		s, _ := apache.Lend(b)
		createTopic(b, s.Address, "features", 2)
		createTopic(b, s.Address, "predictions", 2)
		records := make([]*kgo.Record, rows)
		for i := range records {
			records[i] = &kgo.Record{Topic: "features", Partition: int32(i % 2), Value: fmt.Appendf(nil, `{"x1":%v,"x2":%v}`, float64(i%9973)/9973, float64(i%9901)/9901)}
		}
		send(b, s.Address, records...)
		return fmt.Sprintf("kafka: {brokers: [%q]}\nsource: {kafka: {topic: features, group: bench%%d}}\noutput: {kafka: predictions}\n", s.Address)
	})
}

// perModel scores rows that begin has written, by a score file that takes a number.
func perModel(b *testing.B, begin func(b *testing.B, dir string, rows int64) (text string)) {
	const rows = 1_000_000
	for _, inducing := range []int{200, 1000} {
		if inducing > 200 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprintf("M=%d", inducing), func(b *testing.B) {
			dir, n := b.TempDir(), 0
			fatal.If(b, smallRows(b).WriteLake(b.Context(), filepath.Join(dir, "lake"), 1, 0, 8000))
			succeed(b, "train", "-c", tiny(jobFile{"inducing": fmt.Sprint(inducing)}).write(b, dir))
			text, w, path := begin(b, dir, rows), testSystem(discard{}, discard{}, plain()), filepath.Join(dir, "score.yaml")
			for b.Loop() {
				n++
				writeFile(b, path, fmt.Appendf(nil, "model: out\n"+text, n))
				c, err := config.ReadScore(b.Context(), path, w.environment())
				fatal.If(b, err)
				fatal.If(b, runScore(b.Context(), w, c, "", true))
			}
			b.ReportMetric(float64(rows*n)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
