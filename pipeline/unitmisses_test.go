package pipeline_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// halves is a job in which a day misses if more than a half of its rows does.
func halves(j *pipeline.Job) {
	byDay(j)
	j.Unit.Misses = new(0.5)
}

// ofConstant counts the train units of which a constant misses more than a half of the rows.
func ofConstant(c certify.Certificate, columns [][]float64) (k int64) {
	of := map[float64]*[2]int64{}
	for i, y := range columns[3] {
		day := columns[2][i]
		if of[day] == nil {
			of[day] = &[2]int64{}
		}
		if math.Abs(c.Baseline.Constant-y) > c.Guarantees[0].Loss.Epsilon*(1+1e-9) {
			of[day][0]++
		}
		of[day][1]++
	}
	var units []float64
	for day := range of {
		units = append(units, day)
	}
	slices.SortFunc(units, func(a, b float64) int { return cmp.Compare(unitHash("pacsgp", a), unitHash("pacsgp", b)) })
	for _, day := range units[c.Ledger.Units.Reference : int64(len(units))-c.Ledger.Units.Holdout] {
		if 2*of[day][0] > of[day][1] {
			k++
		}
	}
	return k
}

// The bound is that of the hold-out units with more than a half of their rows missed, counted here by
// whole numbers; half of the rows is no miss.
func TestUnitsThatMiss(t *testing.T) {
	columns := days(1200, 200, 7)
	l := dayLake(columns, 400, 500, 300)
	p := publish(t, l, halves)
	k, n, even := int64(0), int64(0), 0
	for _, of := range missesOf(t, p.result.Model, columns, func(i int) float64 { return columns[2][i] }) {
		n++
		switch {
		case 2*of[0] > of[1]:
			k++
		case 2*of[0] == of[1]:
			even++
		}
	}
	g, _ := p.certificate.Guarantee(certify.GuaranteeHoldout)
	bound, err := certify.BinomialUpper(k, n, 0.01, p.certificate.Delta.Share(certify.MethodHoldout))
	if err != nil || g.Bound != bound || g.N != n || g.EmpiricalRisk.Exact != ones(t, k, n) || k == 0 || even == 0 {
		t.Errorf("%+v, want the bound %v of %d of %d units, %d of them even: %v", g, bound, k, n, even, err)
	}
	draw, _ := p.certificate.Guarantee(certify.GuaranteeDraw)
	if !strings.Contains(g.Headline, `of fresh units of "day", more than 50 % of the predictions`) || !strings.Contains(draw.Statement+draw.Headline, "of its rows") {
		t.Errorf("%s\n%s", g.Headline, draw.Statement)
	}
	if want := ofConstant(p.certificate, columns); want == 0 || p.certificate.Baseline.Missed.Units != want {
		t.Errorf("the constant misses %+v units, want %d", p.certificate.Baseline.Missed, want)
	}
	for _, l := range []*lake{l, nil} {
		if _, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, l); err != nil {
			t.Errorf("Verify: %v", err)
		}
	}
	other := *p.certificate.Ledger.Units
	other.Misses = new(0.3)
	held := certify.TallyKey{Predictor: certify.PredictorMean, Role: certify.RoleHoldout}
	for name, change := range map[string]func(ev *certify.Evidence){
		"another share":            func(ev *certify.Evidence) { ev.Ledger.Units = &other },
		"another declared share":   func(ev *certify.Evidence) { reword(t, ev, `"misses":0.5`, `"misses":0.3`); ev.Ledger.Units = &other },
		"a share of the means":     func(ev *certify.Evidence) { reword(t, ev, `,"misses":0.5`, ``) },
		"a unit fewer":             func(ev *certify.Evidence) { ev.Tallies[held] = &certify.Tally{Risk: ones(t, k-1, n)} },
		"a unit more":              func(ev *certify.Evidence) { ev.Tallies[held] = &certify.Tally{Risk: ones(t, k+1, n)} },
		"a worse constant":         func(ev *certify.Evidence) { ev.Constant.Missed++ },
		"a better constant":        func(ev *certify.Evidence) { ev.Constant.Missed-- },
		"a loss of another target": func(ev *certify.Evidence) { ev.Loss.Epsilon = 0.8 },
	} {
		ev := evidence(p.certificate)
		change(&ev)
		p.refuses(t, name, ev, l)
	}
}

// Another share of the same model shows another answer, which is a look; another delta shows none.
func TestMissesAreLooks(t *testing.T) {
	log, l := &pipelinetest.Store{}, dayLake(days(1200, 200, 7), 1200)
	for i, c := range []struct {
		misses float64
		looks  int
	}{{0.5, 0}, {0.5, 0}, {0.3, 1}, {0, 2}, {0.5, 0}} {
		found := looker(t, log, l, func(j *pipeline.Job) { halves(j); j.Unit.Misses = &c.misses }, 0).Delta.Looks
		earlier := 0
		if found != nil {
			earlier = len(found.Earlier)
		}
		if earlier != c.looks {
			t.Errorf("look %d, at %v: %d before it, want %d", i, c.misses, earlier, c.looks)
		}
	}
}
