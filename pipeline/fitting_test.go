package pipeline_test

import (
	"bytes"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// someRows fits Q to about so many train rows.
func someRows(rows int64) func(*pipeline.Job) {
	return func(j *pipeline.Job) { tiny(j); withHoldout(0.2)(j); j.Train.Rows = rows }
}

// Q is fitted to a part of the train rows and certified on all of them, the same whatever the
// memory and the number of workers.
func TestSomeRowsFitAndAllCertify(t *testing.T) {
	l := newLake(waves(1200, 0.3, 96), 400, 1, 799)
	whole, some := publish(t, l, someRows(0)), publish(t, l, someRows(400))
	if got, want := some.certificate.Ledger, whole.certificate.Ledger; got.Train != want.Train || got.Holdout != want.Holdout || got.Train < 800 {
		t.Errorf("ledger %+v, want %+v", got, want)
	}
	if got := some.result.Training.Rows; got < 330 || got > 470 || whole.result.Training.Rows != 0 {
		t.Errorf("fitted to %d rows, want about 400, and %d, want 0 for all", got, whole.result.Training.Rows)
	}
	if some.result.ModelDigest == whole.result.ModelDigest {
		t.Error("fewer rows fit the same model")
	}
	_, err := some.verify(t, some.certificate, some.result.Model, some.result.ModelDigest, l)
	fatal.If(t, err)
	store := &pipelinetest.Store{}
	env := l.environment(store)
	env.Resources = pipeline.Resources{Workers: 3, Memory: streamed}
	run(t, job(t, someRows(400)), env)
	if !bytes.Equal(store.Certificates[0], some.document) {
		t.Error("another certificate with other memory and workers")
	}
	if all := publish(t, l, someRows(2000)); all.result.ModelDigest != whole.result.ModelDigest {
		t.Error("more rows than there are fit another model than all")
	}
}
