package pipeline_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// reuser runs a job on a lake in an output with this log.
func reuser(t *testing.T, log fit.Logs, l *lake, change func(*job.Job), number int64) certify.Certificate {
	t.Helper()
	j := testJob(t, func(j *job.Job) { withHoldout(0.2)(j); j.Train.Passes = 4; change(j) })
	if number > 0 {
		j = j.Numbered("nights", number)
	}
	env := l.environment(&pipelinetest.Store{})
	env.Log = log
	return run(t, j, env).Certificate
}

// Each further model that is tested on the same held-out rows pays for those before it. The same model
// again pays what it paid, and other rows are other rows.
func TestReuseOfHeldOutRowsIsPaid(t *testing.T) {
	columns, more := waves(400, 0.2, 4), waves(400, 0.2, 9)
	whole := newLake(columns, 150, 250)
	fewer := &lake{names: []string{"a", "y"}, columns: [][]float64{columns[0], columns[2]}, shards: []int{400}}
	var grown, other, doubled [][]float64
	for c := range columns {
		grown = append(grown, slices.Concat(columns[c], more[c]))
		other = append(other, slices.Clone(columns[c]))
		doubled = append(doubled, slices.Concat(columns[c], slices.Repeat(columns[c][:1], 30)))
	}
	for i := range other[2] {
		other[2][i] += 1e-9
	}
	again := [][]float64{slices.Concat(columns[0][:320], more[0][320:]), columns[1], columns[2]}
	last := func(j *job.Job) { j.Split.Last = true }
	alike := [][]float64{slices.Concat(more[0], more[0]), slices.Concat(columns[1], more[1]), slices.Concat(more[2], more[2])}
	distinct := &lake{names: []string{"a", "y"}, columns: [][]float64{alike[0], alike[2]}, shards: []int{800}}
	seeded := func(seed uint64) func(*job.Job) { return func(j *job.Job) { j.Train.Seed = seed } }
	numbered := func(j *job.Job) { j.Repeated, j.Train.Seed = true, 7 }
	log, held := &pipelinetest.Store{}, int64(0)
	for _, c := range []struct {
		name    string
		change  func(*job.Job)
		on      *lake
		number  int64
		earlier int
	}{
		{"the first model", seeded(0), whole, 0, 0},
		{"a second one", seeded(1), whole, 0, 1},
		{"a third one", seeded(2), whole, 0, 2},
		{"the second again", seeded(1), whole, 0, 1},
		{"another job with the model of the first", func(j *job.Job) { j.Rejected.Limit = 0.5 }, whole, 0, 0},
		{"without a feature", func(j *job.Job) { j.Features = []string{"a"} }, fewer, 0, 3},
		{"a number of a sequence", numbered, whole, 1, 4},
		{"its next number", func(j *job.Job) { numbered(j); j.Train.Seed = 8 }, whole, 2, 5},
		{"one row again, thirty times", drop, newLake(doubled, 430), 0, 6},
		{"rows of another key", func(j *job.Job) { j.Split.Key = "mine" }, whole, 0, 0},
		{"rows that are alike but for a feature", drop, newLake(alike, 800), 0, 0},
		{"without the feature", func(j *job.Job) { drop(j); j.Features = []string{"a"} }, distinct, 0, 1},
		{"rows that came", seeded(0), newLake(grown, 800), 0, 0},
		{"other rows", seeded(0), newLake(other, 400), 0, 0},
		{"the last rows", last, whole, 0, 0},
		{"the same model, with another feature of the last rows", last, newLake(again, 150, 250), 0, 1},
	} {
		got := reuser(t, log, c.on, c.change, c.number)
		var want *certify.Reuse
		if c.on != distinct { // whose rows are fewer than those that were shown
			held = got.Counts.Holdout
		}
		if c.earlier > 0 {
			want = &certify.Reuse{Earlier: slices.Repeat([]int64{held}, c.earlier)}
		}
		if paid := got.Delta.Reuse; (paid == nil) != (want == nil) || paid != nil && (paid.Ended || !slices.Equal(paid.Earlier, want.Earlier)) {
			t.Errorf("%s: it pays for %+v, want %+v", c.name, paid, want)
		}
	}
}

// Rows that one job rejects, and another does not, make no held-out units others.
func TestReuseOfHeldOutUnitsIsPaid(t *testing.T) {
	columns, log := days(1200, 200, 7), &pipelinetest.Store{}
	for i := range 100 {
		columns[1][12*i] = math.NaN()
	}
	whole := dayLake(columns, 1200)
	fewer := &lake{names: []string{"a", "day", "y"}, columns: [][]float64{columns[0], columns[2], columns[3]}, shards: []int{1200}, labels: []string{"day"}}
	for use, l := range []*lake{whole, fewer} {
		l.mark = true
		c := reuser(t, log, l, func(j *job.Job) { byDay(j); j.Rejected.Limit = 0.2 }, 0)
		if (c.Delta.Reuse != nil) != (use == 1) || (c.Counts.Rejected > 0) != (use == 0) {
			t.Errorf("use %d, of which %d rows are rejected: it pays for %+v", use+1, c.Counts.Rejected, c.Delta.Reuse)
		}
	}
}

