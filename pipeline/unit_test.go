package pipeline_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// days are rows of so many days, which have an offset of the target in common, in random order.
func days(n, units int, seed uint64) [][]float64 {
	columns := waves(n, 0.1, seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	offsets := make([]float64, units)
	for i := range offsets {
		offsets[i] = 0.5 * rng.NormFloat64()
	}
	day := make([]float64, n)
	for i := range day {
		day[i] = float64(rng.IntN(units))
		columns[2][i] += offsets[int(day[i])]
	}
	return [][]float64{columns[0], columns[1], day, columns[2]}
}

func dayLake(columns [][]float64, shards ...int) *lake {
	return &lake{names: []string{"a", "b", "day", "y"}, columns: columns, shards: shards, labels: []string{"day"}}
}

func byDay(j *job.Job) {
	tiny(j)
	j.Guarantees, j.Unit = nil, job.UnitDecl{Columns: []string{"day"}}
}

// unitHash is the hash of docs/reference/formats.md.
func unitHash(v float64) uint64 {
	text := binary.LittleEndian.AppendUint64([]byte("pacsgp/roles/unit/1\x00pacsgp\x00"), math.Float64bits(v))
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:8])
}

// The hash and the label of docs/reference/formats.md.
func TestUnitHashVectors(t *testing.T) {
	if got := unitHash(1440); got != 0xa80bd4872d2e7f13 {
		t.Errorf("hash of 1440: %x", got)
	}
	if label := certify.Label("Dongsi"); label != 8698086037831972 || unitHash(label) != 0xfc60c4cfdb540ba2 {
		t.Errorf("Dongsi: %v, %x", label, unitHash(label))
	}
}

// means are the mean losses of the mean of Q over the rows of each held-out day.
func means(t *testing.T, m pass.Model, columns [][]float64) *certify.LossSum {
	t.Helper()
	predictor, err := model.NewPredictor(m.Posterior, 1)
	fatal.If(t, err)
	defer predictor.Close()
	of := map[float64]*[2]int64{}
	for i, y := range columns[len(columns)-1] {
		if float64(unitHash(columns[2][i])) < 0.8*0x1p64 {
			continue
		}
		var x, mean, variance []float64
		for c, a := range m.Meta.Features {
			x = append(x, (columns[c][i]-a.Centre)/a.Scale)
		}
		mean, variance = make([]float64, 1), make([]float64, 1)
		fatal.If(t, predictor.Predict(x, mean, variance))
		if of[columns[2][i]] == nil {
			of[columns[2][i]] = &[2]int64{}
		}
		if math.Abs(mean[0]*m.Meta.Target.Scale+m.Meta.Target.Centre-y) > m.Meta.Loss.Epsilon {
			of[columns[2][i]][0]++
		}
		of[columns[2][i]][1]++
	}
	var all certify.LossSum
	for _, k := range of {
		fatal.If(t, all.AddUnit(ones(t, k[0], k[1]), false, true))
	}
	return &all
}

// Units are in one subset each, by the hash of their value; a unit's loss is the mean over its rows, wherever
// they are; the certificate counts units, says so, and verifies. The number of workers, the sharding and
// the order of rows do not matter.
func TestUnits(t *testing.T) {
	columns := days(1200, 200, 7)
	l := dayLake(columns, 400, 500, 300)
	p := publish(t, l, byDay)
	found := means(t, p.result.Model, columns)
	units := map[float64]bool{}
	for _, day := range columns[2] {
		units[day] = true
	}
	counts := p.certificate.Counts
	if u := counts.Units; u.Holdout != found.Risk.Count() || u.Prior != job.PriorCount(int64(len(units))) || u.Prior+u.Train+u.Holdout != int64(len(units)) || counts.Prior+counts.Training+counts.Holdout != 1200 {
		t.Errorf("counts %+v, %+v, of %d units with %d held-out units", counts, u, len(units), found.Risk.Count())
	}
	g, _ := p.certificate.Claim(certify.ClaimHoldout)
	bound, err := certify.BettingUpper(found.Spread, 0.01, p.certificate.Delta.Share(certify.MethodHoldout))
	if err != nil || g.Bound != bound || g.N != counts.Units.Holdout {
		t.Errorf("bound %v of %d, want %v of %d units: %v", g.Bound, g.N, bound, counts.Units.Holdout, err)
	}
	if draw, _ := p.certificate.Claim(certify.ClaimDraw); draw.N != counts.Units.Train {
		t.Errorf("N = %d, want %d train units", draw.N, counts.Units.Train)
	}
	for _, l := range []*lake{l, nil} {
		p.accepts(t, "what is honest", l)
	}
	var store pipelinetest.Store
	env := l.environment(&store)
	env.Resources = job.Resources{Workers: 3, Memory: 1}
	if run(t, testJob(t, byDay), env); !bytes.Equal(p.document, store.Certificates[0]) {
		t.Error("other workers, another certificate")
	}
}

