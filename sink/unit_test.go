package sink_test

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// A certificate that counts units is the same in both programs, and both refuse other units.
func TestPythonVerifiesUnits(t *testing.T) {
	verifytest.Need(t)
	blocks := publish(t, func(j *pipeline.Job) {
		j.Unit.Block, j.Inducing, j.Train.Passes, j.Roles.Holdout, j.Guarantees = 5, []int{5}, 2, 0.3, nil
		j.Grid.Prior = certify.PriorPeaked
	})
	columns := publish(t, func(j *pipeline.Job) {
		j.Unit.Columns, j.Features, j.Inducing, j.Train.Passes, j.Roles.Holdout = []string{"b"}, []string{"a"}, []int{5}, 2, 0.42
		j.Guarantees = nil
		j.Loss.Kind = "squared"
	})
	inOrder := lakeWaves() // as days come
	for i := range inOrder[1] {
		inOrder[1][i] = float64(i / 5)
	}
	days := publishRows(t, inOrder, func(j *pipeline.Job) {
		j.Unit.Columns, j.Features, j.Inducing, j.Train.Passes, j.Roles.Holdout, j.Guarantees = []string{"b"}, []string{"a"}, []int{5}, 2, 0.3, nil
	})
	missing := publish(t, func(j *pipeline.Job) {
		j.Unit.Block, j.Unit.Misses, j.Inducing, j.Train.Passes, j.Roles.Holdout, j.Guarantees = 5, new(0.2), []int{5}, 2, 0.3, nil
		j.Loss.EpsilonStd = 0.2
	})
	rest := publish(t, func(j *pipeline.Job) { // the last of the 128 blocks has 11 rows
		j.Unit.Block, j.Inducing, j.Train.Passes, j.Roles.Holdout, j.Guarantees = 7, []int{5}, 2, 0.3, nil
	})
	hold := func(change func(u *certify.UnitLedger)) func(c *certify.Certificate) {
		return func(c *certify.Certificate) { change(c.Ledger.Units) }
	}
	refusals := []lie{
		{name: "other blocks in the job", want: "ledger.unit is|ledger.units", from: `"unit":{"block":5}`, to: `"unit":{"block":6}`},
		{name: "other blocks", want: "ledger.units.block is", change: hold(func(u *certify.UnitLedger) { u.Block = 6 })},
		{name: "rows in the job", want: "the key makes", from: `"unit":{"block":5},`, to: ``},
		{name: "another word", want: "ledger.unit is", change: func(c *certify.Certificate) { c.Ledger.Unit = "block of 1 rows" }},
		{name: "a unit more", want: "no step of one of", change: hold(func(u *certify.UnitLedger) { u.Holdout++ })},
		{name: "a reference unit more", want: "the rows have the units", change: hold(func(u *certify.UnitLedger) { u.Reference++ })},
		{name: "few units", want: "20 units of", change: hold(func(u *certify.UnitLedger) { u.Train = 20 })},
		{name: "no units", want: "lacks its terms", change: func(c *certify.Certificate) { c.Ledger.Units = nil }},
		{name: "N", want: `\.n is`, change: func(c *certify.Certificate) { c.Guarantees[0].N++ }},
	}
	programsAgree(t, [][]string{
		{"verify", blocks.model, blocks.certificate, blocks.data},
		{"verify", columns.model, columns.certificate, columns.data},
		{"verify", missing.model, missing.certificate, missing.data},
		{"verify", days.model, days.certificate, days.data},
		{"verify", rest.model, rest.certificate, rest.data},
		{"verify", blocks.model, blocks.certificate},
		{"verify", missing.model, missing.certificate},
	}, blocks, refusals)
	programsAgree(t, nil, missing, misses(t))

	row, err := sink.CertificateRow(days.result.Certificate)
	fatal.If(t, err)
	path := filepath.Join(t.TempDir(), "certificate.parquet")
	writeFile(t, path, row)
	if run := verifytest.Verify(t, [][]string{{"verify", days.model, path, days.data}})[0]; !strings.Contains(run.Out, "the same to the last byte") {
		t.Errorf("as a row of Parquet:\n%s", run.Out)
	}
}

// programsAgree wants both programs to accept honest calls, to the last byte with rows, and to refuse lies
// about a certificate.
func programsAgree(t *testing.T, honest [][]string, of published, refusals []lie) {
	t.Helper()
	calls := honest
	for i, l := range refusals {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("lie-%d.json", i))
		writeFile(t, file, told(t, of.result.Certificate, l))
		calls = append(calls, []string{"verify", of.model, file, of.data})
	}
	runs := verifytest.Verify(t, calls)
	for i, args := range honest {
		if err := goVerifies(t, args); err != nil || strings.Contains(runs[i].Out, "REFUSED") || len(args) == 4 && !strings.Contains(runs[i].Out, "the same to the last byte") {
			t.Errorf("%q: %v, and\n%s", args, err, runs[i].Out)
		}
	}
	for i, l := range refusals {
		run := runs[len(honest)+i]
		if err := goVerifies(t, calls[len(honest)+i]); err == nil {
			t.Errorf("%s: the Go program accepts it", l.name)
		}
		_, reason, _ := strings.Cut(run.Out, "REFUSED")
		if run.Status != 1 || !regexp.MustCompile(l.want).MatchString(reason) {
			t.Errorf("%s: exit status %d, want 1 and %q:\n%s", l.name, run.Status, l.want, run.Out)
		}
	}
}

