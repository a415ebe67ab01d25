package sink_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// Both verifiers leave open the same, in the same words: that the number in a sequence is
// true, on which the bound depends and which no document can show.
func TestPythonLeavesOpenWhatGoDoes(t *testing.T) {
	verifytest.Need(t)
	var calls [][]string
	var open [][]string
	for _, change := range []func(j *pipeline.Job){
		nil,
		func(j *pipeline.Job) { j.DeltaPolicy = certify.DeltaSequence },
		func(j *pipeline.Job) { withHoldout(j); j.DeltaPolicy = certify.DeltaEach },
	} {
		p := publish(t, change)
		c := p.result.Certificate
		found, err := pipeline.Verify(t.Context(), c, p.result.Model, c.Model.Digest, nil, pipeline.Resources{})
		fatal.If(t, err)
		said := found.NotChecked()
		if inSequence := strings.Contains(strings.Join(said, ""), "the number in the sequence"); inSequence != (c.Delta.Sequence != nil) {
			t.Errorf("of the sequence %+v it leaves open %q", c.Delta.Sequence, said)
		}
		open, calls = append(open, said), append(calls, []string{"verify", p.model, p.certificate})
	}
	for i, r := range verifytest.Verify(t, calls) {
		if !slices.Equal(r.NotChecked, open[i]) && len(r.NotChecked)+len(open[i]) > 0 {
			t.Errorf("Python leaves open %q, pacsgp %q", r.NotChecked, open[i])
		}
	}
}

// Both verifiers have the same doubts about a certificate, in the words of the vectors.
func TestDoubtsAreThoseOfTheVectors(t *testing.T) {
	file := filepath.Join(verifytest.Root(t), "certify", "testdata", "doubts.json")
	var cases []struct {
		Name        string
		Certificate certify.Certificate
		Doubts      []string
	}
	vectors, err := os.ReadFile(file)
	fatal.If(t, err)
	fatal.If(t, json.Unmarshal(vectors, &cases))
	for _, c := range cases {
		if got := c.Certificate.Doubts(); len(got)+len(c.Doubts) > 0 && !slices.Equal(got, c.Doubts) {
			t.Errorf("%s: doubts %q, want %q", c.Name, got, c.Doubts)
		}
	}
	verifytest.Need(t)
	if said := verifytest.Script(t, `
import json, sys
from pacsgp.verify import doubts
for case in json.load(open(sys.argv[1])):
    if doubts(case["certificate"]) != case["doubts"]:
        print(case["name"], doubts(case["certificate"]))
`, file); said != "" {
		t.Errorf("Python has other doubts: %s", said)
	}
}
