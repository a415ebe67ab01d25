package certify

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// spread are so many losses of each value.
func spread(t testing.TB, losses [][2]float64) *Spread {
	t.Helper()
	var all Spread
	for _, l := range losses {
		var one Spread
		fatal.If(t, one.Add(l[0]))
		for at, parts := range one {
			all[at] += parts * uint64(l[1])
		}
	}
	return &all
}

// The bound is the least k/n that is not below the root of the definition, on the losses
// themselves. Between the multiples of 1/1024 it is one-sided, and hardly looser.
func TestBettingUpperIsSoundOnVectors(t *testing.T) {
	for _, row := range readVectors(t, "betting.csv", 100) {
		var losses [][2]float64
		fatal.If(t, json.Unmarshal([]byte(row["losses"]), &losses))
		n := int64(0)
		for _, l := range losses {
			n += int64(l[1])
		}
		got, err := BettingUpper(spread(t, losses), number(t, row["delta"]), Share{})
		fatal.If(t, err)
		limit := truth(t, row["limit"])
		k, _ := new(big.Float).SetPrec(200).Mul(limit, exactInt(n)).Int64()
		if want := stepsUp(k+1, n); exact(got).Cmp(limit) < 0 || row["grid"] == "1" && got != want {
			t.Errorf("%v, delta %s: %v, want %v, the step above %v", row["losses"], row["delta"], got, want, limit)
		}
		loose, _ := empty().Sub(exact(got), limit).Float64()
		if most := 1/float64(n) + 1e-6; !(loose <= most) {
			t.Errorf("%v, delta %s: %v is looser than %v by %g", row["losses"], row["delta"], got, limit, loose)
		}
	}
}

// Of 1,200 losses as those of normal errors: the mean plus a third to a half less than Chernoff's
// bound. Of losses of 0 and 1 the limit of Clopper and Pearson is lower.
func TestBettingIsTight(t *testing.T) {
	const n, delta = 1200, .009
	for _, v := range []struct {
		name              string
		loss              func(e float64) float64
		mean, below, less float64 // less: of what Chernoff's bound adds to the mean
	}{
		{"squared", func(e float64) float64 { return min(1, .1325*e*e) }, .131, .1530, .32},
		{"exponential", func(e float64) float64 { return -math.Expm1(-.1369 * e * e) }, .114, .1305, .43},
	} {
		var lossSum LossSum
		for i := range n {
			e := math.Sqrt2 * math.Erfinv((float64(i)+.5)/n)
			fatal.If(t, lossSum.AddSpread(v.loss(e)))
		}
		got, err := BettingUpper(lossSum.Spread, delta, Share{})
		fatal.If(t, err)
		mean := lossSum.Risk.Upper()
		chernoff, err := HoldoutBound(mean, n, delta)
		fatal.If(t, err)
		if !(math.Abs(mean-v.mean) < .002 && got < v.below && got-mean < (1-v.less)*(chernoff-mean)) {
			t.Errorf("%s: mean %.4f, bound %.4f, Chernoff's %.4f", v.name, mean, got, chernoff)
		}
	}
	missed, err := BettingUpper(Missed(10, n), delta, Share{})
	fatal.If(t, err)
	if limit, err := BinomialUpper(10, n, delta, Share{}); err != nil || !(limit < missed && missed < 1.4*limit) {
		t.Errorf("10 misses: %v, Clopper and Pearson %v (%v)", missed, limit, err)
	}
}

// The mean of losses that were drawn is above its bound no more often than δ says. It is far less
// often where losses are spread, for a bound at every n is used at one; not where few are large.
func TestBettingCovers(t *testing.T) {
	runs := 5000
	if testing.Short() {
		runs = 100
	}
	const n, delta = 120, .3
	random := rand.New(rand.NewPCG(8, 6))
	for _, law := range []struct {
		name  string
		mean  float64
		draw  func() float64
		often float64 // part of δ that it fails at least
	}{
		{"uniform", .5, random.Float64, 0},
		{"square", 1. / 3, func() float64 { u := random.Float64(); return u * u }, 0},
		{"rarely large", .06, func() float64 { return .02 + .8*math.Floor(random.Float64()+.05) }, .02},
		{"hardly ever large", .02, func() float64 { return math.Floor(random.Float64() + .02) }, .1},
	} {
		failed := 0
		for range runs {
			var s Spread
			for range n {
				fatal.If(t, s.Add(law.draw()))
			}
			bound, err := BettingUpper(&s, delta, Share{})
			fatal.If(t, err)
			if bound < law.mean {
				failed++
			}
		}
		few, most := law.often*float64(runs)*delta, float64(runs)*delta+3*math.Sqrt(float64(runs)*delta*(1-delta))
		if f := float64(failed); !(few <= f && f <= most) {
			t.Errorf("%s: the mean is above its bound in %d of %d runs, want %.0f to %.0f", law.name, failed, runs, few, most)
		}
		t.Logf("%s: above in %d of %d runs", law.name, failed, runs)
	}
}

// Spreads add up in any order to the same, keep the mean of losses up to 2⁻²², and merge in their binary form.
func TestSpreadsMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	var whole, one, other LossSum
	for i := range 500 {
		loss := random.Float64()
		if i < 3 {
			loss = float64(i) / 2
		}
		fatal.If(t, whole.AddSpread(loss))
		part := &one
		if i%3 == 0 {
			part = &other
		}
		fatal.If(t, part.AddSpread(loss))
	}
	var units float64
	for at, parts := range whole.Spread {
		units += float64(at) * float64(parts) / spreadCells / spreadParts
	}
	if above := units - whole.Risk.Upper()*500; !(-1e-12 <= above && above <= 500*0x1p-22) {
		t.Errorf("the spread's sum is above that of the losses by %g", above)
	}
	key := LossKey{PredictorMean, SubsetHoldout}
	merged := LossSums{key: &other}.Clone()
	fatal.If(t, merged.Merge(LossSums{key: &one}))
	if *merged[key].Spread != *whole.Spread || *other.Spread == *whole.Spread {
		t.Error("two parts are not the whole, or merging changed one")
	}
	read, err := ReadPart(part(t, merged), 500)
	fatal.If(t, err)
	if *read[key].Spread != *whole.Spread || read[key].Risk != whole.Risk {
		t.Error("the form of parts reads back as something else")
	}
	whole.Spread[7]++
	if _, err := ReadPart(part(t, LossSums{key: &whole}), 500); err == nil {
		t.Error("a spread of parts of a row passes")
	}
	if new(Spread).Add(math.NaN()) == nil || new(Spread).Add(1.1) == nil {
		t.Error("a loss outside [0, 1] passes")
	}
	if _, err := BettingUpper(&Spread{}, .01, Share{}); err == nil {
		t.Error("a bound from no loss")
	}
}

// The float64 logarithm is within its bound of a second implementation.
func TestLnFloat(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 9))
	for range 3000 {
		x := math.Exp(60*random.Float64() - 20)
		if random.IntN(3) == 0 {
			x = 1 + (random.Float64()-.5)*math.Pow(2, -50*random.Float64())
		}
		want := ln(exact(x))
		if off := empty().Sub(exact(lnFloat(x)), want); off.Abs(off).Cmp(empty().Mul(want.Abs(want), pow2(-49))) > 0 {
			t.Errorf("ln %v is off by %g", x, off)
		}
	}
}
