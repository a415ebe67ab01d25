package pipeline_test

import (
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// looker runs a job on a lake and returns what its certificate says of looks.
func looker(t *testing.T, log *pipelinetest.Store, l *lake, change func(*pipeline.Job), number int64) certify.Certificate {
	t.Helper()
	j := job(t, func(j *pipeline.Job) { withHoldout(0.2)(j); change(j) })
	if number > 0 {
		j = j.Numbered("nights", number)
	}
	env := l.environment(&pipelinetest.Store{})
	env.Looks = log
	return run(t, j, env).Certificate
}

// A further look at the same hold-out rows is charged and named, whatever the output; the same
// job again, rows that nobody has looked at, and the numbers of one sequence are not.
func TestLooksAreKnownByTheirRows(t *testing.T) {
	columns := waves(400, 0.2, 4)
	whole := newLake(columns, 150, 250)
	reordered := &lake{names: []string{"b", "a", "y"}, columns: [][]float64{columns[1], columns[0], columns[2]}, shards: []int{400}}
	engineered := newLake([][]float64{columns[0], columns[0], columns[2]}, 150, 250)
	var fewer, grown, dropped [][]float64
	more := waves(300, 0.2, 9)
	for c := range columns {
		fewer = append(fewer, columns[c][:300])
		grown = append(grown, slices.Concat(columns[c], more[c]))
		dropped = append(dropped, columns[c][1:])
	}
	same := func(*pipeline.Job) {}
	seed := func(j *pipeline.Job) { j.Train.Seed = 5 }
	inSequence := func(j *pipeline.Job) { j.DeltaPolicy = certify.DeltaSequence }
	n := int64(0)
	for _, c := range []struct {
		name    string
		first   func(*pipeline.Job) // on the whole lake, number 1 of its sequence
		then    func(*pipeline.Job)
		on      *lake
		number  int64
		earlier int
		swapped bool
	}{
		{"the same job again", same, same, whole, 0, 0, false},
		{"the same job in other row groups", same, same, newLake(columns, 400), 0, 1, false},
		{"the same job on other features", same, same, engineered, 0, 1, false},
		{"the same night with other features", inSequence, inSequence, engineered, 2, 1, false},
		{"another seed", same, seed, whole, 0, 1, false},
		{"other files and names", same, seed, reordered, 0, 1, false},
		{"other features", same, func(j *pipeline.Job) { j.Features = []string{"a"} }, &lake{names: []string{"a", "y"}, columns: [][]float64{columns[0], columns[2]}, shards: []int{400}}, 0, 1, false},
		{"fewer rows", same, seed, newLake(fewer, 300), 0, 1, false},
		{"rows that came", same, seed, newLake(grown, 700), 0, 1, false},
		{"another key", same, func(j *pipeline.Job) { j.Roles.Key = "mine" }, whole, 0, 1, true},
		{"a larger share", same, func(j *pipeline.Job) { j.Roles.Holdout = 0.3 }, whole, 0, 1, true},
		{"a smaller share", same, func(j *pipeline.Job) { j.Roles.Holdout = 0.1 }, whole, 0, 1, false},
		{"a larger share of more rows", same, func(j *pipeline.Job) { j.Roles.Holdout = 0.3 }, newLake(grown, 700), 0, 1, true},
		{"a row dropped", same, same, newLake(dropped, 399), 0, 1, true},
		{"other rows", same, seed, newLake(more, 300), 0, 0, false},
		{"the next night", inSequence, inSequence, newLake(grown, 700), 2, 0, false},
		{"a job of another name", inSequence, func(j *pipeline.Job) { inSequence(j); seed(j) }, whole, 1, 1, false},
	} {
		log := &pipelinetest.Store{}
		first := looker(t, log, whole, c.first, min(c.number, 1))
		if first.Delta.Looks != nil {
			t.Fatalf("%s: the first look pays for %+v", c.name, first.Delta.Looks)
		}
		n = first.Ledger.Holdout
		got := looker(t, log, c.on, c.then, c.number).Delta.Looks
		switch {
		case c.earlier == 0 && got != nil:
			t.Errorf("%s pays for %+v", c.name, got)
		case c.earlier > 0 && (got == nil || len(got.Earlier) != c.earlier || got.Earlier[0] > n || got.Swapped != c.swapped):
			t.Errorf("%s: %+v, want %d look, swapped %t", c.name, got, c.earlier, c.swapped)
		}
	}
}

// A certificate without a log says so, one of a second look has the lesser share of delta;
// both verify, and neither can hide it.
func TestLooksStandInTheCertificate(t *testing.T) {
	l := newLake(waves(400, 0.2, 4), 150, 250)
	p := publish(t, l, withHoldout(0.2))
	if looks := p.certificate.Delta.Looks; looks == nil || !looks.Uncounted {
		t.Errorf("without a log it says %+v", looks)
	}
	store := &pipelinetest.Store{}
	looker(t, store, l, func(j *pipeline.Job) { j.Train.Seed = 3 }, 0)
	env := l.environment(p.store)
	env.Looks = store
	second := run(t, job(t, withHoldout(0.2)), env)
	one, _ := p.certificate.Guarantee(certify.GuaranteeHoldout)
	two, _ := second.Certificate.Guarantee(certify.GuaranteeHoldout)
	if !(two.Bound > one.Bound) || two.EmpiricalRisk != one.EmpiricalRisk {
		t.Errorf("the second look has the bound %v, the first %v", two.Bound, one.Bound)
	}
	_, err := p.verify(t, second.Certificate, second.Model, second.ModelDigest, l)
	fatal.If(t, err)
	hidden := second.Certificate
	hidden.Delta.Looks = nil
	if _, err := p.verify(t, hidden, second.Model, second.ModelDigest, l); err == nil {
		t.Error("a look that is left out passes, with the bound of the second")
	}
}

// A training that its time limit ended elsewhere has another answer.
func TestLooksCountTimesOfStopping(t *testing.T) {
	l, log := newLake(waves(400, 0.2, 4), 400), &pipelinetest.Store{}
	looker(t, log, l, func(*pipeline.Job) {}, 0)
	log.Seen[0].Hurried = 3
	if again := looker(t, log, l, func(*pipeline.Job) {}, 0).Delta.Looks; again == nil || len(again.Earlier) != 1 {
		t.Errorf("it pays for %+v", again)
	}
}

// Whoever has seen K alternatives of a sweep has seen K answers. None of them pays for another.
func TestLooksCountEachAlternative(t *testing.T) {
	l := newLake(waves(400, 0.2, 4), 150, 250)
	j := job(t, func(j *pipeline.Job) {
		withHoldout(0.2)(j)
		j.Sweep = []pipeline.Alternative{{Loss: pipeline.Tolerance{EpsilonStd: 0.3}}, {Loss: pipeline.Tolerance{EpsilonStd: 0.4}}, {Loss: pipeline.Tolerance{EpsilonStd: 0.5}}}
	})
	log := &pipelinetest.Store{}
	var s swept
	fatal.If(t, s.run(t.Context(), l, j, func(env *pipeline.Environment) { env.Looks = log }))
	for _, r := range s.results {
		if r.Certificate.Delta.Looks != nil {
			t.Errorf("an alternative pays for %+v", r.Certificate.Delta.Looks)
		}
	}
	if after := looker(t, log, l, func(*pipeline.Job) {}, 0).Delta.Looks; after == nil || len(after.Earlier) != len(j.Sweep) {
		t.Errorf("the next job pays for %+v, want the looks of %d alternatives", after, len(j.Sweep))
	}
}
