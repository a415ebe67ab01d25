package sink_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// Where the independent check cannot tell whether hold-out rows are misses, they are: a
// certificate that states fewer is refused, whatever it says of rows that are not proven.
func TestPythonTakesNoHoldoutSumBelowItsOwn(t *testing.T) {
	verifytest.Need(t)
	out := verifytest.Script(t, `
import numpy as np
from pacsgp import losses, methods, refusal
from itertools import product
for stated, unproven, whole in product((0, 2, 3), (0, 3), (1, losses.UNIT)):
    held = methods.Holdout({"ledger": {"holdout": 3}})
    held.count(np.ones(3), np.array([True, True, False]))
    try:
        held.agrees({"ledger": {"holdout": 3}, "holdout": stated * losses.UNIT, "unproven holdout": unproven, "whole": whole, "alone": False})
        print("accepted", stated)
    except refusal.Refused:
        print("refused", stated)
`)
	if got := strings.Count(out, "refused 0") + strings.Count(out, "refused 2"); got != 8 || strings.Count(out, "accepted 3") != 4 {
		t.Errorf("of 3 misses that cannot be ruled out, 0 and 2 are to be refused and 3 accepted:\n%s", out)
	}
}

// Of losses that are not 0 or 1 a certificate shows the bound alone, in steps of one row. Both
// programs take it from the rows, and refuse another: without the rows one between the steps or
// below that of no loss, and a risk beside it.
func TestBettingBoundsAreHeldToTheRows(t *testing.T) {
	verifytest.Need(t)
	p := publish(t, func(j *pipeline.Job) { withHoldout(j); j.Loss.Kind = "exponential" })
	stated, _ := p.result.Certificate.Guarantee(certify.GuaranteeHoldout)
	k, n := int64(math.Floor(stated.Bound*float64(stated.N)+.5)), stated.N
	document, err := os.ReadFile(p.certificate)
	fatal.If(t, err)
	write := func(document []byte) string {
		path := filepath.Join(t.TempDir(), "certificate.json")
		writeFile(t, path, document)
		return path
	}
	after := func(k int64, looks *certify.Looks) string {
		bound := float64(k) / float64(n)
		if math.FMA(bound, float64(n), -float64(k)) < 0 {
			bound = math.Nextafter(bound, 1)
		}
		ev, err := p.result.Certificate.Evidence()
		fatal.If(t, err)
		ev.Tallies.At(certify.PredictorMean, certify.RoleHoldout).Bound, ev.Delta.Looks = bound, looks
		c, err := certify.Certify(ev)
		fatal.If(t, err)
		document, err := certify.Marshal(c)
		fatal.If(t, err)
		return write(document)
	}
	other := func(k int64) string { return after(k, p.result.Certificate.Delta.Looks) }
	edited := func(from, to string) string { // in the guarantee
		before, after, _ := strings.Cut(string(document), `"id": "holdout",`)
		if !strings.Contains(after, from) {
			t.Fatalf("the guarantee has no %q", from)
		}
		return write([]byte(before + `"id": "holdout",` + strings.Replace(after, from, to, 1)))
	}
	bound := fmt.Sprintf(`"bound": %v`, stated.Bound)
	var calls [][]string
	for _, path := range []string{p.certificate, other(k - 1), other(k + 1)} {
		calls = append(calls, []string{"verify", p.model, path}, []string{"verify", p.model, path, p.data})
	}
	for _, path := range []string{
		edited(bound, fmt.Sprintf(`"bound": %v`, math.Nextafter(stated.Bound, 0))), edited(bound, fmt.Sprintf(`"bound": %v`, 1/float64(n))),
		edited("      \"unproven\": 0", fmt.Sprintf("      \"empirical_risk\": {\n        \"exact\": {\n          \"count\": %d,\n          \"sum\": \"%032x\"\n        },\n        \"upper\": 0\n      },\n      \"unproven\": 0", n, 0)),
	} {
		calls = append(calls, []string{"verify", p.model, path})
	}
	for _, looks := range []*certify.Looks{{Earlier: []int64{n}, Swapped: true}, {Earlier: []int64{n}, Ended: true}} {
		calls = append(calls, []string{"verify", p.model, after(n, looks), p.data})
	}
	for i, r := range verifytest.Verify(t, calls) {
		refused := i == 3 || i >= 5 && i < 9 // another bound with the rows, and what needs no rows
		if err := goVerifies(t, calls[i]); (err != nil) != refused || (r.Refused != "") != refused {
			t.Errorf("call %d: pacsgp says %v, Python %q", i, err, r.Refused)
		}
	}
}
