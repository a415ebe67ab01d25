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

// The key of a sequence may have been tried out before its first number, as with any job, and
// later numbers on files may have the same rows. A later window of a topic has a key that was fixed
// before. Both programs say so.
func TestKeyOfASequence(t *testing.T) {
	p := publish(t, func(j *pipeline.Job) { withHoldout(j); j.DeltaPolicy, j.Roles.Key = certify.DeltaEach, "mine" })
	var calls [][]string
	cases := []struct {
		number int64
		topic  bool
		says   string
	}{{1, false, "which its maker chose"}, {2, false, "which its maker chose"}, {1, true, "which its maker chose"}, {2, true, "fixed with its sequence"}}
	for i, of := range cases {
		ev, err := p.result.Certificate.Evidence()
		fatal.If(t, err)
		ev.Delta.Sequence = &certify.Sequence{Policy: certify.DeltaEach, Name: "nights", Number: of.number}
		if of.topic {
			ev.Sample.Shards, ev.Sample.Segments = 1, []certify.Segment{{Topic: "t", End: ev.Sample.Rows, Rows: ev.Sample.Rows}}
		}
		c, err := certify.Certify(ev)
		fatal.If(t, err)
		if c.SplitChosen() != (i < 3) || !strings.Contains(c.Split(), of.says) {
			t.Errorf("%+v: chosen %t, %s", of, c.SplitChosen(), c.Split())
		}
		document, err := certify.Marshal(c)
		fatal.If(t, err)
		path := filepath.Join(t.TempDir(), "certificate.json")
		writeFile(t, path, document)
		calls = append(calls, []string{"verify", p.model, path})
	}
	verifytest.Need(t)
	for i, r := range verifytest.Verify(t, calls) {
		if !strings.Contains(r.Out, cases[i].says) || strings.Contains(r.Out, "REFUSED") {
			t.Errorf("%+v: Python does not say so:\n%s", cases[i], r.Out)
		}
	}
}
