package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// store compares reading from an S3 server on this machine, which has to share its processors.
func store(ctx context.Context, b *bench) (string, error) {
	ours, err := b.buildBench(ctx, "./ingest/lake")
	if err != nil {
		return "", err
	}
	server, err := exec.CommandContext(ctx, filepath.Join(".ci", "versitygw")).Output()
	if err != nil {
		return "", fmt.Errorf("versitygw: %w", err)
	}
	environment := []string{"PACSGP_VERSITYGW=" + strings.TrimSpace(string(server))}
	if b.python != "" {
		program, err := filepath.Abs(filepath.Join(peersFolder, "store.py"))
		if err != nil {
			return "", err
		}
		environment = append(environment, "PACSGP_BENCH_PEER="+b.python+" "+program)
	}
	t := newTable("file", "ours, MB/s", "pyarrow by row group", "ratio", "read_table", "ours from a disk")
	for _, name := range []string{"none", "snappy"} {
		var m rounds
		for range b.rounds {
			found, err := ours.run(ctx, "BenchmarkStore/"+name, "1s", environment...)
			if err != nil {
				return "", err
			}
			m = append(m, found)
		}
		speed := func(name string) string { return number(m.median(name), "%.0f") }
		ratio := ratioCell(m.medianOf(func(r round) float64 { return over(r["MB/s"], r["row-group"]) }), 1)
		t.row(name, speed("MB/s"), speed("row-group"), ratio, speed("read_table"), speed("disk-MB/s"))
	}
	return "10⁶ bytes of float64 a second from versitygw on the same machine, by one reader; pyarrow takes as many threads as it likes.\n\n" + t.String(), nil
}
