package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// curveOfDays asks for every tolerance at once, of days that miss if more than a third of their rows do.
func curveOfDays(width certify.Width) func(j *pipeline.Job) {
	return func(j *pipeline.Job) {
		byDay(j)
		j.Loss = pipeline.LossDecl{Tolerance: pipeline.AnyTolerance, Width: width}
		j.Unit.Misses = new(0.3)
	}
}

// daysBeyond counts hold-out days of which more than 3 of 10 rows are beyond.
func daysBeyond(days []float64, beyond func(row int) bool) (k int64) {
	type day struct{ rows, beyond int }
	of := map[float64]*day{}
	for i, v := range days {
		if float64(unitHash("pacsgp", v)) < 0.8*0x1p64 {
			continue
		}
		if of[v] == nil {
			of[v] = &day{}
		}
		of[v].rows++
		if beyond(i) {
			of[v].beyond++
		}
	}
	for _, d := range of {
		if 10*d.beyond > 3*d.rows {
			k++
		}
	}
	return k
}

// At each step the days are those that a count by whole numbers finds, in units of the target and in
// deviations; sharding and workers do not matter, and curves of fewer days, of another share, or of rows
// are refused.
func TestCurveOfDays(t *testing.T) {
	columns := days(1200, 200, 7)
	l := dayLake(columns, 400, 500, 300)
	for _, width := range []certify.Width{certify.WidthUnit, certify.WidthDeviation} {
		settings := curveOfDays(width)
		p := publish(t, l, settings)
		g, _ := p.certificate.Guarantee(certify.GuaranteeCurve)
		off, deviations := errorsOf(t, p.result.Model, l, 1200, 0)
		tau := p.certificate.Accuracy.Tau
		for _, s := range g.Curve.Steps {
			want := daysBeyond(columns[2], func(i int) bool {
				if width == certify.WidthDeviation {
					return off[i]+tau > s.Tolerance*(1-1.0/256)*deviations[i]
				}
				return off[i] > s.Tolerance
			})
			if s.Misses != want {
				t.Errorf("%s: at %g %d days, want %d", width, s.Tolerance, s.Misses, want)
			}
		}
		if len(g.Curve.Steps) < 10 || g.N != p.certificate.Ledger.Units.Holdout || g.Status != certify.StatusConditional {
			t.Errorf("%s: %d steps of %d units, %s", width, len(g.Curve.Steps), g.N, g.Status)
		}
		for _, l := range []*lake{l, nil} {
			_, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, l)
			fatal.If(t, err)
		}
		var store pipelinetest.Store
		env := dayLake(columns, 100, 1100).environment(&store)
		env.Resources = pipeline.Resources{Workers: 3, Memory: 1, Temporary: t.TempDir()}
		other := run(t, job(t, settings), env).Certificate
		if again, _ := other.Guarantee(certify.GuaranteeCurve); again.Bound != g.Bound || len(again.Curve.Steps) != len(g.Curve.Steps) {
			t.Errorf("%s: other shards, another curve", width)
		}
		p.refusesCurves(t, l)
	}
}

// refusesCurves wants forged curves of days refused.
func (p *published) refusesCurves(t *testing.T, l *lake) {
	t.Helper()
	for name, change := range map[string]func(ev *certify.Evidence, held *certify.Tally){
		"a day fewer": func(_ *certify.Evidence, held *certify.Tally) {
			for i, k := range held.Beyond[:320] { // below the tolerance that the curve states, and above it
				held.Beyond[i] = max(held.Beyond[320], k-1)
			}
			for i, k := range held.Beyond[321:] {
				held.Beyond[321+i] = max(0, k-1)
			}
		},
		"another share": func(ev *certify.Evidence, _ *certify.Tally) { ev.Ledger.Units.Misses = new(0.4) },
		"another share in the job": func(ev *certify.Evidence, _ *certify.Tally) {
			reword(t, ev, `"misses":0.3`, `"misses":0.4`)
			ev.Ledger.Units.Misses = new(0.4)
		},
		"means": func(ev *certify.Evidence, _ *certify.Tally) {
			reword(t, ev, `,"misses":0.3`, ``)
			ev.Ledger.Units.Misses = nil
		},
	} {
		ev, units := evidence(p.certificate), *p.certificate.Ledger.Units
		ev.Ledger.Units = &units
		change(&ev, ev.Tallies.At(certify.PredictorMean, certify.RoleHoldout))
		p.refuses(t, name, ev, l)
	}
}

// More hold-out units than a curve counts are refused before any model is trained.
func TestCurveOfTooManyUnits(t *testing.T) {
	j := job(t, func(j *pipeline.Job) {
		curveOfDays(certify.WidthUnit)(j)
		j.Unit.Columns, j.Unit.Block, j.Roles.Holdout = nil, 1, 0.5
	})
	src, err := newLake(waves(34_000, 0.2, 4), 34_000).open(t.Context(), nil)
	fatal.If(t, err)
	if _, err := j.CountUnits(t.Context(), src, pipeline.Resources{}); !errors.Is(err, pipeline.ErrData) || !strings.Contains(err.Error(), "at most 16384 units") {
		t.Errorf("CountUnits: %v", err)
	}
}
