package sink_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// Both programs derive groups, with the sentences, and refuse the same forged ones: without the rows what
// contradicts itself, with the rows counts and values that they do not have.
func TestPythonVerifiesGroups(t *testing.T) {
	verifytest.Need(t)
	columns := lakeWaves()
	for i, b := range columns[1] {
		columns[1][i] = math.Mod(b, 3)
	}
	feature := publishRows(t, columns, func(j *pipeline.Job) {
		withHoldout(j)
		j.Loss = pipeline.LossDecl{EpsilonStd: 0.12, Unit: "minutes"}
		j.Groups = pipeline.GroupsDecl{Column: "b"}
		j.Guarantees = append(j.Guarantees, certify.MethodWeight{ID: certify.MethodCurve, Weight: 3})
	})
	beside := publishRows(t, columns, func(j *pipeline.Job) {
		withHoldout(j)
		j.Features, j.Groups = []string{"a"}, pipeline.GroupsDecl{Column: "b", Values: []float64{7, 1}}
	})
	named := lakeWaves()
	for i, b := range named[1] {
		named[1][i] = certify.Label([]string{"AA", "WN"}[int(b)%2])
	}
	texts := publishRows(t, named, func(j *pipeline.Job) {
		withHoldout(j)
		j.Features, j.Groups = []string{"a"}, pipeline.GroupsDecl{Column: "b", Texts: []string{"WN"}}
	})
	write := func(c certify.Certificate) string {
		document, err := certify.Marshal(c)
		fatal.If(t, err)
		path := filepath.Join(t.TempDir(), "certificate.json")
		writeFile(t, path, document)
		return path
	}
	editedOf := func(p published, change func(*certify.Groups)) string {
		document, err := certify.Marshal(p.result.Certificate)
		fatal.If(t, err)
		c, err := certify.Parse(document)
		fatal.If(t, err)
		g, ok := c.Guarantee(certify.GuaranteeGroups)
		if !ok {
			t.Fatal("there are no groups")
		}
		change(g.Groups)
		return write(c)
	}
	edited := func(change func(*certify.Groups)) string { return editedOf(feature, change) }
	evidenced := func(p published, change func(*certify.Evidence, []certify.Group)) string {
		ev, err := p.result.Certificate.Evidence()
		fatal.If(t, err)
		change(&ev, ev.Tallies.At(certify.PredictorMean, certify.RoleHoldout).Groups)
		c, err := certify.Certify(ev)
		fatal.If(t, err)
		return write(c)
	}
	counts := func(by func(a, b *certify.Group)) string {
		return evidenced(feature, func(_ *certify.Evidence, of []certify.Group) { by(&of[0], &of[1]) })
	}
	moved := counts(func(a, b *certify.Group) { a.N, b.N = a.N-1, b.N+1 })
	swapped := counts(func(a, b *certify.Group) { a.Misses, b.Misses = a.Misses+3, b.Misses-3 })
	calls := []struct {
		name, certificate string
		of                published
		rows, refused     bool
	}{
		{"as they are", feature.certificate, feature, true, false},
		{"no feature", beside.certificate, beside, true, false},
		{"without rows", beside.certificate, beside, false, false},
		{"a second look", evidenced(feature, func(ev *certify.Evidence, _ []certify.Group) {
			ev.Delta.Looks = &certify.Looks{Earlier: certify.GroupLooks(170, 4)}
		}), feature, false, false},
		{"after a look with a curve", evidenced(feature, func(ev *certify.Evidence, _ []certify.Group) {
			ev.Delta.Looks = &certify.Looks{Earlier: []int64{170}, Ended: true}
		}), feature, false, false},
		{"a row of another group, without rows", moved, feature, false, false},
		{"a row of another group", moved, feature, true, true},
		{"misses of another group", swapped, feature, true, true},
		{"other values", evidenced(feature, func(ev *certify.Evidence, _ []certify.Group) { ev.Grouping.Values = []float64{0, 1, 3} }), feature, true, true},
		{"texts that the job does not have", evidenced(texts, func(ev *certify.Evidence, _ []certify.Group) {
			ev.Grouping.Texts, ev.Grouping.Values = []string{"DL"}, []float64{certify.Label("DL")}
		}), texts, false, true},
		{"texts of other values", editedOf(texts, func(g *certify.Groups) { g.Texts = []string{"DL"} }), texts, false, true},
		{"texts", texts.certificate, texts, false, false},
		{"other values than the job's", evidenced(beside, func(ev *certify.Evidence, _ []certify.Group) { ev.Grouping.Values = []float64{1, 8} }), beside, false, true},
		{"a lower bound", edited(func(g *certify.Groups) { g.Each[0].Bound *= 0.9999 }), feature, false, true},
		{"a bound of too few rows", edited(func(g *certify.Groups) { g.Each[3].Bound = 0.9 }), feature, false, true},
		{"a row too few", edited(func(g *certify.Groups) { g.Each[0].N-- }), feature, false, true},
		{"values out of order", edited(func(g *certify.Groups) { g.Values[0], g.Values[1] = g.Values[1], g.Values[0] }), feature, false, true},
		{"another column", edited(func(g *certify.Groups) { g.Column = "a" }), feature, false, true},
		{"no feature but one", edited(func(g *certify.Groups) { g.Beside = true }), feature, false, true},
	}
	var all [][]string
	for _, c := range calls {
		args := []string{"verify", c.of.model, c.certificate}
		if c.rows {
			args = append(args, c.of.data)
		}
		all = append(all, args)
	}
	for i, r := range verifytest.Verify(t, all) {
		if got := strings.Contains(r.Out, "REFUSED") || r.Status == 1; got != calls[i].refused {
			t.Errorf("%s: status %d:\n%s", calls[i].name, r.Status, r.Out)
		}
	}
}
