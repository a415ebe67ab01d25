package kafkalog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// BenchmarkWrite writes a segment of rows of ten numbers to a file of a spool.
func BenchmarkWrite(b *testing.B) {
	names, rows := tenNumbers()
	block := newBlock(Config{Topic: "t", Columns: names})
	for i := range MaxSegmentRows {
		for j, v := range rows[i%len(rows)] {
			block.columns[j] = append(block.columns[j], v+float64(i)*0x1p-40)
		}
		block.place(&broker.Record{Offset: int64(i), Time: 1_700_000_000_000 + int64(i)}, 1)
	}
	path := filepath.Join(b.TempDir(), "segment")
	for b.Loop() {
		f, err := os.Create(path)
		fatal.If(b, err)
		fatal.If(b, block.write(f, 0))
		fatal.If(b, f.Close())
	}
	info, err := os.Stat(path)
	fatal.If(b, err)
	b.ReportMetric(float64(info.Size())/MaxSegmentRows, "bytes/row")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MaxSegmentRows, "ns/row")
}
