package kafkalog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/broker"
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
		if err != nil {
			b.Fatal(err)
		}
		if err := block.write(f, 0); err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/MaxSegmentRows, "bytes/row")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MaxSegmentRows, "ns/row")
}
