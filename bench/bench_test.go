package main

import (
	"maps"
	"testing"
)

func TestParseBenchmark(t *testing.T) {
	got, ok := parseBenchmark("BenchmarkGemm/n=100-2   \t    1234\t      5678 ns/op\t         9.5 GFLOP/s\n")
	if want := map[string]float64{"ns/op": 5678, "GFLOP/s": 9.5}; !ok || !maps.Equal(got, want) {
		t.Errorf("parseBenchmark = %v, %t, want %v", got, ok, want)
	}
	for _, line := range []string{"PASS", "ok  \tx\t1s", "BenchmarkGemm", "cpu: Some Processor"} {
		if got, ok := parseBenchmark(line); ok {
			t.Errorf("parseBenchmark(%q) = %v", line, got)
		}
	}
}

func TestRatioIsTakenWithinRounds(t *testing.T) {
	// The third round ran next to something else: both took longer.
	m := rounds{{"ours": 10, "peer": 20}, {"ours": 11, "peer": 22}, {"ours": 40, "peer": 80}}
	got := m.medianOf(func(r round) float64 { return over(r["peer"], r["ours"]) })
	if got != 2 || m.median("ours") != 11 || m.median("absent") != 0 {
		t.Errorf("ratio %g, ours %g, absent %g, want 2, 11 and 0", got, m.median("ours"), m.median("absent"))
	}
}

func TestMissedTargetsAreBold(t *testing.T) {
	table := newTable("a", "b", "c")
	table.row(ratioCell(0.5, 0.8), ratioCell(0.9, 0.8), ratioCell(0, 0.8))
	if got, want := table.String(), "| a | b | c |\n| --- | --- | --- |\n| **0.50** | 0.90 | – |\n"; got != want {
		t.Errorf("table is\n%s\nwant\n%s", got, want)
	}
}
