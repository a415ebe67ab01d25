package main

import (
	"bytes"
	"image/png"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
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
	// The third round ran beside something else: both took longer.
	m := rounds{{"ours": 10, "peer": 20}, {"ours": 11, "peer": 22}, {"ours": 40, "peer": 80}}
	got := m.medianOf(func(r round) float64 { return over(r["peer"], r["ours"]) })
	if got != 2 || m.median("ours") != 11 || m.median("nobody") != 0 {
		t.Errorf("ratio %g, ours %g, nobody %g, want 2, 11 and 0", got, m.median("ours"), m.median("nobody"))
	}
}

func TestProcessorTime(t *testing.T) {
	before := parseProcessorTime("cpu  100 0 50 800 5 0 5 40 7 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n")
	if want := (processorTime{stolen: 40, all: 1000}); before != want {
		t.Errorf("parseProcessorTime = %v, want %v", before, want)
	}
	after := parseProcessorTime("cpu 150 0 50 820 5 0 5 70 7 0\n")
	if share := after.stolenSince(before); share != 0.3 {
		t.Errorf("share %g, want 0.3", share)
	}
	for _, text := range []string{"", "cpu 1 2 3", "cpu a b c d e f g h", "intr 1 2 3 4 5 6 7 8"} {
		if got := parseProcessorTime(text); got != (processorTime{}) || got.stolenSince(got) != 0 {
			t.Errorf("parseProcessorTime(%q) = %v", text, got)
		}
	}
}

func TestMissedTargetsAreSaid(t *testing.T) {
	table := newTable("a", "b", "c")
	table.row(table.ratio("first", 0.5, 0.8), table.ratio("second", 0.9, 0.8), table.ratio("third", 0, 0.8))
	want := "| a | b | c |\n| --- | --- | --- |\n| **0.50** | 0.90 | – |\n\n**Missed** (in bold): first: 0.50 of 0.8.\n"
	if got := table.String(); got != want {
		t.Errorf("table is\n%s\nwant\n%s", got, want)
	}
}

// The picture of an alarm shows what alarms are worth after each day, until they are raised.
func TestAlarmFigureShowsTheAlarm(t *testing.T) {
	const bound = .05
	rng := rand.New(rand.NewPCG(18, 2))
	all := make([]watchedDay, 2*changeDay)
	for i := range all {
		all[i].home, all[i].stale = make([]uint64, 50), slices.Repeat([]uint64{certify.UnitsPerLoss}, 3)
		for k := range all[i].home {
			if rng.Float64() < bound {
				all[i].home[k] = certify.UnitsPerLoss
			}
		}
	}
	f, err := alarmFigure(all, bound, change{"all are missed", func(d watchedDay) []uint64 { return d.stale }})
	fatal.If(t, err)
	for i, e := range f.lines {
		a, err := certify.NewAlarm(bound, alarmDelta)
		fatal.If(t, err)
		rows := 0
		for k, p := range e.points {
			losses := all[k].home
			if k >= changeDay {
				losses = all[k].stale
			}
			rows += len(losses)
			if i == 1 { // the mean of zeros and ones
				misses := uint64(0)
				for _, loss := range losses {
					misses += loss / certify.UnitsPerLoss
				}
				losses = []uint64{misses * (certify.UnitsPerLoss / 2) / uint64(len(losses)) * 2}
				if misses == uint64(len(all[k].stale)) && k >= changeDay {
					losses = []uint64{certify.UnitsPerLoss}
				}
			}
			fatal.If(t, a.Add(losses))
			if p.X != float64(k) || math.Abs(p.Y-math.Log10(a.Worth)) > 1e-9 {
				t.Fatalf("%s, day %d: it shows %v, the alarm is worth %v", e.name, k, p, a.Worth)
			}
		}
		if last := len(e.points) - 1; e.raised.day != last || last < changeDay || a.Raised == 0 || e.raised.rows > rows || e.raised.rows <= rows-len(all[0].home) {
			t.Errorf("%s: raised on %+v, the last point is %d, and %d rows", e.name, e.raised, last, rows)
		}
	}
	var pictures [2][]byte
	for i := range pictures {
		path := filepath.Join(t.TempDir(), "alarm.png")
		fatal.If(t, save(f.plot(), path))
		var err error
		pictures[i], err = os.ReadFile(path)
		fatal.If(t, err)
	}
	if _, err := png.Decode(bytes.NewReader(pictures[0])); err != nil || !bytes.Equal(pictures[0], pictures[1]) {
		t.Errorf("it is no picture, or another one the second time: %v", err)
	}
}

// Delays count from the change, and a watch with an earlier alarm has none.
func TestAlarmDelaysCountFromTheChange(t *testing.T) {
	all := make([]watchedDay, 2*alarmStarts)
	for i := range all {
		all[i].home, all[i].stale = make([]uint64, 10), slices.Repeat([]uint64{certify.UnitsPerLoss}, 10)
	}
	good, bad := func(d watchedDay) []uint64 { return d.home }, func(d watchedDay) []uint64 { return d.stale }
	for _, c := range []struct {
		unit bool
		of   func(watchedDay) []uint64
		want []string
	}{{false, bad, []string{"0 of 62", "1, 1", "9, 9"}}, {true, bad, []string{"0 of 62", "23, 23", "230, 230"}}, {true, good, []string{"0 of 62", "none, none", "none, none"}}} {
		if got, err := delays(all, .2, c.unit, c.of); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("by days %t: %q, %v, want %q", c.unit, got, err, c.want)
		}
	}
	all[alarmStarts-1].home = slices.Repeat(all[0].stale, 10)
	if got, err := delays(all, .2, false, bad); err != nil || got[0] != "30 of 62" {
		t.Errorf("one bad day is before the change of 30 watches, and %q have an alarm", got)
	}
}
