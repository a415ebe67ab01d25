package sink_test

import (
	"regexp"
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
		open, calls = append(open, said), append(calls, []string{p.model, "--certificate", p.certificate})
	}
	line, aside := regexp.MustCompile(`(?m)^NOT CHECKED: (.*)$`), regexp.MustCompile(` \([^)]*\)$`)
	for i, r := range verifytest.Verify(t, calls) {
		var got []string
		for _, m := range line.FindAllStringSubmatch(r.Out, -1) {
			got = append(got, aside.ReplaceAllString(m[1], "")) // how to check it here and there
		}
		if !slices.Equal(got, open[i]) {
			t.Errorf("Python leaves open %q, pacsgp %q", got, open[i])
		}
	}
}
