package main

import (
	"testing"

	"github.com/pacsgp/pacsgp/bench/measured"
)

func TestRatioIsTakenWithinRounds(t *testing.T) {
	// The third round ran next to something else: both took longer.
	m := rounds{{"ours": 10, "peer": 20}, {"ours": 11, "peer": 22}, {"ours": 40, "peer": 80}}
	got := m.medianOf(func(r round) float64 { return over(r["peer"], r["ours"]) })
	if got != 2 || m.median("ours") != 11 || m.median("absent") != 0 {
		t.Errorf("ratio %g, ours %g, absent %g, want 2, 11 and 0", got, m.median("ours"), m.median("absent"))
	}
}

func TestMissedTargetsAreBold(t *testing.T) {
	table := measured.Table{{"a", "b", "c"}}
	table.Add(ratioCell(0.5, 0.8), ratioCell(0.9, 0.8), ratioCell(0, 0.8))
	if got, want := table.String(), "| a | b | c |\n|--|--|--|\n| **0.50** | 0.90 | – |\n"; got != want {
		t.Errorf("table is\n%s\nwant\n%s", got, want)
	}
}
