package pipeline_test

import (
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A rare fill value in honest rows costs these rows and not the certificate, whether it
// meets a prior row, an inducing point or the target.
func TestFillValuesDoNotCostTheCertificate(t *testing.T) {
	clean := publish(t, newLake(waves(700, 0.1, 4), 700), func(j *job.Job) { tiny(j); j.Inducing = []int{30} })
	want, _ := clean.certificate.Claim(certify.ClaimDraw)
	for name, column := range map[string]int{"feature": 0, "target": 2} {
		steps := []int{97, 700}
		if testing.Short() {
			steps = steps[:1]
		}
		for _, step := range steps {
			columns := waves(700, 0.1, 4)
			for i := 0; i < len(columns[column]); i += step {
				columns[column][i] = 1e9
			}
			p := publish(t, newLake(columns, 700), func(j *job.Job) { tiny(j); j.Inducing = []int{30} })
			got, _ := p.certificate.Claim(certify.ClaimDraw)
			if got.Status != certify.StatusCertified || !(got.Bound <= want.Bound+2.5/float64(step)+0.02) {
				t.Errorf("%s, every %d: %s, bound %.4f; without fill values %.4f", name, step, got.Status, got.Bound, want.Bound)
			}
			p.accepts(t, name, p.lake)
		}
	}
}

// A target that has one value in most prior rows is centred there.
func TestTargetIsCentredAtItsUsualValue(t *testing.T) {
	for _, c := range []struct {
		usual bool
		every int // row has another value
	}{{true, 3}, {false, 1}} {
		columns := waves(900, 0.1, 4)
		for i := range columns[2] {
			if columns[2][i] += 5; i%c.every != 0 {
				columns[2][i] = -2
			}
		}
		p := publish(t, newLake(columns, 900), tiny)
		if centre := p.result.Model.Meta.Target.Centre; (centre == -2) != c.usual {
			t.Errorf("every row of %d with a value of its own: the centre is %v", c.every, centre)
		}
		p.accepts(t, "what is honest", p.lake)
	}
}
