package certify

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// misses are k losses of 1 among n.
func misses(t *testing.T, k, n int64) RiskSum {
	t.Helper()
	var s RiskSum
	fatal.If(t, json.Unmarshal(fmt.Appendf(nil, `{"n": %d, "sum": "%032x"}`, n, new128(k)), &s))
	return s
}

// new128 is k in units of 2⁻⁶⁰, big-endian.
func new128(k int64) []byte {
	var b [16]byte
	for i, v := range []uint64{uint64(k) >> 4, uint64(k) << 60} {
		for j := range 8 {
			b[8*i+j] = byte(v >> (56 - 8*j))
		}
	}
	return b[:]
}

// One-sided against roots of 40 digits from an independent tool, and not loose.
func TestNextBoundIsSoundOnVectors(t *testing.T) {
	for _, v := range fewer(readVectors(t, "next.csv", 100)) {
		n, k, delta := int64(number(t, v["n"])), int64(number(t, v["losses"])), number(t, v["delta"])
		got, err := NextBound(misses(t, k, n), delta)
		fatal.If(t, err)
		errsUp(t, got, truth(t, v["bound"]), 1e-12, 0, "the bound of %d of %d at delta %g", k, n, delta)
	}
}

func TestNextBoundRefuses(t *testing.T) {
	for _, delta := range []float64{0, 1, -1, math.NaN()} {
		if b, err := NextBound(misses(t, 1, 2), delta); err == nil {
			t.Errorf("delta %g: %g", delta, b)
		}
	}
	if b, err := NextBound(RiskSum{}, .01); err == nil {
		t.Errorf("no row: %g", b)
	}
}

// nextEvidence is the logarithm of the mixture, in plain float64.
func nextEvidence(k, n, p float64) float64 {
	var sum float64
	for _, r := range nextRates() {
		sum += math.Exp(-r*k - n*math.Log1p(p*math.Expm1(-r)))
	}
	return math.Log(sum / 16)
}

// chances are the chance of a miss given the rows before: independent rows, rows that come in
// spells, and rows whose chance falls after each miss. None exceeds its first argument.
var chances = map[string]func(bound, now float64, t, since int) float64{
	"independent": func(bound, _ float64, _, _ int) float64 { return bound },
	"in spells":   func(bound, _ float64, t, _ int) float64 { return bound * float64(t/50%2) },
	"after a miss": func(bound, _ float64, _, since int) float64 {
		if since < 20 {
			return bound
		}
		return bound / 8
	},
	"adversary": func(bound, now float64, _, _ int) float64 { // stops while it is ahead
		if now < 1 {
			return bound / 3
		}
		return bound
	},
}

// A reader who checks after every row and stops at the worst one is wrong with probability δ at most,
// whether or not rows depend on each other.
func TestNextBoundHoldsAtEveryRow(t *testing.T) {
	const delta, runs, rows = .05, 200, 1500
	for name, chance := range chances {
		rng := rand.New(rand.NewPCG(27, 1))
		failed := 0
		for range runs {
			k, p, since := 0., 0., 1000
			for i := range rows {
				now := chance(.05, p/max(k, 1), i, since)
				p += now
				if since++; rng.Float64() < now {
					k, since = k+1, 0
				}
				if n := float64(i + 1); p > k && nextEvidence(k, n, p/n) >= math.Log(1/delta) {
					failed++
					break
				}
			}
		}
		if rate := float64(failed) / runs; rate > delta+2.5*math.Sqrt(delta/runs) {
			t.Errorf("%s: wrong at some row in %.3f of the runs, delta is %g", name, rate, delta)
		}
	}
}

