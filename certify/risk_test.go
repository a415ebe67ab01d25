package certify

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Order, sharding and the number of workers leave no trace in the sum.
func TestRiskSumIsTheSameInEveryOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	losses := make([]float64, 5000)
	for i := range losses {
		losses[i] = math.Pow(random.Float64(), 9)
	}
	var want RiskSum
	for _, loss := range losses {
		add(t, &want, loss)
	}
	for range 20 {
		random.Shuffle(len(losses), func(i, j int) { losses[i], losses[j] = losses[j], losses[i] })
		shards := make([]RiskSum, 1+random.IntN(40))
		for _, loss := range losses {
			add(t, &shards[random.IntN(len(shards))], loss)
		}
		var got RiskSum
		for _, shard := range shards {
			fatal.If(t, got.Merge(shard))
		}
		if got != want {
			t.Fatalf("sum over %d shards is %+v, want %+v", len(shards), got, want)
		}
	}
}

// A loss is rounded up, never down: many losses below 2⁻⁶⁰ do not vanish.
func TestRiskSumRoundsEachLossUp(t *testing.T) {
	var s RiskSum
	for range 1000 {
		add(t, &s, 5e-324)
		add(t, &s, 0)
	}
	if want := (RiskSum{lo: 1000, count: 2000}); s != want {
		t.Errorf("sum is %+v, want %+v", s, want)
	}
	if got, want := s.Upper(), 0x1p-61; got != want {
		t.Errorf("mean is %g, want %g", got, want)
	}
}

// The sum is kept in 128 bits: it passes 64 bits after 16 losses of 1, and a
// float64 sum would lose small losses next to large ones.
func TestRiskSumCarries(t *testing.T) {
	var s RiskSum
	for range 40 {
		add(t, &s, 1)
	}
	if got := s.Upper(); got != 1 {
		t.Errorf("mean of ones is %g", got)
	}
	add(t, &s, 0x1p-60)
	if want := (RiskSum{hi: 2, lo: 1<<63 + 1, count: 41}); s != want {
		t.Errorf("sum is %+v, want %+v", s, want)
	}
	if got := s.Upper(); got*41 <= 40 {
		t.Errorf("mean of 40 ones and 2⁻⁶⁰ is %.20g, not above 40/41", got)
	}
}

func TestRiskSumRefusesWhatIsNoLoss(t *testing.T) {
	s := RiskSum{lo: 5, count: 1}
	for _, loss := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -5e-324, math.Nextafter(1, 2)} {
		if err := s.Add(loss); err == nil {
			t.Errorf("Add(%g) is accepted", loss)
		}
		if _, err := Units(loss); err == nil {
			t.Errorf("Units(%g) is accepted", loss)
		}
	}
	if err := s.AddUnits(UnitsPerLoss + 1); err == nil {
		t.Error("AddUnits accepts a loss above 1")
	}
	if err := s.Merge(RiskSum{count: math.MaxInt64}); err == nil {
		t.Error("Merge accepts more examples than it can count")
	}
	if want := (RiskSum{lo: 5, count: 1}); s != want {
		t.Errorf("a refused loss left %+v, want %+v", s, want)
	}
	if got := (RiskSum{}).Upper(); !math.IsNaN(got) {
		t.Errorf("mean of no losses is %g, want NaN", got)
	}
}

func TestRiskSumJSON(t *testing.T) {
	want := RiskSum{hi: 0x1234, lo: 0xfedcba9876543210, count: 1 << 20}
	text, err := json.Marshal(want)
	fatal.If(t, err)
	if string(text) != `{"n":1048576,"sum":"0000000000001234fedcba9876543210"}` {
		t.Errorf("JSON is %s", text)
	}
	var got RiskSum
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{
		`{"n":-1,"sum":"00000000000000000000000000000000"}`,
		`{"n":0,"sum":"00000000000000000000000000000001"}`,
		`{"n":1,"sum":"00000000000000001000000000000001"}`, // above 1
		`{"n":1,"sum":"0"}`,
		`{"n":1,"sum":"0000000000000000000000000000000g"}`,
		`{"n":1,"sum":"00000000000000000000000000000000","mean":0}`,
		`{"n":1.5,"sum":"00000000000000000000000000000000"}`,
		`[]`,
	} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("reads %s as %+v", bad, got)
		}
	}
}
