package sink_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
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
	calls := [][]string{{"verify", blocks.model, blocks.certificate, blocks.data}, {"verify", columns.model, columns.certificate, columns.data}, {"verify", blocks.model, blocks.certificate}}
	for i, l := range refusals {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("lie-%d.json", i))
		writeFile(t, file, told(t, blocks.result.Certificate, l))
		calls = append(calls, []string{"verify", blocks.model, file, blocks.data})
	}
	runs := verifytest.Verify(t, calls)
	for i, args := range calls[:3] {
		if err := goVerifies(t, args); err != nil || strings.Contains(runs[i].Out, "REFUSED") || i < 2 && !strings.Contains(runs[i].Out, "the same to the last byte") {
			t.Errorf("%q: %v, and\n%s", args, err, runs[i].Out)
		}
	}
	for i, l := range refusals {
		if err := goVerifies(t, calls[3+i]); err == nil {
			t.Errorf("%s: the Go program accepts it", l.name)
		}
		_, reason, _ := strings.Cut(runs[3+i].Out, "REFUSED")
		if runs[3+i].Status != 1 || !regexp.MustCompile(l.want).MatchString(reason) {
			t.Errorf("%s: exit status %d, want 1 and %q:\n%s", l.name, runs[3+i].Status, l.want, runs[3+i].Out)
		}
	}
}
