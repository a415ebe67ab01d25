package pipeline_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A lake is a table in memory whose columns can be asked for by name, as an
// adapter does it. The last column is the target.
type lake struct {
	names   []string
	columns [][]float64
	shards  []int
	labels  []string // of names, for units
	mark    bool     // rejected rows, as for a job that tolerates some
	encoded job.Encodings
}

func newLake(columns [][]float64, shards ...int) *lake {
	return &lake{names: []string{"a", "b", "y"}, columns: columns, shards: shards}
}

func (l *lake) open(ctx context.Context, features []string) (dataset.Source, error) {
	last := len(l.names) - 1
	if features == nil {
		features = l.names[:last-len(l.labels)]
	}
	return pipelinetest.NewMemory(l.names, l.columns, l.shards...).Table.Data(ctx, dataset.Choice{Features: features, Labels: l.labels, Target: l.names[last], Mark: l.mark, Encoded: l.encoded})
}

func (l *lake) environment(store *pipelinetest.Store) fit.Environment {
	env := environment(nil, store)
	env.Open = func(ctx context.Context, features []string) (dataset.Source, error) { return l.open(ctx, features) }
	return env
}

// A published artifact, with everything that it can be checked against.
type published struct {
	lake        *lake
	store       *pipelinetest.Store
	result      *pipeline.Result
	certificate certify.Certificate
	document    []byte
}

// publish runs a job on the lake.
func publish(t testing.TB, l *lake, change func(*job.Job)) *published {
	t.Helper()
	return publishJob(t, l, testJob(t, change))
}

func publishJob(t testing.TB, l *lake, j job.Job) *published {
	t.Helper()
	p := &published{lake: l, store: &pipelinetest.Store{}}
	p.result = run(t, j, l.environment(p.store))
	p.certificate, p.document = p.result.Certificate, p.store.Certificates[0]
	return p
}

// verify checks a certificate against a model file and the lake, or without the lake if there is none.
func (p *published) verify(t testing.TB, c certify.Certificate, m pass.Model, digest string, l *lake) (*pipeline.Verification, error) {
	t.Helper()
	if l == nil {
		return pipeline.Verify(t.Context(), c, m, digest, nil, job.Resources{})
	}
	return pipeline.Verify(t.Context(), c, m, digest, func(ctx context.Context, want dataset.Choice) (dataset.Source, error) {
		return l.open(ctx, want.Features)
	}, job.Resources{})
}

// accepts wants the artifact accepted.
func (p *published) accepts(t testing.TB, name string, l *lake) {
	t.Helper()
	if _, err := p.verify(t, p.certificate, p.result.Model, p.result.ArtifactRef.Model, l); err != nil {
		t.Errorf("%s: Verify = %v, want acceptance", name, err)
	}
}

// refused wants a certificate of a model refused.
func (p *published) refused(t testing.TB, name string, c certify.Certificate, m pass.Model, digest string, l *lake) {
	t.Helper()
	if _, err := p.verify(t, c, m, digest, l); !errors.Is(err, job.ErrRefused) {
		t.Errorf("%s: Verify = %v, want a refusal", name, err)
	}
}

// tiny makes a job as small as tests of the plumbing need it.
func tiny(j *job.Job) { j.Inducing, j.Train.Passes = []int{5}, 2 }

// evidence is what a certificate says it was made from: what a forger would change before certifying again.
func evidence(c certify.Certificate) certify.Evidence {
	document, err := certify.Marshal(c)
	if err == nil {
		c, err = certify.Parse(document)
	}
	if err == nil {
		c.Job, err = certify.State(c.Job.Values)
	}
	if err != nil {
		panic(err)
	}
	return c.Evidence
}

// refuses wants forged evidence refused, by its own contradictions or by verification.
func (p *published) refuses(t testing.TB, name string, ev certify.Evidence, l *lake) {
	t.Helper()
	forged, err := certify.Certify(ev)
	if err == nil {
		_, err = p.verify(t, forged, p.result.Model, p.result.ArtifactRef.Model, l)
	}
	if err == nil {
		t.Errorf("%s: accepted", name)
	}
}

// forge certifies changed evidence: a certificate without a contradiction in it.
func forge(t testing.TB, c certify.Certificate, change func(*certify.Evidence)) certify.Certificate {
	t.Helper()
	ev := evidence(c)
	change(&ev)
	ev.Dependence.Rows = ev.Counts.Prior + ev.Counts.Training
	forged, err := certify.Certify(ev)
	fatal.If(t, err)
	return forged
}

// errSource is what a faulty source fails with.
var errSource = errors.New("the disk is on fire")

// A faulty source fails at a batch of a shard, where the test wants it, and counts what was opened and closed.
type faulty struct {
	dataset.Source
	shard, batch   int                    // where to fail; batch < 0: never
	seen           func(shard, batch int) // may be nil
	opened, closed atomic.Int64
}

// Open starts to read shard i.
func (f *faulty) Open(ctx context.Context, i int) (dataset.Batches, error) {
	b, err := f.Source.Open(ctx, i)
	if err != nil {
		return nil, err
	}
	f.opened.Add(1)
	return &faultyBatches{b, f, i, 0}, nil
}

type faultyBatches struct {
	dataset.Batches
	of         *faulty
	shard, now int
}

// Next fails where the test wants it.
func (b *faultyBatches) Next(ctx context.Context) (arrow.Record, error) {
	now := b.now
	b.now++
	if b.of.seen != nil {
		b.of.seen(b.shard, now)
	}
	if b.shard == b.of.shard && now == b.of.batch {
		return nil, errSource
	}
	return b.Batches.Next(ctx)
}

// Close counts.
func (b *faultyBatches) Close() error {
	b.of.closed.Add(1)
	return b.Batches.Close()
}
