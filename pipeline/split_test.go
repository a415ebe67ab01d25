package pipeline_test

import (
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// The last rows are held-out rows whatever the key is, stay so as few others do when rows come.
func TestLastRowsAreHeldOut(t *testing.T) {
	last := func(key string) func(j *job.Job) {
		return func(j *job.Job) {
			tiny(j)
			j.Guarantees = nil
			j.Split = job.SplitDecl{Key: key, Holdout: 0.25, Last: true}
		}
	}
	columns := waves(402, 0.3, 62)
	for i := 302; i < 402; i++ {
		columns[2][i] += 1000
	}
	var missed [2]float64
	for k, key := range []string{"a", "b"} {
		p := publish(t, newLake(columns, 400, 2), last(key))
		g, _ := p.certificate.Claim(certify.ClaimHoldout)
		if missed[k] = *g.Risk; g.N != 100 || missed[k] != 1 {
			t.Errorf("key %s: %d held-out rows, of which %v are missed", key, g.N, missed[k])
		}
		v, err := p.verify(t, p.certificate, p.result.Model, p.result.ArtifactRef.Model, p.lake)
		if err != nil || !v.Evidence {
			t.Fatalf("Verify: %v", err)
		}
		f := forge(t, p.certificate, func(ev *certify.Evidence) { reword(t, ev, `"last":true`, `"last":false`) })
		p.refused(t, "said to be by the key", f, p.result.Model, p.result.ArtifactRef.Model, nil)
	}
}
