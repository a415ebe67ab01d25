package main

import (
	"cmp"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
)

// That rows depend on each other is a number in every form of the certificate.
func TestWarningsOfSuspiciousRows(t *testing.T) {
	dir := t.TempDir()
	rows := lines(300)
	sorted := rows["y"].([]float64)
	order := make([]int, len(sorted))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(sorted[i], sorted[j]) })
	picked := table{}
	for name, column := range rows {
		values := column.([]float64)
		out := make([]float64, len(values))
		for i, at := range order {
			out[i] = values[at]
		}
		picked[name] = out
	}
	picked.write(t, lakeFile(dir, 0))
	out := t.TempDir()
	a := pacsgp(t, "train", "-c", tiny(jobFile{"loss": "{epsilon: 8}"}).write(t, dir), "-o", out)
	if r := record(t, out); a.status != 0 || len(r.Warnings) == 0 || r.Draw.Status != certify.StatusCertified {
		t.Errorf("status %d (%s), warnings %v, the draw is %s", a.status, a.message, r.Warnings, r.Draw.Status)
	}
}
