package watch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A row is one of a day; "" is none.
type row struct {
	day      string
	loss     uint64
	labelled bool
}

// A file has rows, which one of two models predicts.
type file struct {
	rows []row
	by   int
}

// kept is a store that keeps the state as text.
type kept struct{ text []byte }

// Put keeps it.
func (k *kept) Put(s *watch.State) (err error) {
	k.text, err = json.Marshal(s)
	return err
}

// state is what was kept.
func (k *kept) state(t *testing.T) *watch.State {
	t.Helper()
	s := &watch.State{Format: watch.Format}
	if k.text != nil {
		fatal.If(t, json.Unmarshal(k.text, s))
		fatal.If(t, s.Validate())
	}
	return s
}

// predictors are those of two models with one bound.
func predictors(t *testing.T) []*score.Predictor {
	t.Helper()
	c := certifytest.Certificate(t, nil)
	return []*score.Predictor{{Artifact: score.Artifact{Certificate: c, ID: "one"}}, {Artifact: score.Artifact{Certificate: c, ID: "two"}}}
}

// read gives files to a writer that goes on with what was kept, in pieces of seven rows. It ends in the
// middle of the file behind the last one.
func read(t *testing.T, k *kept, by []*score.Predictor, files []file, last int) {
	t.Helper()
	s := k.state(t)
	w := watch.NewWriter(watch.Config[[]row]{
		Store: k, State: s, Delta: watch.DefaultDelta, Unit: []string{"day"},
		UnitOf: func(rows []row, i int) string { return rows[i].day },
		Known: func(context.Context, score.Piece[[]row]) (func([]row, int) string, error) {
			return func([]row, int) string { return "" }, nil
		},
		AddPosition: func(s *watch.State, p score.Piece[[]row], _ []row) { s.Files = append(s.Files, p.File.Name) },
	})
	for i := len(s.Files); i < len(files) && i <= last+1; i++ {
		at := int64(0)
		for part := range slices.Chunk(append(slices.Clone(files[i].rows), make([]row, 7)...), 7) {
			p := score.Piece[[]row]{File: score.File{Name: fmt.Sprint(i)}, By: by[files[i].by], First: at, Last: at >= int64(len(files[i].rows))}
			part = part[:max(0, min(7, len(files[i].rows)-int(at)))]
			if at += 7; i > last && p.Last {
				break
			}
			p.Predict = func(_ context.Context, use func([]pipeline.Prediction, []row) error) error {
				var all []pipeline.Prediction
				for _, r := range part {
					all = append(all, pipeline.Prediction{Labelled: r.labelled, Loss: r.loss})
				}
				return use(all, part)
			}
			send, _, err := w.Pack(t.Context(), p)
			fatal.If(t, err)
			fatal.If(t, send(t.Context()))
			if p.Last {
				break
			}
		}
		if i%3 == 0 {
			fatal.If(t, w.Commit(t.Context()))
		}
	}
	if last >= len(files)-1 {
		fatal.If(t, w.Commit(t.Context()))
	}
}

// A definedUnit is a unit as the definition has it.
type definedUnit struct {
	first, over int    // files: of its first row, and in which it ends; after all files: it is open
	by          int    // the model of its first row
	cut         bool   // by a row of another model
	position    [2]int // of its first row
	losses      []uint64
}

// byDefinition are the units of files, each found by itself.
func byDefinition(files []file) map[string]*definedUnit {
	all := map[string]*definedUnit{}
	has := func(f int, day string) bool {
		return slices.ContainsFunc(files[f].rows, func(r row) bool { return r.labelled && r.day == day })
	}
	begins := map[int]bool{}
	for f := range files {
		for i, r := range files[f].rows {
			if r.labelled && r.day != "" && all[r.day] == nil {
				all[r.day], begins[f] = &definedUnit{first: f, over: len(files), by: files[f].by, position: [2]int{f, i}}, true
			}
		}
	}
	for day, u := range all {
		for f := u.first + 1; f < len(files) && u.over == len(files); f++ {
			switch {
			case has(f, day) && files[f].by != u.by:
				u.over, u.cut = f, true
			case !has(f, day) && begins[f]:
				u.over = f
			}
		}
		for f := u.first; f < u.over; f++ {
			for _, r := range files[f].rows {
				if r.labelled && r.day == day {
					u.losses = append(u.losses, r.loss)
				}
			}
		}
	}
	return all
}