// A certificate of a second use has the lesser share of delta. It verifies, and cannot hide it.
func TestReuseStandsInTheCertificate(t *testing.T) {
	l := newLake(waves(400, 0.2, 4), 150, 250)
	p := publish(t, l, withHoldout(0.2))
	store := &pipelinetest.Store{}
	reuser(t, store, l, func(j *job.Job) { j.Train.Seed = 3 }, 0)
	env := l.environment(p.store)
	env.Log = store
	second := run(t, testJob(t, withHoldout(0.2)), env)
	one, _ := p.certificate.Claim(certify.ClaimHoldout)
	two, _ := second.Certificate.Claim(certify.ClaimHoldout)
	if !(two.Bound > one.Bound) || *two.Misses != *one.Misses {
		t.Errorf("the second use has the bound %v, the first %v", two.Bound, one.Bound)
	}
	_, err := p.verify(t, second.Certificate, second.Model, second.ArtifactRef.Model, l)
	fatal.If(t, err)
	hidden := second.Certificate
	hidden.Delta.Reuse = nil
	if _, err := p.verify(t, hidden, second.Model, second.ArtifactRef.Model, l); err == nil {
		t.Error("a use that is left out passes, with the bound of the second")
	}
}

// One model on the same rows shows one count, at whatever δ. Of losses that are not 0 or 1 the bound at
// another δ is another answer, and the same bound none.
func TestBoundsAtAnotherDeltaPay(t *testing.T) {
	l := newLake(waves(200, 0.2, 4), 80, 120)
	for kind, want := range map[certify.LossKind]int{certify.LossZeroOne: 0, certify.LossSquared: 1} {
		log := &pipelinetest.Store{}
		for i, delta := range []float64{0.01, 0.01, 0.02, 0.02} {
			number := int64(i / 3)
			c := reuser(t, log, l, func(j *job.Job) { // which trains without a look at δ
				j.Loss.Kind, j.Delta, j.Inducing, j.Train, j.Repeated = kind, delta, nil, job.TrainDecl{Method: job.MethodFullGP, Passes: 2}, number > 0
			}, number)
			most := want * max(0, i-1)
			if paid := c.Delta.Reuse; most == 0 && paid != nil || most > 0 && (paid == nil || len(paid.Earlier) != most) {
				t.Errorf("%s, run %d: it pays for %+v, want %d uses", kind, i+1, paid, most)
			}
			if g, _ := c.Claim(certify.ClaimHoldout); (g.Risk == nil) == kind.Counts() {
				t.Errorf("%s: next to the bound stands %+v", kind, g)
			}
		}
	}
}

// A process that is killed before or behind the record of its use, and begun again, pays for nothing and
// gives the same bytes. Another job pays for it if it can have shown something.
func TestReuseAfterKilledRuns(t *testing.T) {
	l := newLake(waves(400, 0.2, 4), 400)
	j := testJob(t, func(j *job.Job) { withHoldout(0.2)(j); j.Train.Passes = 4 })
	var want []byte
	for _, before := range []bool{false, true} {
		store := &pipelinetest.Store{}
		env := l.environment(store)
		env.Log = killedLog{store, before}
		if _, err := pipeline.Run(t.Context(), j, env); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if log, err := store.Log(); err != nil || len(log.Uses) > 0 == before || len(store.Models) != 1 {
			t.Errorf("killed before its record %t: %d uses, %d models, %v", before, len(log.Uses), len(store.Models), err)
		}
		other := reuser(t, store, l, func(j *job.Job) { j.Train.Seed = 9 }, 0).Delta.Reuse
		if (other == nil) != before {
			t.Errorf("killed before its record %t: another job pays for %+v", before, other)
		}
		if before { // else the other job was first
			continue
		}
		env.Log = store
		if r := run(t, j, env); r.Certificate.Delta.Reuse != nil {
			t.Errorf("begun again it pays for %+v", r.Certificate.Delta.Reuse)
		}
		want = publish(t, l, func(j *job.Job) { withHoldout(0.2)(j); j.Train.Passes = 4 }).store.Certificates[0]
		if !bytes.Equal(store.Certificates[0], want) {
			t.Error("another certificate than of an undisturbed run")
		}
	}
}

var errKilled = errors.New("killed")

// A killedLog ends a process that records a use.
type killedLog struct {
	*pipelinetest.Store

	before bool
}

func (k killedLog) PutLog(l fit.Log) error {
	if len(l.Uses) == 0 || !k.before {
		if err := k.Store.PutLog(l); err != nil || len(l.Uses) == 0 {
			return err
		}
	}
	return errKilled
}