// What bets are worth is never above the exact number, and hardly below it.
func TestBetsAreSoundOnVectors(t *testing.T) {
	miss := func(i, seed, rate int) uint64 {
		if (i*i*7919+i*104729+seed)%1009 < rate {
			return UnitsPerLoss
		}
		return 0
	}
	for _, v := range readVectors(t, "bets.csv", 20) {
		first, n, want := number(t, v["first"]), int(number(t, v["n"])), truth(t, v["worth"])
		second := int(number(t, v["second"]))
		a, err := NewAlarm(min(first, 1), leastError)
		fatal.If(t, err)
		for i := range n {
			loss := miss(i, 17, second)
			if loss == 0 && first == .3 {
				loss = uint64(i%4) * UnitsPerLoss / 8
			}
			if err = a.Add([]uint64{loss}); err != nil {
				t.Fatal(err)
			}
		}
		got := a.Worth
		if above(got*(1-1e-15), want) {
			t.Errorf("%v: unsound: %.18g is above %s", v, got, v["worth"])
		}
		if nearest, _ := want.Float64(); got < nearest*(1-1e-11) {
			t.Errorf("%v: %.18g is far below %s", v, got, v["worth"])
		}
	}
}

// An alarm whose bound holds at every row is ever raised with probability δ at most, however often one checks
// and when.
func TestAlarmIsRarelyFalse(t *testing.T) {
	const bound, delta, runs, rows = .05, .05, 400, 4000
	for name, chance := range chances {
		rng := rand.New(rand.NewPCG(27, 2))
		raised := 0
		for range runs {
			a, err := NewAlarm(bound, delta)
			fatal.If(t, err)
			since := 1000
			for i := range rows {
				loss := uint64(0)
				if since++; rng.Float64() < chance(bound, a.Worth, i, since) {
					loss, since = UnitsPerLoss, 0
				}
				fatal.If(t, a.Add([]uint64{loss}))
			}
			if a.Raised > 0 {
				raised++
			}
		}
		if rate := float64(raised) / runs; rate > delta+2.5*math.Sqrt(delta/runs) {
			t.Errorf("%s: raised in %.3f of the runs, delta is %g", name, rate, delta)
		}
	}
}

// days are mean losses of days of 55 rows, of which one in five is bad and has all misses.
func days(rng *rand.Rand, risk float64, rows []uint64) (mean uint64) {
	if rng.Float64() >= .2 {
		risk = 0
	}
	var sum RiskSum
	for i := range rows {
		if rows[i] = 0; rng.Float64() < 5*risk {
			rows[i] = UnitsPerLoss
		}
		_ = sum.AddUnits(rows[i])
	}
	mean, _ = sum.MeanUnits()
	return mean
}

// Where the rows of a day depend on each other, an alarm on days is false with probability δ at most,
// and one on rows is nearly always raised: it is right about the bad days.
func TestAlarmOnDays(t *testing.T) {
	const bound, delta, years = .05, .01, 500
	rng := rand.New(rand.NewPCG(27, 5))
	byDays, byRows := 0, 0
	rows := make([]uint64, 55)
	for range years {
		onDays, err := NewAlarm(bound, delta)
		fatal.If(t, err)
		onRows, err := NewAlarm(bound, delta)
		fatal.If(t, err)
		for range 365 {
			mean := days(rng, bound, rows)
			fatal.If(t, errors.Join(onDays.Add([]uint64{mean}), onRows.Add(rows)))
		}
		byDays, byRows = byDays+int(min(1, onDays.Raised)), byRows+int(min(1, onRows.Raised))
	}
	t.Logf("%d years: %d alarms on days, %d on rows", years, byDays, byRows)
	if float64(byDays) > delta*years+3*math.Sqrt(delta*years) || byRows < years/2 {
		t.Errorf("in %d years %d alarms on days, of %g, and %d on rows", years, byDays, delta*years, byRows)
	}
}

// The line of days until the alarm in docs/explanation/theory.md.
func TestAlarmDelaysOnDays(t *testing.T) {
	const bound, runs = .05, 100
	rng := rand.New(rand.NewPCG(27, 6))
	rows, line := make([]uint64, 55), fmt.Sprintf("| %v |", bound)
	for _, before := range []int64{0, 365} {
		for _, times := range []float64{1.5, 2, 4} {
			var all []int64
			for range runs {
				a, err := NewAlarm(bound, .01)
				for err == nil && a.Raised == 0 {
					risk := .8 * bound
					if a.Rows >= before {
						risk = times * bound
					}
					err = a.Add([]uint64{days(rng, risk, rows)})
				}
				fatal.If(t, err)
				all = append(all, a.Raised-before)
			}
			slices.Sort(all)
			line += fmt.Sprintf(" %d, %d |", all[runs/2], all[runs*9/10])
		}
	}
	text, err := os.ReadFile("../docs/explanation/theory.md")
	fatal.If(t, err)
	if !strings.Contains(string(text), line) {
		t.Errorf("docs/explanation/theory.md has another line of delays than\n%s", line)
	}
}

