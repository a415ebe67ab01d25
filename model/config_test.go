package model

import (
	"bytes"
	"errors"
	"testing"
)

func TestConfigReportsAllFaults(t *testing.T) {
	_, err := NewTrainer(Config{Delta: 2, Inducing: -1, Scales: Scales{Widths: []int{0}}}, Rows{Dim: 1})
	if !errors.Is(err, ErrConfig) {
		t.Fatalf("NewTrainer gives %v, want ErrConfig", err)
	}
	for _, part := range []string{"0 inputs", "features of [0]", "train rows", "delta is 2", "no loss", "inducing", "grids"} {
		if !bytes.Contains([]byte(err.Error()), []byte(part)) {
			t.Errorf("error %q does not mention %q", err, part)
		}
	}
}

func TestDefaultsFollowFromN(t *testing.T) {
	for _, c := range []struct {
		elbo     bool
		n        int64
		dim      int
		inducing int
		plan     Plan
	}{
		{false, 0, 8, 0, Plan{Joint: 120, Batch: 0, Settle: 30, SettleBatch: 0, EstimateRows: 1000}},
		{false, 100, 8, 90, Plan{Joint: 120, Batch: 100, Settle: 30, SettleBatch: 100, EstimateRows: 1000}},
		{false, 5000, 26, 636, Plan{Joint: 80, Batch: 2500, Settle: 30, SettleBatch: 5000, EstimateRows: 1000}},
		{false, 11_400, 26, 961, Plan{Joint: 60, Batch: 2500, Settle: 30, SettleBatch: 11_400, EstimateRows: 1000}},
		{false, 30_400, 8, 1569, Plan{Joint: 60, Batch: 6080, Settle: 30, SettleBatch: 30_400, EstimateRows: 1000}},
		{false, 152_000, 2, 600, Plan{Joint: 60, Batch: 30_400, Settle: 30, SettleBatch: 152_000, EstimateRows: 1000}},
		{false, 10_000_000, 8, 2000, Plan{Joint: 60, Batch: 32_000, Settle: 30, SettleBatch: 200_000, EstimateRows: 1000}},
		{true, 100, 8, 90, Plan{Joint: 360, Batch: 100, Settle: 30, SettleBatch: 100, EstimateRows: 1000}},
		{true, 18_000, 8, 1207, Plan{Joint: 300, Batch: 6000, Settle: 30, SettleBatch: 18_000, EstimateRows: 1000}},
		{true, 30_400, 8, 1569, Plan{Joint: 180, Batch: 6080, Settle: 30, SettleBatch: 30_400, EstimateRows: 1000}},
	} {
		if got := (Config{ELBO: c.elbo, N: c.n, Dim: c.dim}).Scheduled(); got.Inducing != c.inducing || got.Plan != c.plan {
			t.Errorf("%v, N = %d: M = %d, %+v; want %d, %+v", c.elbo, c.n, got.Inducing, got.Plan, c.inducing, c.plan)
		}
	}
}
