package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/bench/measured"
)

// parquet compares how fast Parquet files become blocks of float64, on one core.
func parquet(ctx context.Context, b *bench) (_ string, err error) {
	ours, err := b.buildBench(ctx, "./ingest/lake")
	if err != nil {
		return "", err
	}
	// Our benchmark writes the files there. Old ones are removed, because its cases may have changed.
	files, err := filepath.Abs(filepath.Join(b.work, "parquet"))
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.RemoveAll(files), os.MkdirAll(files, 0o755)); err != nil {
		return "", err
	}
	pyarrow, err := b.start(ctx, "pyarrow", nil, "parquet.py")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, stop([]*peer{pyarrow})) }()
	t := measured.Table{{"file", "ours, MB/s", "raw pages", "ratio", "pyarrow by row group", "ratio", "pyarrow with checksums", "read_table", "ours with digests"}}
	for _, c := range []struct {
		name     string
		raw, own float64 // targets
	}{{"none", 0.8, 1}, {"snappy", 0.8, 1}, {"zstd", 0.8, 1}, {"gzip", 0.8, 1}, {"snappy-dictionary-optional", 0, 1}} {
		var m rounds
		for range b.rounds {
			found, err := ours.run(ctx, "BenchmarkDecode/"+c.name, "1s", "PACSGP_BENCH_DIR="+files)
			if err != nil {
				return "", err
			}
			if pyarrow != nil { // it adds its own speeds to found
				if err := pyarrow.answer(map[string]any{"path": filepath.Join(files, c.name+".parquet"), "seconds": 1.5}, &found); err != nil {
					return "", err
				}
			}
			m = append(m, found)
		}
		ratio := func(other string, target float64) string {
			return ratioCell(m.medianOf(func(r round) float64 { return over(r["MB/s"], r[other]) }), target)
		}
		speed := func(name string) string { return number(m.median(name), "%.0f") }
		t.Add(c.name, speed("MB/s"), speed("raw-MB/s"), ratio("raw-MB/s", c.raw), speed("row-group"), ratio("row-group", c.own),
			speed("row-group-checked"), speed("read_table"), speed("digest-MB/s"))
	}
	return "10⁶ bytes of float64 a second on one core, from files in the system's cache. Ours checks every value and, where a file has them, its pages' checksums.\n\n" + t.String(), nil
}
