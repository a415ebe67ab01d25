package sink_test

import (
	"bytes"
	"path/filepath"
	"slices"
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

// Both programs say of an amended job what its maker says, and refuse one that was amended later.
func TestPythonSaysWhatWasAmended(t *testing.T) {
	p := publish(t, func(j *pipeline.Job) { withHoldout(j); j.DeltaPolicy = certify.DeltaSequence })
	ev, err := p.result.Certificate.Evidence()
	fatal.If(t, err)
	ev.Delta.Sequence = &certify.Sequence{Policy: certify.DeltaSequence, Name: "nights", Number: 5, Amended: 4}
	ev.Delta.Looks = &certify.Looks{Earlier: []int64{170, 3}}
	c, err := certify.Certify(ev)
	fatal.If(t, err)
	document, err := certify.Marshal(c)
	fatal.If(t, err)
	forged := bytes.Replace(document, []byte(`"amended": 4`), []byte(`"amended": 6`), 1)
	later, err := certify.Parse(forged)
	fatal.If(t, err)
	if certify.Recompute(later) == nil {
		t.Error("number 5 was amended with number 6")
	}
	found, err := pipeline.Verify(t.Context(), c, p.result.Model, c.Model.Digest, nil, pipeline.Resources{})
	fatal.If(t, err)
	var calls [][]string
	for i, text := range [][]byte{document, forged} {
		path := filepath.Join(t.TempDir(), "certificate.json")
		writeFile(t, path, text)
		calls = append(calls, []string{"verify", p.model, path})
		if said := c.Doubts()[0]; i == 0 && !strings.Contains(said, "changed with number 4") {
			t.Errorf("doubts %q", c.Doubts())
		}
	}
	verifytest.Need(t)
	all := verifytest.Verify(t, calls)
	if r := all[0]; !strings.Contains(r.Out, c.Doubts()[0]) || !slices.Equal(r.NotChecked, found.NotChecked()) || !strings.Contains(r.Out, "from number 4 on") || r.Refused != "" {
		t.Errorf("%q, and pacsgp leaves open %q:\n%s", r.Refused, found.NotChecked(), r.Out)
	}
	if all[1].Refused == "" {
		t.Errorf("Python takes number 5 that was amended with number 6:\n%s", all[1].Out)
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
