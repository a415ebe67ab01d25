package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A plan by units counts the units that the certificate counts, and its bounds are those of so many.
func TestPlanOfUnits(t *testing.T) {
	l := dayLake(days(1200, 200, 7), 400, 800)
	j := job(t, byDay)
	src, err := l.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := j.CountUnits(t.Context(), src, pipeline.Resources{})
	if err != nil {
		t.Fatal(err)
	}
	if want := publish(t, l, byDay).certificate.Ledger.Units; found.Train != want.Train || found.Holdout != want.Holdout || found.Reference != want.Reference || found.Largest != want.Largest {
		t.Errorf("units %+v, want %+v", found, want)
	}
	plan, err := pipeline.NewPlan(j, pipeline.Sample{Rows: 1200, Features: 2, Units: found}, pipeline.Resources{})
	if err != nil {
		t.Fatal(err)
	}
	share, n := j.ForRows(1200).Spends().Share(certify.MethodHoldout), found.Holdout
	limit := func(k int64) float64 {
		bound, err := certify.BettingUpper(certify.Missed(k, n), j.Delta, share)
		if err != nil {
			t.Fatal(err)
		}
		return bound
	}
	if b := plan.Bounds[2]; b.Missed != 0.1 || b.Holdout != limit((n+9)/10) {
		t.Errorf("%+v of %d units", b, n)
	}
	few, err := dayLake(days(1500, 100, 3), 1500).open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.CountUnits(t.Context(), few, pipeline.Resources{}); !errors.Is(err, pipeline.ErrData) || !strings.Contains(err.Error(), "each role needs 30") || !strings.Contains(err.Error(), "set roles.holdout to 0.42 or more") {
		t.Errorf("100 units: %v", err)
	}
}