// Units that were not those of the rows carry no certificate, however consistent the rest is.
func TestForgedUnitsAreRefused(t *testing.T) {
	columns := days(1200, 200, 7)
	l := &lake{names: []string{"a", "b", "day", "y"}, columns: columns, shards: []int{1200}, labels: []string{"day"}}
	p := publish(t, l, byDay)
	other := *p.certificate.Counts.Units
	for name, change := range map[string]func(ev *certify.Evidence){
		"another column": func(ev *certify.Evidence) {
			other.Columns = []string{"b"}
			ev.Counts.Units = &other
			ev.Sample.Columns = []string{"a", "day", "b", "y"}
		},
		"a column in the configuration": func(ev *certify.Evidence) { reword(t, ev, `"columns":["day"]`, `"columns":["b"]`) },
		"a unit more": func(ev *certify.Evidence) {
			u := *ev.Counts.Units
			u.Prior++
			ev.Counts.Units = &u
		},
		"rows": func(ev *certify.Evidence) { reword(t, ev, `"unit":{"columns":["day"]},`, ``) },
		"N": func(ev *certify.Evidence) {
			u := *ev.Counts.Units
			u.Holdout++
			ev.Counts.Units = &u
			g, _ := p.certificate.Claim(certify.ClaimHoldout)
			ev.LossSums[certify.LossKey{Predictor: certify.PredictorMean, Subset: certify.SubsetHoldout}] = &certify.LossSum{Spread: certify.Missed(1, g.N+1), Risk: ones(t, 1, g.N+1)}
		},
	} {
		ev := evidence(p.certificate)
		change(&ev)
		p.refuses(t, name, ev, l)
	}
}

// Split gives each row the subset of its unit, as the definition has it and a run counts them, and none to
// a row that breaks a row rule.
func TestSplitByUnit(t *testing.T) {
	columns := days(1200, 200, 7)
	columns[1][77] = math.NaN()
	l := dayLake(columns, 400, 800)
	l.mark = true
	settings := func(j *job.Job) { byDay(j); j.Rejected.Limit = 0.01 }
	counts := publish(t, l, settings).certificate.Counts
	src, err := l.open(t.Context(), nil)
	fatal.If(t, err)
	last := uint64(0) // of the prior units
	rows, units := map[string]int64{}, map[string]map[float64]bool{}
	fatal.If(t, pipeline.Split(t.Context(), testJob(t, settings), src, job.Resources{}, func(_ dataset.Position, ordinal int64, subset string) error {
		day := columns[2][ordinal]
		if rows[subset]++; units[subset] == nil {
			units[subset] = map[float64]bool{}
		}
		units[subset][day] = true
		hash := unitHash(day)
		if held := float64(hash) >= 0.8*0x1p64; (subset == "rejected") != (ordinal == 77) || subset != "rejected" && (subset == "holdout") != held {
			t.Errorf("row %d, of a unit with the hash %x, is %s", ordinal, hash, subset)
		}
		if subset == "prior" {
			last = max(last, hash)
		}
		return nil
	}))
	for day := range units["training"] {
		if units["holdout"][day] || units["prior"][day] || unitHash(day) < last {
			t.Errorf("day %v is train, and is in another subset or has a lower hash than a prior unit", day)
		}
	}
	u := counts.Units
	if want := map[string]int64{"prior": counts.Prior, "training": counts.Training, "holdout": counts.Holdout, "rejected": 1}; !maps.Equal(rows, want) ||
		u.Prior != int64(len(units["prior"])) || u.Train != int64(len(units["training"])) || u.Holdout != int64(len(units["holdout"])) {
		t.Errorf("rows %v, want %v, of units %+v", rows, want, u)
	}
}

// ones are n losses, k of them 1.
func ones(t *testing.T, k, n int64) (s certify.RiskSum) {
	t.Helper()
	for i := range n {
		loss := 0.0
		if i < k {
			loss = 1
		}
		fatal.If(t, s.Add(loss))
	}
	return s
}

// Too few units are an error that says what would help.
func TestTooFewUnitsAreRefused(t *testing.T) {
	if _, err := pipeline.NewPlan(testJob(t, byDay), fit.Sample{Rows: 1000, Features: 2}, job.Resources{}); !errors.Is(err, job.ErrConfig) {
		t.Errorf("NewPlan: %v", err)
	}
	for units, want := range map[int]string{100: "set split.holdout to 0.42 or more", 40: "declare smaller units, or give more rows"} {
		var store pipelinetest.Store
		_, err := pipeline.Run(t.Context(), testJob(t, byDay), dayLake(days(1500, units, 3), 1500).environment(&store))
		if !errors.Is(err, job.ErrData) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d units: %v, want %q", units, err, want)
		}
	}
}
