package pipeline_test

import (
	"maps"
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
		silent map[int64]bool
		log    pipeline.Looks
		on     *lake
		want   *certify.Looks
	}{
		{"at once", 1, 2, []pipeline.FormerJob{{Identity: of(0), Last: 1}}, nil, log, whole, &certify.Looks{Earlier: []int64{n, 1}}},
		{"the next number", 1, 3, []pipeline.FormerJob{{Identity: of(0), Last: 1}}, nil, log, whole, &certify.Looks{Earlier: []int64{n, 1}}},
		{"on other rows", 1, 2, []pipeline.FormerJob{{Identity: of(0), Last: 1}}, nil, log, other, &certify.Looks{Earlier: []int64{1}}},
		{"on other rows, after a failure", 2, 5, []pipeline.FormerJob{{Identity: of(0), Last: 4}}, map[int64]bool{1: true, 2: true, 3: true, 4: true}, &pipelinetest.Store{}, other, &certify.Looks{Earlier: []int64{3, 8, 15, 24, 1}}},
		{"the first job again, after two failures", 0, 6, []pipeline.FormerJob{{Identity: of(0), Last: 1}, {Identity: of(1), Last: 5}}, map[int64]bool{4: true, 5: true}, log, whole, &certify.Looks{Earlier: []int64{n, n, n, 24, 35, 1, 1}}},
		{"with another log", 1, 2, []pipeline.FormerJob{{Identity: of(0), Last: 1}}, map[int64]bool{1: false}, &pipelinetest.Store{}, whole, &certify.Looks{Uncounted: true}},
	} {
		j, err := night(c.seed).Numbered("nights", c.number).Amended(c.former, c.silent)
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

// A look that no price pays for stays one, whatever else the log lacks.
func TestAmendmentGivesNoPrice(t *testing.T) {
	for _, paid := range []certify.Looks{{Earlier: []int64{80}, Swapped: true}, {Earlier: []int64{80}, Ended: true}} {
		if got, err := pipeline.ChargeFormer(&paid, 1, 3, nil, nil); err != nil || !slices.Equal(got.Earlier, paid.Earlier) || got.Swapped != paid.Swapped || got.Ended != paid.Ended || got.Uncounted {
			t.Errorf("%+v becomes %+v, %v", paid, got, err)
		}
	}
	silent := map[int64]bool{}
	for k := range int64(certify.MaxLooks) {
		silent[k] = true
	}
	if _, err := pipeline.ChargeFormer(nil, 1, certify.MaxLooks, silent, nil); err == nil {
		t.Error("more failures than looks that can be paid for")
	}
}

// Whoever changes the job after whichever answers, as often as he likes, spends with all that he may
// show under one number no more than the twentieth that the first job leaves: the worst that he can
// do, for up to seven numbers before.
func TestAmendedJobsSpendDelta(t *testing.T) {
	price := func(last int64, changes int, silent map[int64]bool) float64 {
		shown := map[int64]bool{}
		for k := int64(1); k <= last; k++ {
			shown[k] = !silent[k]
		}
		paid, err := pipeline.ChargeFormer(nil, changes, last, silent, shown)
		fatal.If(t, err)
		j := float64(len(paid.Earlier) + 1)
		part := 1 / (10 * j * (j + 1))
		for _, n := range paid.Earlier {
			part /= float64(n + 1)
		}
		return part
	}
	var worst func(last int64, changes int, silent map[int64]bool) float64
	worst = func(last int64, changes int, silent map[int64]bool) float64 {
		goOn := func(changes int) float64 {
			if last == 7 {
				return 0
			}
			failed := maps.Clone(silent)
			failed[last+1] = true
			return worst(last+1, changes, silent) + worst(last+1, changes, failed)
		}
		stay := goOn(changes)
		if last == 0 {
			return stay
		}
		return max(stay, price(last, changes+1, silent)+goOn(changes+1))
	}
	if spent := worst(0, 0, map[int64]bool{}); !(spent <= 0.05) || spent < 0.01 {
		t.Errorf("%v of a number's part of delta", spent)
	}
}
