package schedule_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

var (
	someDay = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	errDies = errors.New("it dies")
)

// A stage is a scheduler of one job in memory, whose time the test sets and whose training only
// makes certificates up.
type stage struct {
	*schedule.Scheduler

	t     *testing.T
	job   *schedule.Job
	lake  *lake
	log   *topic
	store *pipelinetest.Store // outlives schedulers
	op    func(effect func() error) error

	trains int
	fail   error   // what the next trainings say; nil: nothing
	kl     float64 // of the next certificates
	lost   bool    // the pointer
	said   []string
}

// declared is the job; what a test needs next to it is changed.
func declared(change func(j *schedule.Job)) *schedule.Job {
	j := &schedule.Job{
		Name: "waves", Files: schedule.Files{Which: schedule.FilesAll}, Backoff: time.Minute, How: pipeline.RunConfig{Required: certify.PredictorDraw},
		Job: job.Job{Repeated: true, Target: "wind"}, Software: "test",
	}
	change(j)
	return j
}

func hourly(t *testing.T) schedule.Trigger {
	t.Helper()
	moments, err := schedule.Cron("0 * * * *", "UTC")
	fatal.If(t, err)
	return schedule.Trigger{Key: "cron 0 * * * * UTC", Moments: moments}
}

func newStage(t *testing.T, j *schedule.Job) *stage {
	t.Helper()
	s := &stage{t: t, job: j, store: &pipelinetest.Store{}, kl: 61.25}
	if j.Topic != nil {
		s.log = j.Topic.(*topic)
	} else {
		s.lake = &lake{}
		j.Lake = s.lake
		s.lake.add("b", 60)
		s.lake.add("c", 60)
		s.lake.add("d", 60)
	}
	s.again()
	return s
}

// again begins the scheduler again, as a process that is started again does.
func (s *stage) again() {
	s.op = func(effect func() error) error { return effect() }
	j := *s.job
	j.Output = &output{&pipelinetest.Output{Store: s.store}, s}
	s.job = &j
	s.Scheduler = &schedule.Scheduler{
		Poll: time.Minute, Observer: job.Observer{Event: s.hear, Warning: s.hear},
		Train: func(ctx context.Context, _ *schedule.Job, job job.Job, rows dataset.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
			return s.train(ctx, job, rows, how)
		},
	}
}

func (s *stage) hear(text string) { s.said = append(s.said, text) }

// train publishes a certificate that follows from the rows and the number.
func (s *stage) train(ctx context.Context, job job.Job, rows dataset.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
	s.trains++
	if s.fail != nil {
		return nil, s.fail
	}
	of := rows.(taken)
	if of.rows == 0 {
		return nil, fmt.Errorf("topic: %w", dataset.ErrNoRows)
	}
	digest, err := s.store.PutModel(ctx, pass.Model{
		Meta:       pass.ModelMeta{Inducing: int(job.Numbering.Number)},
		Posterior:  &model.Posterior{Kernel: kernel.Kernel{Family: kernel.SquaredExponential}},
		Predictive: &model.Posterior{Kernel: kernel.Kernel{Family: kernel.SquaredExponential}},
	})
	if err != nil {
		return nil, err
	}
	c := certifytest.Certificate(s.t, func(ev *certify.Evidence) {
		ev.Delta.Sequence, ev.Model.KL, ev.Model.Digest = job.Numbering, s.kl, digest
		ev.Sample.Digest = (of.name + strings.Repeat("0", 64))[:64]
		if ev.Sample.Segments = of.segments; of.segments != nil {
			ev.Sample.Shards = int64(len(of.segments))
		}
	})
	document, err := certify.Marshal(c)
	if err != nil {
		return nil, err
	}
	if how.Certified != "" && how.Certified != fmt.Sprintf("%x", sha256.Sum256(document)) {
		return nil, errors.New("another certificate")
	}
	id, err := s.job.Output.PutCertificate(ctx, c)
	if err != nil {
		return nil, err
	}
	return &pipeline.Outcome{Result: &pipeline.Result{ArtifactRef: pipeline.ArtifactRef{ID: id, Model: c.Model.Digest}, Certificate: c}}, nil
}

// at polls at a time.
func (s *stage) at(now time.Time) *pipeline.RunState {
	s.t.Helper()
	r, err := s.Look(s.t.Context(), s.job, now)
	fatal.If(s.t, err)
	return r
}

// reserved is the last number of the sequence.
func (s *stage) reserved() int64 {
	var state struct{ Run *pipeline.Scheduled }
	text, _, _ := s.store.Note(schedule.StateFile)
	if text != nil {
		fatal.If(s.t, json.Unmarshal(text, &state))
	}
	if state.Run == nil {
		return 0
	}
	return state.Run.Sequence
}

// runs are all runs, the first one first.
func (s *stage) runs() []*pipeline.RunState {
	s.t.Helper()
	all, err := s.store.Runs()
	fatal.If(s.t, err)
	found := slices.Collect(all)
	slices.Reverse(found)
	return found
}

