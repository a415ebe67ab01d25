package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A number of an amended sequence pays for the looks of the jobs before at its rows, though they are
// of its sequence, and for each number of theirs that ended without one. If a certificate of theirs
// has no look in the log, looks are not counted.
func TestAmendedJobPays(t *testing.T) {
	columns := waves(400, 0.2, 4)
	whole, other := newLake(columns, 150, 250), newLake(waves(400, 0.2, 9), 400)
	night := func(seed uint64) pipeline.Job {
		return job(t, func(j *pipeline.Job) {
			withHoldout(0.2)(j)
			j.DeltaPolicy, j.Train.Passes, j.Train.Seed = certify.DeltaSequence, 4, seed
		})
	}
	of := func(seed uint64) string {
		identity, err := night(seed).Identity()
		fatal.If(t, err)
		return identity.String()
	}
	log := &pipelinetest.Store{}
	on := func(log pipeline.Looks, l *lake, j pipeline.Job) certify.Certificate {
		t.Helper()
		env := l.environment(&pipelinetest.Store{})
		env.Looks = log
		return run(t, j, env).Certificate
	}
	first := on(log, whole, night(0).Numbered("nights", 1))
	n := first.Ledger.Holdout
	for _, c := range []struct {
		name   string
		seed   uint64
		number int64
		former []pipeline.FormerJob
		shown  map[int64]string
		log    pipeline.Looks
		on     *lake
		want   *certify.Looks
	}{
		{"at once", 1, 2, []pipeline.FormerJob{{Identity: of(0), Last: 1}}, nil, log, whole, &certify.Looks{Earlier: []int64{n}}},
		{"the next number", 1, 3, []pipeline.FormerJob{{Identity: of(0), Last: 1}}, nil, log, whole, &certify.Looks{Earlier: []int64{n}}},
		{"on other rows", 1, 2, []pipeline.FormerJob{{Identity: of(0), Last: 1}}, nil, log, other, nil},
		{"on other rows, after a failure", 2, 5, []pipeline.FormerJob{{Identity: of(0), Last: 4}}, nil, &pipelinetest.Store{}, other, &certify.Looks{Earlier: []int64{4, 4, 4, 4}}},
		{"the first job again, after two failures", 0, 6, []pipeline.FormerJob{{Identity: of(0), Last: 1}, {Identity: of(1), Last: 5}}, map[int64]string{1: "a", 2: "b"}, log, whole, &certify.Looks{Earlier: []int64{n, n, n, 5, 5}}},
		{"with another log", 1, 2, []pipeline.FormerJob{{Identity: of(0), Last: 1}}, map[int64]string{1: "a"}, &pipelinetest.Store{}, whole, &certify.Looks{Uncounted: true}},
	} {
		j, err := night(c.seed).Numbered("nights", c.number).Amended(c.former, c.shown)
		fatal.If(t, err)
		got := on(c.log, c.on, j)
		if paid := got.Delta.Looks; (paid == nil) != (c.want == nil) || paid != nil && (!slices.Equal(paid.Earlier, c.want.Earlier) || paid.Uncounted != c.want.Uncounted || paid.Swapped) {
			t.Errorf("%s: pays for %+v, want %+v", c.name, paid, c.want)
		}
		from := c.former[len(c.former)-1].Last + 1
		if s := got.Delta.Sequence; s.Amended != from || !strings.Contains(got.Doubts()[0], "The job of its sequence was changed") {
			t.Errorf("%s: %+v, doubts %q", c.name, s, got.Doubts())
		}
		for _, g := range got.Guarantees {
			if g.Predictor == certify.PredictorDraw && !strings.Contains(g.Statement, "assumed to owe nothing to these rows") {
				t.Errorf("%s: it says %s", c.name, g.Statement)
			}
		}
	}
}
