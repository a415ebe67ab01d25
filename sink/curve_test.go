package sink_test

import (
	"bytes"
	"cmp"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// Both programs derive a curve, with the sentences, and refuse the same forged ones: without the rows what
// contradicts itself, with the rows counts that they do not have.
func TestPythonVerifiesCurves(t *testing.T) {
	for _, width := range []certify.Width{certify.WidthUnit, certify.WidthDeviation} {
		t.Run("width "+string(width), func(t *testing.T) { pythonVerifiesCurves(t, width) })
	}
}

func pythonVerifiesCurves(t *testing.T, width certify.Width) {
	verifytest.Need(t)
	p := publish(t, func(j *pipeline.Job) {
		withHoldout(j)
		j.Loss.Unit, j.Loss.Width = "minutes", width
		j.Guarantees = append(j.Guarantees, certify.MethodWeight{ID: certify.MethodCurve, Weight: 3})
	})
	write := func(c certify.Certificate) string {
		document, err := certify.Marshal(c)
		fatal.If(t, err)
		path := filepath.Join(t.TempDir(), "certificate.json")
		writeFile(t, path, document)
		return path
	}
	forged := func(change func(g, held *certify.Guarantee)) string {
		document, err := certify.Marshal(p.result.Certificate)
		fatal.If(t, err)
		c, err := certify.Parse(document)
		fatal.If(t, err)
		at := map[certify.GuaranteeID]*certify.Guarantee{}
		for i := range c.Guarantees {
			at[c.Guarantees[i].ID] = &c.Guarantees[i]
		}
		change(at[certify.GuaranteeCurve], at[certify.GuaranteeHoldout])
		return write(c)
	}
	edited := func(change func(*certify.Curve)) string {
		return forged(func(g, _ *certify.Guarantee) { change(g.Curve) })
	}
	evidenced := func(change func(*certify.Evidence)) string {
		ev, err := p.result.Certificate.Evidence()
		fatal.If(t, err)
		change(&ev)
		c, err := certify.Certify(ev)
		fatal.If(t, err)
		return write(c)
	}
	shifted := func(by int64) string { // rows between the half and the tolerance
		return evidenced(func(ev *certify.Evidence) {
			tally := ev.Tallies.At(certify.PredictorMean, certify.RoleHoldout)
			for i, k := range tally.Beyond[:320] {
				tally.Beyond[i] = min(ev.Ledger.Holdout, max(tally.Beyond[320], k+by))
			}
		})
	}
	far, more := shifted(-3), shifted(3)
	ended := evidenced(func(ev *certify.Evidence) { ev.Delta.Looks = &certify.Looks{Earlier: []int64{170}, Ended: true} })
	paid := evidenced(func(ev *certify.Evidence) { ev.Delta.Looks = &certify.Looks{Earlier: []int64{170}} })
	other := map[certify.Width]certify.Width{certify.WidthUnit: certify.WidthDeviation}[width]
	otherJob := evidenced(func(ev *certify.Evidence) { // its job as well
		with, without := []byte(`"width":"deviation","unit"`), []byte(`"unit"`)
		if width == certify.WidthUnit {
			with, without = without, with
		}
		ev.Configuration, ev.Width = bytes.Replace(ev.Configuration, with, without, 1), other
		if tally := ev.Tallies.At(certify.PredictorMean, certify.RoleHoldout); other == certify.WidthUnit { // the count of the hold-out at ε
			misses := int64(math.Round(tally.Risk.Upper() * float64(tally.Risk.Count())))
			for i, k := range tally.Beyond {
				tally.Beyond[i] = map[int]int64{-1: max(k, misses), 0: misses, 1: min(k, misses)}[cmp.Compare(i, 320)]
			}
		}
	})
	calls := []struct {
		name, certificate string
		rows, refused     bool
	}{
		{"as it is", p.certificate, true, false},
		{"without rows", p.certificate, false, false},
		{"after the end of looks", ended, false, false},
		{"a second look", paid, false, false},
		{"fewer rows, without rows", far, false, false},
		{"fewer rows", far, true, true},
		{"more rows", more, true, true},
		{"another level", edited(func(c *certify.Curve) { c.Level *= 1.0443 }), false, true},
		{"a lower bound", edited(func(c *certify.Curve) { c.Steps[3].Bound *= 0.9999 }), false, true},
		{"a smaller tolerance", edited(func(c *certify.Curve) { c.Steps[3].Tolerance *= 0.9999 }), false, true},
		{"a step twice", edited(func(c *certify.Curve) { c.Steps[3] = c.Steps[2] }), false, true},
		{"the other width", forged(func(g, _ *certify.Guarantee) { g.Loss.Width = other }), false, true},
		{"the other width, with its tolerance", forged(func(g, held *certify.Guarantee) { g.Loss, g.Loss.Width = held.Loss, other }), false, true},
		{"the width of the hold-out", forged(func(_, held *certify.Guarantee) { held.Loss.Width = certify.WidthDeviation }), false, true},
		{"other units", edited(func(c *certify.Curve) {
			for i := range c.Steps {
				c.Steps[i].Tolerance *= 2
			}
		}), false, true},
		{"the other width throughout", otherJob, true, true},
	}
	var all [][]string
	for _, c := range calls {
		args := []string{"verify", p.model, c.certificate}
		if c.rows {
			args = append(args, p.data)
		}
		all = append(all, args)
	}
	for i, r := range verifytest.Verify(t, all) {
		if got := strings.Contains(r.Out, "REFUSED") || r.Status == 1; got != calls[i].refused {
			t.Errorf("%s: status %d:\n%s", calls[i].name, r.Status, r.Out)
		}
	}
}