// misses are lies about units that miss if more than a fifth of their rows does. Some are certified anew.
func misses(t testing.TB) []lie {
	t.Helper()
	anew := func(change func(ev *certify.Evidence)) func(c *certify.Certificate) { return certifiedAnew(t, change) }
	count := func(more int64) func(ev *certify.Evidence) {
		return func(ev *certify.Evidence) {
			risk := &ev.Tallies.At(certify.PredictorMean, certify.RoleHoldout).Risk
			missed, n := more+int64(math.Round(risk.Upper()*float64(risk.Count()))), risk.Count()
			*risk = certify.RiskSum{}
			for i := range n {
				fatal.If(t, risk.AddUnits(uint64(max(0, min(1, missed-i)))<<60))
			}
		}
	}
	return []lie{
		{name: "a share in the ledger", want: "the rows have the units|ledger.units.misses is", change: func(c *certify.Certificate) { c.Ledger.Units.Misses = new(0.5) }},
		{name: "a share in the job", want: "what it rests on gives", from: `"misses":0.2`, to: `"misses":0.5`},
		{name: "a share in both", want: "units", from: `"misses":0.2`, to: `"misses":0.5`, change: anew(func(ev *certify.Evidence) { ev.Ledger.Units.Misses = new(0.5) })},
		{name: "a share of all rows", want: "misses", from: `"misses":0.2`, to: `"misses":1`, change: func(c *certify.Certificate) { c.Ledger.Units.Misses = new(1.0) }},
		{name: "no share", want: "yardstick|lacks", change: func(c *certify.Certificate) { c.Ledger.Units.Misses = nil }},
		{name: "a unit fewer", want: "that miss are stated as", change: anew(count(-1))},
		{name: "a unit more", want: "that miss are stated as", change: anew(count(1))},
		{name: "a unit fewer in the sum alone", want: "below the limit|is", change: func(c *certify.Certificate) { g := &c.Guarantees[0]; g.N--; g.EmpiricalRisk = certify.Risk{} }},
		{name: "a worse constant", want: "the constant misses", change: anew(func(ev *certify.Evidence) { ev.Constant.Missed++ })},
		{name: "another yardstick", want: "by units", change: func(c *certify.Certificate) { c.Baseline.Missed.Bound = 0.999 }},
		{name: "no yardstick", want: "yardstick", change: func(c *certify.Certificate) { c.Baseline.Missed = nil }},
	}
}

// certifiedAnew makes a certificate of changed evidence.
func certifiedAnew(t testing.TB, change func(ev *certify.Evidence)) func(c *certify.Certificate) {
	return func(c *certify.Certificate) {
		ev, err := c.Evidence()
		fatal.If(t, err)
		change(&ev)
		*c, err = certify.Certify(ev)
		fatal.If(t, err)
	}
}

// Both programs count the units at each tolerance alike, with the sentences, and refuse other counts.
func TestPythonVerifiesCurvesOfUnits(t *testing.T) {
	verifytest.Need(t)
	for _, width := range []certify.Width{certify.WidthUnit, certify.WidthDeviation} {
		p := publish(t, func(j *pipeline.Job) {
			j.Unit.Block, j.Unit.Misses, j.Inducing, j.Train.Passes, j.Roles.Holdout, j.Guarantees = 5, new(0.2), []int{5}, 2, 0.3, nil
			j.Loss = pipeline.LossDecl{Tolerance: pipeline.AnyTolerance, Width: width}
		})
		shifted := func(by int64) func(c *certify.Certificate) {
			return certifiedAnew(t, func(ev *certify.Evidence) {
				held := ev.Tallies.At(certify.PredictorMean, certify.RoleHoldout)
				for i, k := range held.Beyond[:320] {
					held.Beyond[i] = min(ev.Ledger.Units.Holdout, max(held.Beyond[320], k+by))
				}
			})
		}
		programsAgree(t, [][]string{{"verify", p.model, p.certificate, p.data}, {"verify", p.model, p.certificate}}, p, []lie{
			{name: "fewer units", want: "fewer rows are beyond", change: shifted(-2)},
			{name: "more units", want: "more rows are beyond", change: shifted(2)},
			{name: "another share", want: "units", from: `"misses":0.2`, to: `"misses":0.5`, change: certifiedAnew(t, func(ev *certify.Evidence) { ev.Ledger.Units.Misses = new(0.5) })},
			{name: "means", want: "lacks its terms|do not go with units", from: `,"misses":0.2`, to: ``, change: func(c *certify.Certificate) { c.Ledger.Units.Misses = nil }},
			{name: "a lower bound", want: "which is not the limit", change: func(c *certify.Certificate) {
				for i := range c.Guarantees {
					if curve := c.Guarantees[i].Curve; curve != nil {
						curve.Steps[3].Bound *= 0.999
					}
				}
			}},
		})
	}
}