// delay is how many rows after a change an alarm at δ = 0.01 is raised, of a risk that was 0.8 times the
// bound before.
func delay(t *testing.T, bound, times float64, before int, rng *rand.Rand) int {
	t.Helper()
	a, err := NewAlarm(bound, .01)
	fatal.If(t, err)
	losses := make([]uint64, 500)
	for at := 0; a.Raised == 0; at += len(losses) {
		for i := range losses {
			risk := .8 * bound
			if at+i >= before {
				risk = times * bound
			}
			if losses[i] = 0; rng.Float64() < risk {
				losses[i] = UnitsPerLoss
			}
		}
		fatal.If(t, a.Add(losses))
	}
	return int(a.Raised) - before
}

// The table of delays in docs/explanation/theory.md.
func TestAlarmDelays(t *testing.T) {
	if testing.Short() {
		t.Skip("some million rows, for a minute: the nightly suite has them")
	}
	const runs = 60
	rng := rand.New(rand.NewPCG(27, 3))
	var table strings.Builder
	for _, bound := range []float64{.01, .05, .2} {
		fmt.Fprintf(&table, "| %v |", bound)
		for _, before := range []int{0, 20_000} {
			for _, times := range []float64{1.5, 2, 4} {
				var all []int
				for range runs {
					all = append(all, delay(t, bound, times, before, rng))
				}
				slices.Sort(all)
				fmt.Fprintf(&table, " %d, %d |", all[runs/2], all[runs*9/10])
			}
		}
		table.WriteString("\n")
	}
	text, err := os.ReadFile("../docs/explanation/theory.md")
	fatal.If(t, err)
	if !strings.Contains(string(text), table.String()) {
		t.Errorf("docs/explanation/theory.md has another table of delays than\n%s", table.String())
	}
}

// A state that was written and read goes on to the same bits, and a damaged one is refused.
func TestTestsOfRowsAreResumed(t *testing.T) {
	losses := make([]uint64, 1000)
	for i := range losses {
		losses[i] = uint64(i*i%7) * (UnitsPerLoss / 90)
	}
	whole, err := NewAlarm(.05, .01)
	fatal.If(t, err)
	parts := Alarm{Bound: .05, Delta: .01, Stakes: slices.Clone(whole.Stakes), Worth: 1}
	fatal.If(t, whole.Add(losses))
	for part := range slices.Chunk(losses, 7) {
		fatal.If(t, parts.Add(part))
		text, err := json.Marshal(parts)
		fatal.If(t, err)
		parts = Alarm{}
		if err := json.Unmarshal(text, &parts); err != nil || parts.Validate() != nil {
			t.Fatal(err, parts.Validate())
		}
	}
	one, err := json.Marshal(whole)
	fatal.If(t, err)
	if other, err := json.Marshal(parts); err != nil || string(one) != string(other) {
		t.Errorf("%s in one go, %s in parts, %v", one, other, err)
	}
	for _, damaged := range []Alarm{
		{Bound: 0, Delta: .01, Stakes: whole.Stakes},
		{Bound: math.NaN(), Delta: .01, Stakes: whole.Stakes},
		{Bound: .05, Delta: 0, Stakes: whole.Stakes},
		{Bound: .05, Delta: .01, Stakes: whole.Stakes[1:]},
		{Bound: .05, Delta: .01, Stakes: slices.Repeat([]float64{math.Inf(1)}, 5)},
		{Bound: .05, Delta: .01, Stakes: whole.Stakes, Raised: 3},
	} {
		if damaged.Validate() == nil {
			t.Errorf("%+v is valid", damaged)
		}
	}
	if err := whole.Add([]uint64{UnitsPerLoss + 1}); err == nil {
		t.Error("a loss above 1 is added")
	}
}
