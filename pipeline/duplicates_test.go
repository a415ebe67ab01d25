package pipeline_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// repeated are n different rows, each as often as times says, in random order.
func repeated(n, times int, noise float64, seed uint64) [][]float64 {
	once := waves(n, noise, seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	columns := make([][]float64, len(once))
	for _, at := range rng.Perm(n * times) {
		for j := range once {
			columns[j] = append(columns[j], once[j][at%n])
		}
	}
	return columns
}

func drop(j *job.Job) { tiny(j); j.Duplicates.Policy = job.DuplicatesDropped }

func keepAll(j *job.Job) { tiny(j); j.Duplicates.Policy = job.DuplicatesKept }

func limited(share float64) func(*job.Job) {
	return func(j *job.Job) {
		tiny(j)
		j.Duplicates = job.DuplicatesDecl{Policy: job.DuplicatesLimited, Limit: share}
	}
}

// firsts are the ordinals of the rows that equal no earlier one.
func firsts(columns [][]float64) []int64 {
	seen := map[[3]float64]bool{}
	var out []int64
	for i := range columns[0] {
		row := [3]float64{columns[0][i], columns[1][i], columns[2][i]}
		if !seen[row] { // -0 is 0 for a map too
			out = append(out, int64(i))
		}
		seen[row] = true
	}
	return out
}

// Nothing of a job with more duplicates than its limit is trained, published or recorded, and the
// message says what can be done.
func TestDuplicatesStopTheJob(t *testing.T) {
	var store pipelinetest.Store
	env := newLake(repeated(400, 50, 0.5, 70)).environment(&store)
	var phases []job.Phase
	env.Observer.Progress = func(p job.Progress) { phases = append(phases, p.Phase) }
	_, err := pipeline.Run(t.Context(), testJob(t, limited(0.01)), env)
	if !errors.Is(err, job.ErrData) {
		t.Fatalf("error %v, want ErrData", err)
	}
	for _, want := range []string{"more than 1 % of the rows", "duplicates: drop", "duplicates: keep"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message does not say %q: %v", want, err)
		}
	}
	_, begun := store.Where()
	if log, err := store.Log(); err != nil || len(store.Models)+len(store.Certificates)+len(log.Attempts) > 0 || begun || !slices.Equal(phases, []job.Phase{job.PhaseFirstPass}) {
		t.Errorf("something was begun: %v", phases)
	}
}

// A job that says nothing of equal rows drops them, and reads them once more only if there are some.
func TestDuplicatesAreDroppedByDefault(t *testing.T) {
	for times, want := range map[int]int{1: 2, 3: 5} { // readings of all rows
		l := newLake(repeated(300, times, 0.4, 75))
		var store pipelinetest.Store
		env := l.environment(&store)
		var readings atomic.Int64
		env.Open = func(ctx context.Context, features []string) (dataset.Source, error) {
			src, err := l.open(ctx, features)
			return &faulty{Source: src, batch: -1, seen: func(_, batch int) {
				if batch == 0 {
					readings.Add(1)
				}
			}}, err
		}
		env.Resources.Memory = kept
		var warnings []string
		env.Observer.Warning = func(text string) { warnings = append(warnings, text) }
		r := run(t, testJob(t, tiny), env)
		c := r.Certificate
		if got := c.Duplicates; got.Policy != certify.DuplicatesDropped || got.Rows != int64(300*(times-1)) || c.Counts.Duplicates != int64(300*(times-1)) {
			t.Errorf("%d times: %+v, %+v", times, got, c.Counts)
		}
		warned := slices.ContainsFunc(warnings, func(s string) bool { return strings.Contains(s, "66.7 % of the rows repeat") })
		if assumed := assumption(c, certify.AssumeDuplicates).ID != ""; assumed != (times > 1) || warned != (times > 1) {
			t.Errorf("%d times: assumed %v, warned %v: %q", times, assumed, warned, warnings)
		}
		if got := int(readings.Load()); got > want+1 { // training may read them, too
			t.Errorf("%d times: %d readings, want %d", times, got, want)
		}
	}
}

