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

// Both programs charge for looks alike, and say the same beside the hold-out rows.
func TestPythonPaysForLooks(t *testing.T) {
	verifytest.Need(t)
	p := publish(t, withHoldout)
	var calls [][]string
	var all []certify.Certificate
	for _, looks := range []*certify.Looks{nil, {Uncounted: true}, {Earlier: []int64{170}}, {Earlier: []int64{170, 2, 1 << 30}}, {Earlier: []int64{170}, Swapped: true}} {
		ev, err := p.result.Certificate.Evidence()
		fatal.If(t, err)
		ev.Delta.Looks = looks
		c, err := certify.Certify(ev)
		fatal.If(t, err)
		document, err := certify.Marshal(c)
		fatal.If(t, err)
		path := filepath.Join(t.TempDir(), "certificate.json")
		writeFile(t, path, document)
		all, calls = append(all, c), append(calls, []string{"verify", p.model, path})
	}
	for i, r := range verifytest.Verify(t, calls) {
		if !strings.Contains(r.Out, all[i].Split()) || strings.Contains(r.Out, "REFUSED") {
			t.Errorf("looks %+v: status %d, and not %q:\n%s", all[i].Delta.Looks, r.Status, all[i].Split(), r.Out)
		}
	}
}

// The key of a sequence may have been tried out before its first number, as with any job; later
// numbers have a key that was fixed before. Both programs say so.
func TestFirstKeyOfASequenceIsItsMakers(t *testing.T) {
	p := publish(t, func(j *pipeline.Job) { withHoldout(j); j.DeltaPolicy, j.Roles.Key = certify.DeltaEach, "mine" })
	var calls [][]string
	says := []string{"which its maker chose", "fixed with its sequence"}
	for i := range says {
		ev, err := p.result.Certificate.Evidence()
		fatal.If(t, err)
		ev.Delta.Sequence = &certify.Sequence{Policy: certify.DeltaEach, Name: "nights", Number: int64(i) + 1}
		c, err := certify.Certify(ev)
		fatal.If(t, err)
		if c.SplitChosen() != (i == 0) || !strings.Contains(c.Split(), says[i]) {
			t.Errorf("number %d: chosen %t, %s", i+1, c.SplitChosen(), c.Split())
		}
		document, err := certify.Marshal(c)
		fatal.If(t, err)
		path := filepath.Join(t.TempDir(), "certificate.json")
		writeFile(t, path, document)
		calls = append(calls, []string{"verify", p.model, path})
	}
	verifytest.Need(t)
	for i, r := range verifytest.Verify(t, calls) {
		if !strings.Contains(r.Out, says[i]) {
			t.Errorf("number %d: Python does not say %q:\n%s", i+1, says[i], r.Out)
		}
	}
}
