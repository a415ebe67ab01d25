package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// looker runs a job on a lake and returns what its certificate says of looks.
func looker(t *testing.T, log *pipelinetest.Store, l *lake, change func(*pipeline.Job), number int64) certify.Certificate {
	t.Helper()
	j := job(t, func(j *pipeline.Job) { withHoldout(0.2)(j); j.Train.Passes = 4; change(j) })
	if number > 0 {
		j = j.Numbered("nights", number)
	}
	env := l.environment(&pipelinetest.Store{})
	env.Looks = log
	return run(t, j, env).Certificate
}

// mapped is a lake of two features and a target.
func mapped(columns [][]float64, second int, target func(y float64) float64) *lake {
	y := make([]float64, len(columns[2]))
	for i, v := range columns[2] {
		y[i] = target(v)
	}
	return newLake([][]float64{columns[0], columns[second], y}, 150, len(y)-150)
}

// A further look at the same hold-out rows is charged and named, whatever the output, the
// features and the unit of the target; the same model again, rows that nobody has looked at, and
// the numbers of one sequence are not.
func TestLooksAreKnownByTheirRows(t *testing.T) {
	columns := waves(400, 0.2, 4)
	whole := newLake(columns, 150, 250)
	reordered := &lake{names: []string{"b", "a", "y"}, columns: [][]float64{columns[1], columns[0], columns[2]}, shards: []int{400}}
	raw := func(y float64) float64 { return y }
	engineered := mapped(columns, 0, raw)
	var fewer, grown, dropped, turned, later [][]float64
	more := waves(400, 0.2, 9)
	for c := range columns {
		fewer = append(fewer, columns[c][:300])
		grown = append(grown, slices.Concat(columns[c], more[c]))
		dropped = append(dropped, columns[c][1:])
		turned = append(turned, slices.Clone(columns[c]))
		slices.Reverse(turned[c])
		later = append(later, slices.Concat(more[c], turned[c]))
	}
	same := func(*pipeline.Job) {}
	seed := func(j *pipeline.Job) { j.Train.Seed = 5 }
	mine := func(j *pipeline.Job) { j.Roles.Key = "mine" }
	last := func(j *pipeline.Job) { j.Roles.Last = true }
	larger := func(j *pipeline.Job) { j.Roles.Holdout = 0.3 }
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
		{"another job with the same model", same, func(j *pipeline.Job) { j.BadRows.Tolerance = 0.5 }, whole, 0, 0, false},
		{"the same job on other features", same, same, engineered, 0, 1, false},
		{"the same night with other features", inSequence, inSequence, engineered, 2, 1, false},
		{"other features, and rows that came", same, same, mapped(grown, 0, raw), 0, 1, false},
		{"other features, and a larger share", same, larger, engineered, 0, 1, true},
		{"a target in another unit", same, same, mapped(columns, 1, func(y float64) float64 { return 60*y + 7 }), 0, 1, false},
		{"another seed", same, seed, whole, 0, 1, false},
		{"other files and names", same, seed, reordered, 0, 1, false},
		{"other features", same, func(j *pipeline.Job) { j.Features = []string{"a"} }, &lake{names: []string{"a", "y"}, columns: [][]float64{columns[0], columns[2]}, shards: []int{400}}, 0, 1, false},
		{"fewer rows", same, seed, newLake(fewer, 300), 0, 1, false},
		{"rows that came", same, seed, newLake(grown, 800), 0, 1, false},
		{"another key", same, mine, whole, 0, 1, true},
		{"a larger share", same, larger, whole, 0, 1, true},
		{"a smaller share", same, func(j *pipeline.Job) { j.Roles.Holdout = 0.1 }, whole, 0, 1, false},
		{"a larger share of more rows", same, larger, newLake(grown, 800), 0, 1, true},
		{"a row dropped", same, same, newLake(dropped, 399), 0, 1, true},
		{"the last rows, and then the first", last, last, newLake(turned, 400), 0, 1, true},
		{"the last rows, and then the first behind others", last, last, newLake(later, 400, 400), 0, 1, true},
		{"the last rows, and then those that came", last, last, newLake(grown, 800), 0, 0, false},
		{"other rows", same, seed, newLake(more, 400), 0, 0, false},
		{"the next night", inSequence, inSequence, newLake(grown, 800), 2, 0, false},
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

// Targets of few values, and such as are 0 every night, are equal by chance in other rows. The same
// rows are known all the same.
func TestLooksOfFewTargets(t *testing.T) {
	for name, target := range map[string]func(i int, y float64) float64{
		"two values":   func(_ int, y float64) float64 { return math.Floor(y) },
		"forty values": func(_ int, y float64) float64 { return math.Floor(20 * y) },
		"nights": func(i int, y float64) float64 {
			if i%24 < 12 {
				return 0
			}
			return y
		},
	} {
		log, same := &pipelinetest.Store{}, func(*pipeline.Job) {}
		columns, others := waves(400, 0.2, 4), waves(400, 0.2, 9)
		for _, of := range [][][]float64{columns, others} {
			for i, y := range of[2] {
				of[2][i] = target(i, y)
			}
		}
		looker(t, log, newLake(columns, 400), same, 0)
		if looks := looker(t, log, newLake(others, 400), same, 0).Delta.Looks; looks != nil {
			t.Errorf("%s: other rows pay for %+v", name, looks)
		}
		if looks := looker(t, log, newLake([][]float64{columns[0], columns[0], columns[2]}, 400), same, 0).Delta.Looks; looks == nil || len(looks.Earlier) != 1 {
			t.Errorf("%s: the same rows with other features pay for %+v", name, looks)
		}
	}
}

// A source that repeats its records has equal rows in lakes that share none: looks at them are paid,
// and no row of one role is taken for a row of the other.
func TestLooksOfRepeatedRows(t *testing.T) {
	source := waves(150, 0.2, 4)
	draw := func(seed uint64) *lake {
		drawn, chance := make([][]float64, len(source)), rand.New(rand.NewPCG(seed, 0))
		for range 400 {
			i := chance.IntN(150)
			for c := range drawn {
				drawn[c] = append(drawn[c], source[c][i])
			}
		}
		return newLake(drawn, 400)
	}
	for name, change := range map[string]func(*pipeline.Job){
		"independent": func(j *pipeline.Job) { j.Copies.Policy = pipeline.CopiesKept },
	} {
		log := &pipelinetest.Store{}
		looker(t, log, draw(1), change, 0)
		if looks := looker(t, log, draw(2), change, 0).Delta.Looks; looks == nil || len(looks.Earlier) != 1 || looks.Swapped {
			t.Errorf("%s: %+v, want one look", name, looks)
		}
	}
}

// Values for missing ones, on rows of an earlier look that left these rows out, are another look with a
// price; under another key they were train rows.
func TestLooksOfFilledRows(t *testing.T) {
	columns := waves(400, 0.2, 4)
	for i := 0; i < 400; i += 9 {
		columns[0][i] = math.NaN()
	}
	without, with := newLake(columns, 150, 250), newLake(columns, 150, 250)
	half := 0.5
	fill := pipeline.Encodings{{Column: "a", Scaled: true, Fill: &pipeline.Fill{With: &half}}}
	without.mark, with.encoded = true, fill
	for key, swapped := range map[string]bool{"pacsgp": false, "another": true} {
		log := &pipelinetest.Store{}
		first := looker(t, log, without, func(j *pipeline.Job) { j.BadRows.Tolerance = 0.2 }, 0)
		c := looker(t, log, with, func(j *pipeline.Job) { j.Encode, j.Roles.Key = fill, key }, 0)
		paid := c.Delta.Looks
		if paid == nil || paid.Swapped != swapped || !slices.Equal(paid.Earlier, []int64{first.Ledger.Holdout}) && !swapped || c.Ledger.Holdout <= first.Ledger.Holdout && !swapped {
			t.Errorf("key %s: %+v of %d hold-out rows, after %d", key, paid, c.Ledger.Holdout, first.Ledger.Holdout)
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

// Another answer of the same job, by another program or machine, is a look of its own. From then on
// its family pays for all that was seen.
func TestSecondAnswersPay(t *testing.T) {
	columns, more := waves(400, 0.2, 4), waves(400, 0.2, 9)
	grown := [][]float64{slices.Concat(columns[0], more[0]), slices.Concat(columns[1], more[1]), slices.Concat(columns[2], more[2])}
	first, second, log := newLake(columns, 400), newLake(grown, 800), &pipelinetest.Store{}
	inSequence := func(j *pipeline.Job) { j.DeltaPolicy = certify.DeltaSequence }
	looker(t, log, first, inSequence, 1)
	if paid := looker(t, log, second, inSequence, 2).Delta.Looks; paid != nil {
		t.Fatalf("number 2 pays for %+v", paid)
	}
	log.Seen[0].Shown[0]++ // another machine trained it
	for i, c := range []struct {
		number int64
		on     *lake
	}{{1, first}, {3, second}, {1, first}} { // the last one is the first again
		paid := looker(t, log, c.on, func(j *pipeline.Job) { inSequence(j); j.Delta = 0.01 }, c.number).Delta.Looks
		if want := []int{2, 0, 2}[i]; c.number == 1 && (paid == nil || len(paid.Earlier) != want) {
			t.Errorf("look %d, number %d: it pays for %+v, want %d", i, c.number, paid, want)
		}
	}
	seen := len(log.Seen)
	log.Seen[1].Shown[0]++
	if paid := looker(t, log, second, inSequence, 2).Delta.Looks; paid == nil || len(paid.Earlier) != seen {
		t.Errorf("number 2 by another machine pays for %+v, want %d", paid, seen)
	}
}

// One model on the same rows shows one count, at whatever δ. Of losses that are not 0 or 1 the bound at
// another δ is another answer, and the same bound none.
func TestBoundsAtAnotherDeltaPay(t *testing.T) {
	l := newLake(waves(400, 0.2, 4), 150, 250)
	for kind, want := range map[certify.LossKind]int{certify.LossZeroOne: 0, certify.LossSquared: 1} {
		log := &pipelinetest.Store{}
		for i, delta := range []float64{0.01, 0.01, 0.02} {
			c := looker(t, log, l, func(j *pipeline.Job) { // which trains without a look at δ
				j.Loss.Kind, j.Delta, j.Inducing, j.Train = kind, delta, nil, pipeline.TrainDecl{Method: pipeline.MethodFullGP, Passes: 2}
			}, 0)
			most := 0
			if i == 2 {
				most = want
			}
			if paid := c.Delta.Looks; most == 0 && paid != nil || most > 0 && (paid == nil || len(paid.Earlier) != most) {
				t.Errorf("%s, run %d: it pays for %+v, want %d looks", kind, i+1, paid, most)
			}
			if g, _ := c.Guarantee(certify.GuaranteeHoldout); (g.EmpiricalRisk == certify.Risk{}) == kind.Counts() {
				t.Errorf("%s: beside the bound stands %+v", kind, g.EmpiricalRisk)
			}
		}
	}
}

// That a hold-out bound will promise nothing is told before training, once, and so if
// the job runs again.
func TestVoidHoldoutIsToldBeforeTraining(t *testing.T) {
	l, log := newLake(waves(400, 0.2, 4), 400), &pipelinetest.Store{}
	looker(t, log, l, func(*pipeline.Job) {}, 0)
	j := job(t, func(j *pipeline.Job) { withHoldout(0.2)(j); j.Train.Passes, j.Roles.Key = 4, "another" })
	for i := range 2 {
		var told []string
		env := l.environment(&pipelinetest.Store{})
		env.Looks = log
		env.Observer.Notice = func(text string) {
			if strings.Contains(text, "promise nothing") {
				told = append(told, "void")
			}
		}
		env.Observer.Progress = func(p pipeline.Progress) {
			if p.Step > 0 && !slices.Contains(told, "step") {
				told = append(told, "step")
			}
		}
		c := run(t, j, env).Certificate
		if want := "[void step]"; fmt.Sprint(told) != want || c.Delta.Looks == nil || !c.Delta.Looks.Swapped {
			t.Errorf("run %d: told %v, want %s; looks %+v", i, told, want, c.Delta.Looks)
		}
	}
}

// A number that another family has shown before is a slot's answer all the same: a second one of that slot is
// seen as such, and every later slot pays for all. It is paid for once, and again only if this slot may
// spend more of delta than that one did.
func TestAnswersThatFamiliesShare(t *testing.T) {
	a, b, lone := pipeline.Digest{1}, pipeline.Digest{2}, pipeline.Digest{3}
	type answer struct {
		family pipeline.Digest
		slot   pipeline.Slot
		shown  byte
		pays   int
	}
	one, two := pipeline.Slot{Number: 1}, pipeline.Slot{Number: 2}
	for name, answers := range map[string][]answer{
		"a second answer":               {{b, one, 'x', 0}, {a, one, 'x', 1}, {a, one, 'y', 1}, {a, two, 'z', 2}, {b, two, 'w', 2}, {a, two, 'z', 2}},
		"of a slot that may spend more": {{a, one, 'x', 0}, {lone, pipeline.Slot{}, 'x', 1}, {a, two, 'z', 0}},
		"of one that may not":           {{lone, pipeline.Slot{}, 'x', 0}, {a, one, 'x', 0}, {a, two, 'z', 1}, {b, pipeline.Slot{}, 'x', 0}, {b, pipeline.Slot{}, 'v', 2}},
	} {
		log := &pipelinetest.Store{}
		for i, x := range answers {
			l := pipeline.Look{Family: x.family, Slot: x.slot, Shown: pipeline.Digest{x.shown}, Sample: 100, Held: pipeline.HeldOut{Rows: 3, Marks: []uint64{1, 2, 3}}, Trained: []uint64{9}}
			earlier, err := log.Look(t.Context(), l)
			fatal.If(t, err)
			pays := 0
			if paid := l.Paid(earlier); paid != nil {
				pays = len(paid.Earlier)
			}
			if pays != x.pays {
				t.Errorf("%s: look %d pays for %d, want %d", name, i, pays, x.pays)
			}
		}
	}
}

// A process that is killed before or behind its look, and begun again, pays for nothing and gives
// the same bytes.
func TestLooksOfKilledRuns(t *testing.T) {
	l := newLake(waves(400, 0.2, 4), 400)
	j := job(t, func(j *pipeline.Job) { withHoldout(0.2)(j); j.Train.Passes = 4 })
	var want []byte
	for _, before := range []bool{false, true} {
		store := &pipelinetest.Store{}
		env := l.environment(store)
		env.Looks = killedLooks{store, before}
		if _, err := pipeline.Run(t.Context(), j, env); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if noted := len(store.Seen); noted > 0 == before || len(store.Models) != 1 {
			t.Errorf("killed before its look %t: %d looks, %d models", before, noted, len(store.Models))
		}
		env.Looks = store
		if r := run(t, j, env); r.Certificate.Delta.Looks != nil || len(store.Seen) != 1 {
			t.Errorf("killed before its look %t: it pays for %+v, %d looks", before, r.Certificate.Delta.Looks, len(store.Seen))
		}
		if want == nil {
			want = store.Certificates[0]
		}
		if !bytes.Equal(store.Certificates[0], want) {
			t.Error("another certificate")
		}
	}
}

var errKilled = errors.New("killed")

// killedLooks end a process.
type killedLooks struct {
	log    *pipelinetest.Store
	before bool
}

func (k killedLooks) Noted(ctx context.Context) ([]pipeline.Look, error) { return k.log.Noted(ctx) }

func (k killedLooks) Look(ctx context.Context, l pipeline.Look) ([]pipeline.Look, error) {
	if !k.before {
		if _, err := k.log.Look(ctx, l); err != nil {
			return nil, err
		}
	}
	return nil, errKilled
}