// certificates are those of the output by number, whose windows follow one another.
func (s *stage) certificates() map[int64]certify.Certificate {
	s.t.Helper()
	ids, err := s.store.Numbered(s.t.Context(), "waves")
	different := map[string]bool{}
	for _, document := range s.store.Certificates {
		different[string(document)] = true
	}
	if err != nil || len(ids) != len(different) {
		s.t.Fatalf("%d certificates, %d numbers, %v", len(different), len(ids), err)
	}
	all := map[int64]certify.Certificate{}
	for k, id := range ids {
		all[k], err = s.store.GetCertificate(s.t.Context(), id)
		fatal.If(s.t, err)
	}
	return all
}

// An output is a location of which each change is a step.
type output struct {
	*pipelinetest.Output
	s *stage
}

func (o *output) PutRun(r *pipeline.RunState) error {
	return o.s.op(func() error { return o.Output.PutRun(r) })
}

func (o *output) PutNote(name string, text []byte) error {
	return o.s.op(func() error { return o.Output.PutNote(name, text) })
}

func (o *output) Current() (*pipeline.Current, error) {
	if o.s.lost {
		return nil, nil
	}
	return o.Output.Current()
}

func (o *output) Point(to pipeline.Current) error {
	return o.s.op(func() error { return o.Output.Point(to) })
}

func (o *output) PutCertificate(ctx context.Context, c certify.Certificate) (id string, err error) {
	err = o.s.op(func() error { id, err = o.Output.PutCertificate(ctx, c); return err })
	return id, err
}

// taken are the rows of a run: their number and a name for them.
type taken struct {
	rows     int64
	name     string
	segments []certify.Segment
	lacks    string // a column that is no feature
}

// Open reads only the columns, and no rows.
func (t taken) Open(_ context.Context, c dataset.Choice) (dataset.Opened, error) {
	if slices.Contains(c.Features, t.lacks) {
		return nil, fmt.Errorf("%q is text", t.lacks)
	}
	return noFiles{}, nil
}
func (taken) Release(bool) error { return nil }

// noFiles are rows that are never read.
type noFiles struct{ dataset.Opened }

func (noFiles) Files() []dataset.File { return nil }

// A lake has files by path.
type lake struct {
	files []schedule.File
	fault error
	lacks string // a column that is no feature
}

func (l *lake) add(path string, rows int64) {
	l.files = append(l.files, schedule.File{ManifestFile: dataset.ManifestFile{Path: path, Rows: rows, Bytes: rows, Footer: path}, Where: path})
	slices.SortFunc(l.files, func(a, b schedule.File) int { return strings.Compare(a.Path, b.Path) })
}

func (l *lake) Files(context.Context) ([]schedule.File, error) { return l.files, l.fault }

func (l *lake) Rows(files []schedule.File) dataset.Rows {
	of := taken{name: "ab", lacks: l.lacks}
	for _, f := range files {
		of.rows += f.Rows
		of.name += hex.EncodeToString([]byte(f.Path))
	}
	return of
}

// A topic has partitions, each with so many rows; of one it may be that earlier ones are gone.
type topic struct {
	name   string
	rows   []int64
	gone   int64
	latest bool
	away   bool
	fault  error
	left   []string // windows that are left unfinished
}

func (k *topic) Name() string   { return k.name }
func (k *topic) AtLatest() bool { return k.latest }

func (k *topic) Next(_ context.Context, before *pipeline.Windows, _ time.Duration) (pipeline.TopicWindow, error) {
	w := pipeline.TopicWindow{Topic: k.name}
	if k.fault != nil {
		return w, k.fault
	}
	if k.away {
		return w, fmt.Errorf("no broker: %w", schedule.ErrAway)
	}
	for p, end := range k.rows {
		first, ok := int64(0), false
		if before != nil {
			first, ok = before.Ends[p]
		}
		if ok && first < k.gone {
			return w, fmt.Errorf("partition %d: the offsets %d to %d are gone", p, first, k.gone-1)
		}
		if !ok && before != nil && before.Ends == nil && k.latest {
			first = end
		}
		w.Partitions = append(w.Partitions, pipeline.WindowPart{Partition: p, First: first, End: end})
	}
	return w, nil
}

func (k *topic) Digest(w pipeline.TopicWindow) string { return fmt.Sprint(w) }

func (k *topic) Rows(w pipeline.TopicWindow) dataset.Rows {
	of := taken{rows: w.Offsets()}
	for _, p := range w.Partitions {
		of.name += fmt.Sprintf("%04x%04x", p.First, p.End)
		if p.First < p.End {
			of.segments = append(of.segments, certify.Segment{Topic: k.name, Partition: int64(p.Partition), First: 2000 * p.First, End: 2000 * p.End, Rows: 1})
		}
	}
	if n := len(of.segments); n > 0 {
		of.segments[n-1].Rows = 2001 - int64(n) // all together the 2,000 rows of the certificate, which fit into any segment
	}
	if len(k.left) > 0 && k.left[0] == "markers" {
		of.rows = 0
	}
	return of
}

func (k *topic) Discard(w pipeline.TopicWindow) error {
	k.left = append(k.left, w.String())
	return nil
}
