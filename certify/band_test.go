package certify

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var runs = flag.Int("runs", 400, "samples of the simulation of bands")

// Limits and the probability that one of them fails against those of an independent tool, by another recursion.
func TestBandIsSoundOnVectors(t *testing.T) {
	ratioed := func(v map[string]string) (n int64, part, level float64) {
		return int64(number(t, v["n"])), number(t, v["part"]), number(t, v["part"]) / number(t, v["ratio"])
	}
	for _, v := range readVectors(t, "bandlimits.csv", 20) {
		n, _, level := ratioed(v)
		ranks := bandRanks(n)
		at := slices.Index(ranks, int64(number(t, v["k"])))
		got := newTails(n, ranks).limits(level)[at]
		if want, _ := truth(t, v["limit"]).Float64(); !(math.Abs(got/want-1) <= 1e-13) {
			t.Errorf("limit %s of %d at level %g is %.17g, want %.17g", v["k"], n, level, got, want)
		}
	}
	for _, v := range readVectors(t, "crossings.csv", 9) {
		n, part, level := ratioed(v)
		var ranks []int64
		for k, step := int64(0), int64(number(t, v["step"])); k < n/2; k += step {
			ranks = append(ranks, k)
		}
		tails := newTails(n, append(ranks, n/2))
		got := tails.crossing(tails.limits(level), part)
		if want, _ := truth(t, v["probability"]).Float64(); !(math.Abs(got/want-1) <= 1e-9) {
			t.Errorf("%d draws at level %g fail with probability %.15g, want %.15g", n, level, got, want)
		}
	}
}

// The exact ratios of the part to the level, with all ranks up to a half, are known from an
// independent computation.
func TestBandLevels(t *testing.T) {
	for n, want := range map[int64]float64{195: 14.0, 1200: 23.6, 3200: 29.4} {
		ranks := make([]int64, n/2+1)
		for k := range ranks {
			ranks[k] = int64(k)
		}
		part, tails := 0.01, newTails(n, ranks)
		for ratio, passes := range map[float64]bool{want * 1.01: true, want * 0.99: false} {
			if got := tails.crossing(tails.limits(part/ratio), part) <= part; got != passes {
				t.Errorf("%d draws at the ratio %g: passes %t, want %t", n, ratio, got, passes)
			}
		}
	}
	for _, want := range []struct {
		n, k  int64
		limit float64
	}{{195, 10, .1227}, {1200, 10, .0213}, {3200, 38, .0199}} {
		// Of the ratios that are tried the next is up to 4.5 % larger.
		if got := newBand(want.n, .01).limit(want.k); !(want.limit*0.99 < got && got < want.limit*1.01) {
			t.Errorf("%d of %d: %.4f, want %.4f", want.k, want.n, got, want.limit)
		}
	}
}

// With fewer draws beyond, the limit is no larger, and one for a count between ranks is that of the next.
func TestBandLimits(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 10, 700, mostDraws + 1} {
		b := newBand(n, max(1e-4, leastPart(n)))
		if got := b.limit(n/2 + 1); n > 1 && got != 1 {
			t.Errorf("beyond the last rank of %d the limit is %g", n, got)
		}
		last := 0.0
		for _, k := range append(bandRanks(n), n) {
			if got := b.limit(k); !(last < got && got <= 1) || k > 0 && b.limit(k-1) > got {
				t.Errorf("%d of %d: the limit %g is not above %g", k, n, got, last)
			} else {
				last = got
			}
		}
	}
}

// There is a band down to a part of 10⁻ⁿ, and none below it, where limits would be too near to 1 for a
// float64, nor of more rows than anybody waits for.
func TestBandsThatThereAre(t *testing.T) {
	for n := int64(1); n < 230; n += 1 + n/9 {
		least := leastPart(n)
		if b := newBand(n, least); !(0 < b.level && b.level < least && b.limits[len(b.limits)-1] < 1-0x1p-20) {
			t.Errorf("%d draws, part %g: level %g, limits to %g", n, least, b.level, b.limit(n/2))
		}
		if b := newBand(n, least*0.99); b.level != 0 || b.limit(0) != 1 {
			t.Errorf("%d draws, part %g: level %g", n, least*0.99, b.level)
		}
	}
	if b := newBand(mostRows+1, 0.01); b.level != 0 {
		t.Errorf("%g rows give the level %g", mostRows+1, b.level)
	}
}

// Limits of many draws are near 0, and no less precise: the other program holds them to 10⁻¹¹.
func TestBandLimitsOfManyDraws(t *testing.T) {
	for _, n := range []int64{1e5, 1e7, mostRows} {
		got := newTails(n, []int64{0, 1}).limits(1e-5)
		if want := -math.Expm1(math.Log(1e-5) / float64(n)); !(math.Abs(got[0]/want-1) <= 1e-14) {
			t.Errorf("the limit of none of %d is %.17g, want %.17g", n, got[0], want)
		}
		x := float64(n) * got[1] // (1−p)ⁿ(1 + np/(1−p)) = level
		if off := float64(n)*math.Log1p(-got[1]) + math.Log1p(x/(1-got[1])) - math.Log(1e-5); !(math.Abs(off) <= 1e-12) {
			t.Errorf("1 of %d at %.17g: ln of the tail is off by %g", n, got[1], off)
		}
	}
}

// How often some limit fails, over samples of uniform numbers: within the binomial error of the part, and not
// far below it.
func TestBandIsCovered(t *testing.T) {
	const n, part = 120, 0.1
	b, rng, failed := newBand(n, part), rand.New(rand.NewPCG(1, 2)), 0
	draws := make([]float64, n)
	for range *runs {
		for i := range draws {
			draws[i] = rng.Float64()
		}
		slices.Sort(draws)
		// With k draws beyond a threshold, it is nearly the one of rank k+1 from above.
		if slices.ContainsFunc(b.ranks, func(k int64) bool { return draws[k] > b.limit(k) }) {
			failed++
		}
	}
	expected, room := part*float64(*runs), 4*math.Sqrt(part*float64(*runs))
	if got := float64(failed); got > expected+room || got < expected/2-room/2 {
		t.Errorf("%d of %d samples fail, want %.0f", failed, *runs, expected)
	}
}

func ExampleCurve_Within() {
	c := Curve{Level: .001, Steps: []Step{{Tolerance: 1, Misses: 40, Bound: .3}, {Tolerance: 4, Misses: 3, Bound: .08}}}
	within, ok := c.Within(0.9)
	fmt.Println(within, ok)
	at, _ := c.At(2)
	fmt.Println(at.Bound)
	// Output:
	// 4 true
	// 0.3
}
