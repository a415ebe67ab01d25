package sink_test

import (
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
	verifytest.Need(t)
	p := publish(t, func(j *pipeline.Job) {
		withHoldout(j)
		j.Loss.Unit = "minutes"
		j.Guarantees = append(j.Guarantees, certify.MethodWeight{ID: certify.MethodCurve, Weight: 3})
	})
	write := func(c certify.Certificate) string {
		document, err := certify.Marshal(c)
		fatal.If(t, err)
		path := filepath.Join(t.TempDir(), "certificate.json")
		writeFile(t, path, document)
		return path
	}
	curveOf := func(c certify.Certificate) *certify.Curve {
		for _, g := range c.Guarantees {
			if g.Curve != nil {
				return g.Curve
			}
		}
		t.Fatal("there is no curve")
		return nil
	}
	edited := func(change func(*certify.Curve)) string {
		document, err := certify.Marshal(p.result.Certificate)
		fatal.If(t, err)
		c, err := certify.Parse(document)
		fatal.If(t, err)
		change(curveOf(c))
		return write(c)
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
				tally.Beyond[i] = min(ev.Ledger.Holdout, max(0, k+by))
			}
		})
	}
	far, more := shifted(-3), shifted(3)
	ended := evidenced(func(ev *certify.Evidence) { ev.Delta.Looks = &certify.Looks{Earlier: []int64{170}, Ended: true} })
	paid := evidenced(func(ev *certify.Evidence) { ev.Delta.Looks = &certify.Looks{Earlier: []int64{170}} })
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