// expected is the test of a model by the definition.
func expected(t *testing.T, files []file, by int, id string, bound float64) watch.Test {
	t.Helper()
	want := watch.Test{Certificate: id, Unit: []string{"day"}}
	var err error
	want.Alarm, err = certify.NewAlarm(bound, watch.DefaultDelta)
	fatal.If(t, err)
	units := byDefinition(files)
	var over []*definedUnit
	for _, f := range files {
		for _, r := range f.rows {
			switch {
			case f.by != by:
			case !r.labelled:
				want.Unlabelled++
			case r.day == "":
				want.Bad++
			default:
				want.Late++ // less those that count
			}
		}
	}
	for _, u := range units {
		n := int64(len(u.losses))
		switch {
		case u.by != by || u.cut:
		case u.over == len(files):
			want.Open, want.Late = want.Open+n, want.Late-n
		default:
			want.Rows, want.Late, over = want.Rows+n, want.Late-n, append(over, u)
		}
	}
	slices.SortFunc(over, func(a, b *definedUnit) int {
		if a.over != b.over {
			return a.over - b.over
		}
		return slices.Compare(a.position[:], b.position[:])
	})
	for _, u := range over {
		sum := new(big.Int)
		for _, loss := range u.losses {
			sum.Add(sum, new(big.Int).SetUint64(loss))
		}
		n := big.NewInt(int64(len(u.losses)))
		fatal.If(t, want.Alarm.Add([]uint64{new(big.Int).Div(sum, n).Uint64()}))
		up := sum.Add(sum, new(big.Int).Sub(n, big.NewInt(1))).Div(sum, n).Uint64()
		fatal.If(t, want.Losses.AddUnits(up))
	}
	return want
}

// someFiles are files whose days move on, mixed and late.
func someFiles(rng *rand.Rand) (files []file) {
	day := 0
	for range 6 + rng.IntN(20) {
		day += rng.IntN(3)
		f := file{by: len(files) / 20}
		for range rng.IntN(40) {
			r := row{day: fmt.Sprint(day - rng.IntN(2)), loss: rng.Uint64N(certify.UnitsPerLoss/8 + 1), labelled: rng.IntN(8) > 0}
			switch rng.IntN(40) {
			case 0:
				r.day = fmt.Sprint(day - rng.IntN(5))
			case 1:
				r.day = ""
			}
			f.rows = append(f.rows, r)
		}
		files = append(files, f)
	}
	return files
}

// Units that files bring are those of the definition, and a killed process ends with the same state.
func TestUnitsAreThoseOfTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 1))
	var some watch.Test // of all tests
	for range 80 {
		files, by := someFiles(rng), predictors(t)
		whole, killed := &kept{}, &kept{}
		read(t, whole, by, files, len(files))
		for range 4 {
			read(t, killed, by, files, rng.IntN(len(files)))
		}
		read(t, killed, by, files, len(files))
		if string(whole.text) != string(killed.text) {
			t.Fatalf("uninterrupted:\n%s\nresumed:\n%s", whole.text, killed.text)
		}
		var want []watch.Test
		for i := range by[:files[len(files)-1].by+1] {
			want = append(want, expected(t, files, i, by[i].ID, by[i].Certificate.About(certify.PredictorMean).Bound))
			some.Rows, some.Open, some.Late = some.Rows+want[i].Rows, some.Open+want[i].Open, some.Late+want[i].Late
		}
		if diff := cmp.Diff(want, whole.state(t).Tests, cmp.Comparer(func(a, b certify.RiskSum) bool { return a == b })); diff != "" {
			t.Fatalf("%v:\n%s", files, diff)
		}
	}
	if some.Rows == 0 || some.Open == 0 || some.Late == 0 {
		t.Errorf("not all happens: %+v", some)
	}
}