// As many duplicates as the limit allows do not stop a job; one more does. Duplicates of
// features alone never do.
func TestDuplicatesUpToTheLimit(t *testing.T) {
	columns := waves(200, 0.3, 71)
	for i := range 3 {
		for j := range columns {
			columns[j][100+i] = columns[j][i]
		}
	}
	columns[0][50], columns[1][50] = columns[0][49], columns[1][49] // another target
	for limit, stops := range map[float64]bool{0: true, 0.0149: true, 0.015: false, 0.02: false, 1: false} {
		_, err := pipeline.Run(t.Context(), testJob(t, limited(limit)), newLake(columns).environment(&pipelinetest.Store{}))
		if errors.Is(err, job.ErrData) != stops || err != nil && !stops {
			t.Errorf("3 duplicates in 200 rows, limit %v: %v, want an error: %v", limit, err, stops)
		}
	}
}

// 0 and -0 are one value.
func TestZeroesOfBothSignsAreDuplicates(t *testing.T) {
	columns := waves(200, 0.3, 72)
	for i := range 2 {
		columns[0][i], columns[1][i], columns[2][i] = math.Copysign(0, float64(i)-0.5), 1, 1
	}
	r := run(t, testJob(t, tiny), newLake(columns).environment(&pipelinetest.Store{}))
	if r.Certificate.Duplicates.Rows != 1 {
		t.Errorf("%+v, want 1 duplicate", r.Certificate.Duplicates)
	}
}

// Duplicates are equal in the columns that are used: a column that is left out
// because it is constant on the prior rows tells no rows apart.
func TestColumnsThatAreLeftOutTellNoRowsApart(t *testing.T) {
	columns := repeated(100, 2, 0.3, 73)
	prior := splitOf(200, 0).PriorRows
	rare := make([]float64, 200)
	for i := range rare {
		if !slices.Contains(prior, int64(i)) {
			rare[i] = float64(i)
		}
	}
	l := newLake(columns, 120, 80)
	l.names, l.columns = append([]string{"0"}, l.names...), append([][]float64{rare}, l.columns...)
	r := run(t, testJob(t, tiny), l.environment(&pipelinetest.Store{}))
	if r.Certificate.Duplicates.Rows != 100 {
		t.Errorf("%+v, want 100 duplicates", r.Certificate.Duplicates)
	}
}

// The same rows once and many times over, with duplicates dropped: the bound of what
// there is. It holds, N is the number of different training rows, and the document
// says what was done and assumed.
func TestDroppedDuplicatesAreNotCertifiedOn(t *testing.T) {
	columns := repeated(400, 50, 0.5, 70)
	p := publish(t, newLake(columns, 9000, 11_000), drop)
	c := p.certificate
	prior := splitOf(20_000, 0).PriorRows
	var both int64
	for _, i := range firsts(columns) {
		if slices.Contains(prior, i) {
			both++
		}
	}
	if want := (certify.Counts{Rows: 20_000, Prior: both, Training: 400 - both, Duplicates: 19_600}); c.Counts != want {
		t.Errorf("counts %+v, want %+v", c.Counts, want)
	}
	if c.Duplicates != (certify.Duplicates{Policy: certify.DuplicatesDropped, Rows: 19_600}) {
		t.Errorf("duplicates %+v", c.Duplicates)
	}
	if got := assumption(c, certify.AssumeDuplicates).Checked; got != certify.CheckNone {
		t.Errorf("that equal rows are duplicates is checked by %q", got)
	}
	src, err := newLake(waves(20_000, 0.5, 170)).open(t.Context(), nil)
	fatal.If(t, err)
	fresh, _, _, err := pipeline.Evaluate(t.Context(), src, p.result.Model, 1)
	fatal.If(t, err)
	draw, _ := c.Claim(certify.ClaimDraw)
	if draw.N != 400-both || draw.Bound < fresh {
		t.Errorf("bound %v with N = %d, but fresh rows give %v", draw.Bound, draw.N, fresh)
	}
	if _, err := p.verify(t, c, p.result.Model, p.result.ArtifactRef.Model, p.lake); err != nil {
		t.Errorf("Verify = %v", err)
	}
}

