package report

import (
	"bytes"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// The panel of a curve replaces training; each step reaches to the next tolerance.
func TestFigureOfACurve(t *testing.T) {
	plain, curved := testFigure(t), testFigure(t)
	g := certify.Claim{ID: certify.ClaimCurve, N: 100, Curve: &certify.Curve{Level: .001, Steps: []certify.Step{{Tolerance: .2, Misses: 40, Bound: .6}, {Tolerance: .5, Misses: 5, Bound: .15}, {Tolerance: 1, Misses: 0, Bound: .05}}}}
	curved.Certificate.Claims = append(curved.Certificate.Claims, g)
	missed, bound := stairs(g)
	if len(missed) != 6 || missed[1].X != .5 || missed[1].Y != .4 || bound[2].X != .5 || bound[2].Y != .15 || bound[5].Y != .05 {
		t.Errorf("stairs %v and %v", missed, bound)
	}
	var one, other bytes.Buffer
	fatal.If(t, plain.WritePNG(&one))
	fatal.If(t, curved.WritePNG(&other))
	if bytes.Equal(one.Bytes(), other.Bytes()) {
		t.Error("the curve is not drawn")
	}
	g.Curve.Steps = nil
	other.Reset()
	fatal.If(t, curved.WritePNG(&other))
	if !bytes.Equal(one.Bytes(), other.Bytes()) {
		t.Error("a curve without steps is drawn")
	}
}