// A day may have several files, and a file several days; a row that comes behind the end of its day
// does not count, and is reported.
func TestUnitsEnd(t *testing.T) {
	of := func(days string) (f file) {
		for day := range strings.FieldsSeq(days) {
			f.rows = append(f.rows, row{day, certify.UnitsPerLoss / 4, true})
		}
		return f
	}
	k, by := &kept{}, predictors(t)
	files := []file{of("1 1 2"), of("2"), of("2 3 3 4"), of("3"), of("5 1"), of("5")}
	for i, want := range []watch.Test{{Open: 3}, {Open: 4}, {Rows: 2, Open: 6}, {Rows: 2, Open: 7}, {Rows: 9, Open: 1, Late: 1}, {Rows: 9, Open: 2, Late: 1}} {
		read(t, k, by, files[:i+1], len(files))
		if got := k.state(t).Tests[0]; got.Rows != want.Rows || got.Open != want.Open || got.Late != want.Late {
			t.Errorf("after %d files: %+v, want %+v", i+1, got, want)
		}
	}
	r, err := new(k.state(t).Tests[0]).Report(by[0].Certificate)
	fatal.If(t, err)
	for _, want := range []string{
		"25.0 % of the rows of a unit, on average over 4 new units, were missed; the expected share is at most ",
		"not counted: 2 rows of units that have not ended; not counted: 1 row of no unit",
	} {
		if !strings.Contains(r.Statement, want) {
			t.Errorf("%s\nlacks %q", r.Statement, want)
		}
	}
	w := watch.NewWriter(watch.Config[[]row]{State: k.state(t), Delta: watch.DefaultDelta})
	if _, err := w.Test(by[0]); err == nil || !strings.Contains(err.Error(), `began with units of day, and cannot go on with rows`) {
		t.Errorf("units go on as rows: %v", err)
	}
	damaged := k.state(t)
	damaged.Units.Ended["5"] = true
	if damaged.Validate() == nil {
		t.Error("a unit is open and has ended")
	}
}

// An alarm on units watches a bound about these units, or about rows; one on rows none about units.
func TestBoundOfUnits(t *testing.T) {
	rows := certifytest.Certificate(t, nil)
	days := rows
	days.Counts.Units = &certify.UnitCounts{Columns: []string{"month", "day"}}
	for _, c := range []struct {
		name    string
		of      certify.Certificate
		unit    []string
		watches bool
		hint    bool
	}{
		{"rows by rows", rows, nil, true, false},
		{"rows by days", rows, []string{"day"}, true, false},
		{"days by days", days, []string{"day", "month"}, true, false},
		{"days by rows", days, nil, false, true},
		{"days by months", days, []string{"month"}, false, true},
	} {
		_, bound := watch.Promise(c.of, c.unit)
		r, err := (&watch.Test{Unit: c.unit}).Report(c.of)
		fatal.If(t, err)
		if (bound < 1) != c.watches || strings.Contains(r.Statement, "unit: {column: [month, day]} in a watch file") != c.hint || strings.Contains(r.Statement, "what is certified is about ") == c.watches {
			t.Errorf("%s: %v, %s", c.name, bound, r.Statement)
		}
	}
}

// A model without a feature of the current one does not replace it, nor does one with a bound that
// is too far above the current one.
func TestDecide(t *testing.T) {
	one := certifytest.Certificate(t, nil)
	without := one
	without.Sample.Columns = []string{"wind"}
	worse := certifytest.Certificate(t, func(ev *certify.Evidence) { ev.Model.KL = 200 })
	for name, c := range map[string]struct {
		rule  watch.Promotion
		next  certify.Certificate
		moves bool
		why   string
	}{
		"same":          {watch.Promotion{}, one, true, ""},
		"same, within":  {watch.Promotion{Within: .01}, one, true, "within 1 %"},
		"lost":          {watch.Promotion{}, without, false, "temp"},
		"worse":         {watch.Promotion{}, worse, true, ""},
		"worse, within": {watch.Promotion{Within: .01}, worse, false, "more than 1 % above"},
	} {
		if d, err := c.rule.Decide(one, c.next, certify.PredictorDraw); err != nil || d.Moves != c.moves || !strings.Contains(d.Why, c.why) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}