// Equal rows that are kept count as separate draws.
func TestKeptDuplicatesCount(t *testing.T) {
	columns := repeated(300, 2, 0.4, 75)
	c := publish(t, newLake(columns, 250, 350), keepAll).certificate
	if want := (certify.Duplicates{Policy: certify.DuplicatesKept, Rows: 300}); c.Duplicates != want || c.Counts.Duplicates != 0 {
		t.Errorf("duplicates %+v and %d in the counts, want %+v", c.Duplicates, c.Counts.Duplicates, want)
	}
	all := publish(t, newLake(columns, 250, 350), limited(0.5)).certificate
	a, _ := c.Claim(certify.ClaimDraw)
	b, _ := all.Claim(certify.ClaimDraw)
	if a.Bound != b.Bound || all.Duplicates.Rows != 300 || assumption(c, certify.AssumeDuplicates).ID != "" {
		t.Errorf("bounds %v and %v, duplicates %+v", a.Bound, b.Bound, all.Duplicates)
	}
}

func assumption(c certify.Certificate, id certify.AssumptionID) certify.Assumption {
	for _, a := range c.Assumptions {
		if a.ID == id {
			return a
		}
	}
	return certify.Assumption{}
}

// What a certificate says of duplicates, and of the subsets that they are in, is counted
// again: other counts are refused, and so are rows of 400 different ones that
// are given out for 20,000.
func TestForgedDuplicatesAreRefused(t *testing.T) {
	if raceDetector {
		t.Skip("takes minutes, and counts duplicates as TestPassIsTheSameInAnyParts does")
	}
	l := newLake(repeated(400, 5, 0.5, 76), 900, 1100)
	dropped, declared := publish(t, l, drop), publish(t, l, keepAll)
	policy := func(ev *certify.Evidence, from, to certify.DuplicatesPolicy) {
		reword(t, ev, `"policy":"`+string(from)+`"`, `"policy":"`+string(to)+`"`)
		ev.Duplicates.Policy = to
	}
	for name, c := range map[string]struct {
		of     *published
		change func(ev *certify.Evidence)
	}{
		"fewer duplicates": {declared, func(ev *certify.Evidence) {
			ev.Duplicates.Rows--
		}},
		"no duplicates":            {declared, func(ev *certify.Evidence) { ev.Duplicates.Rows = 0 }},
		"declared, said to be few": {declared, func(ev *certify.Evidence) { policy(ev, "keep", "limit"); ev.Duplicates.Limit = 1 }},
		"declared, said to be left": {declared, func(ev *certify.Evidence) {
			policy(ev, "keep", "drop")
			ev.Counts.Duplicates, ev.Duplicates.Rows = 0, 0
		}},
		"above its own limit": {declared, func(ev *certify.Evidence) {
			policy(ev, "keep", "limit")
			reword(t, ev, `"limit":0`, `"limit":0.01`)
			ev.Duplicates.Limit, ev.Duplicates.Rows = 0.01, 20
		}},
		"a copy that trains": {dropped, func(ev *certify.Evidence) {
			ev.Counts.Duplicates, ev.Counts.Prior = ev.Counts.Duplicates-1, ev.Counts.Prior+1
			ev.Duplicates.Rows--
		}},
		"dropped, said to be declared": {dropped, func(ev *certify.Evidence) {
			policy(ev, "drop", "keep")
			ev.Counts.Prior += ev.Counts.Duplicates
			ev.Counts.Duplicates = 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := forge(t, c.of.certificate, c.change)
			c.of.refused(t, "a forged certificate", f, c.of.result.Model, c.of.result.ArtifactRef.Model, l)
		})
	}
}

// A value that changes while duplicates are searched, or after, is detected.
func TestDuplicatesThatChangeMeanwhileAreDetected(t *testing.T) {
	columns := repeated(200, 2, 0.2, 78)
	for opened := 2; opened <= 5; opened++ { // the first one counts, two more are for training, and two in the last pass
		changed := make([][]float64, len(columns))
		for j := range columns {
			changed[j] = slices.Clone(columns[j])
		}
		l := newLake(changed, 400)
		var store pipelinetest.Store
		env := l.environment(&store)
		readings := 0
		env.Open = func(ctx context.Context, features []string) (dataset.Source, error) {
			src, err := l.open(ctx, features)
			if err != nil {
				return nil, err
			}
			return &faulty{Source: src, batch: -1, seen: func(_, batch int) {
				if batch == 0 {
					if readings++; readings == opened+1 {
						changed[2][7] = 99
					}
				}
			}}, nil
		}
		if _, err := pipeline.Run(t.Context(), testJob(t, drop), env); !errors.Is(err, job.ErrChanged) && opened < 5 {
			t.Errorf("a change at reading %d: %v, want ErrChanged", opened+1, err)
		}
	}
}
