package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A RunConfig holds the settings of a run that are not part of its job. [Train] requires Software. Other fields may be
// zero.
type RunConfig struct {
	Run      string            // name of the run in its log and records
	Required certify.Predictor // the predictor whose claim decides the exit status; "" means the mean
	Limit    float64           // the largest bound that the job allows; 0 means any
	Retain   int               // number of finished runs whose artifacts are not removed; 0 means all
	Folder   string            // folder to which paths in manifests are relative
	Software string            // name and version of the program, for the certificate

	// Conclude completes the record of the run before its end is written, and decides whether the pointer moves. o is
	// nil if the run has failed. If Conclude is nil, the pointer moves to each result with exit status 0.
	Conclude func(ctx context.Context, r *RunState, o *Outcome, fault error)

	// FirstPass makes the first pass in parts, by the training state in the output, and calls use with the merged pass.
	// [TrainForParts] calls it if the rows are files and the job allows parts. If it is nil, TrainForParts reads all
	// rows itself.
	FirstPass func(ctx context.Context, use func(*pass.Pass) error) error

	// Begun is the record of the run if the caller has begun it. If it is nil, Train begins the run.
	Begun *RunState
	// Certified is the id of the certificate that an earlier try has published under the run's number, or "". If it is
	// set, any other certificate is an error.
	Certified string

	Parent    *fit.Parent // whose posterior training begins with
	Rejected  RejectedRowsKeeper
	Publisher Publisher
	Resources job.Resources
	Observer  job.Observer

	// Located returns an error about the job's columns with the position in the job file added.
	Located func(err error, job job.Job) error
	// Report stores a report of the outcome, before the pointer moves.
	Report func(o *Outcome) error
}

// A RejectedRowsKeeper stores the rejected rows of a run.
type RejectedRowsKeeper interface {
	// Rejects returns the store for the rejected rows of an opened source.
	Rejects(from dataset.Opened) dataset.Rejects
	// Kept reports whether the rejected rows of an earlier run are still there.
	Kept() bool
}

// A Publisher publishes artifacts next to the output.
type Publisher interface {
	// Check returns an error if nothing can be published. It is called before training.
	Check(ctx context.Context) error
	// Publish publishes a result, and moves its own pointer to it. verdict is nil, or the reason why the run has no
	// certificate of the required kind.
	Publish(ctx context.Context, r *Result, verdict error) error
}

// Train runs a job on rows, and publishes to an output. It holds the output from the record of the run until the pointer
// has moved. A job that has finished on the same files is not trained again.
//
// If a run is killed and Train is called again with the same arguments, it resumes from its checkpoint and gives the same
// bytes. Missing settings, and missing defaults of the job, are joined in one error before anything is opened. Train
// releases the rows at its end. If it returns both an outcome and an error, everything is published and the run is
// recorded as finished; the error is about the removal of old files.
func Train(ctx context.Context, job job.Job, rows dataset.Rows, out Output, how RunConfig) (o *Outcome, err error) {
	s, err := newStage(job, rows, out, how)
	if err := errors.Join(err, job.Sequenced()); err != nil {
		return nil, err
	}
	published := false
	defer func() { err = errors.Join(err, rows.Release(published)) }()
	release, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if o, err := s.finishedBefore(ctx); o != nil || err != nil {
		return o, err
	}
	defer s.fail(ctx, &err)
	if err := s.record(); err != nil {
		return nil, err
	}
	if o, err = s.run(ctx); err != nil {
		return nil, err
	}
	if err := s.end(ctx, o, nil); err != nil {
		return nil, err
	}
	err = s.tidy(ctx)
	published = err == nil
	return o, err
}

// A stage is a run of [Train], [TrainForParts] or [CertifyParts].
type stage struct {
	how   RunConfig
	job   job.Job
	rows  dataset.Rows
	out   Output
	began time.Time

	first dataset.Opened // the rows as opened for training
	last  dataset.Opened // the rows as opened for the last pass
	at    fit.Checkpoints
	state *RunState
}

// newStage returns a new stage, or an error that names all missing settings.
func newStage(j job.Job, rows dataset.Rows, out Output, how RunConfig) (*stage, error) {
	how.Required = cmp.Or(how.Required, certify.PredictorMean)
	how.Resources = how.Resources.WithDefaults()
	err := errors.Join(j.Complete(), job.Needs("Rows", rows != nil), job.Needs("Output", out != nil), job.Needs("Software", how.Software != "", certify.Name("software", how.Software)))
	return &stage{how: how, job: j, rows: rows, out: out, began: time.Now()}, err
}

// begin opens the rows, calls the publisher's Check, and holds the output, in this order, so that a job without rows does
// not create an output.
func (s *stage) begin(ctx context.Context) (release func() error, err error) {
	if s.first, err = s.open(ctx, nil); err != nil {
		return nil, err
	}
	for _, text := range s.first.Warnings() {
		s.how.Observer.ReportWarning(text)
	}
	s.last = s.first
	if s.how.Publisher != nil {
		if err := s.how.Publisher.Check(ctx); err != nil {
			return nil, err
		}
	}
	if release, err = s.out.Hold(); err != nil {
		return nil, err
	}
	if err := s.findCheckpoint(); err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// findCheckpoint finds the checkpoint of the job, and reports the warnings of the output.
func (s *stage) findCheckpoint() error {
	digest, err := s.job.Digest()
	if err != nil {
		return err
	}
	s.at = s.out.Checkpoint(digest)
	warnings, err := s.out.Warnings([]job.Digest{digest})
	for _, text := range warnings {
		s.how.Observer.ReportWarning(text)
	}
	return err
}

// open opens the rows with these features, or with the job's own if features is nil.
func (s *stage) open(ctx context.Context, features []string) (dataset.Opened, error) {
	src, err := dataset.Open(ctx, s.job, s.rows, features, s.how.Resources, s.how.Observer.Spooled)
	if err != nil && features == nil && s.how.Located != nil { // given features were in the rows before, so that the job is not at fault
		err = s.how.Located(err, s.job)
	}
	return src, err
}

// record records the beginning of the run, and removes the training state of an earlier one.
func (s *stage) record() (err error) {
	if s.state = s.how.Begun; s.state == nil {
		if s.state, err = BeginRun(s.out, s.how.Run, s.job, s.began, nil); err != nil {
			return err
		}
	}
	if err = s.out.DropTrainingState(); err == nil {
		_, err = s.out.Log() // finds damage before hours of reading
	}
	return err
}

// environment returns the environment of the run.
func (s *stage) environment() fit.Environment {
	env := fit.Environment{
		Open: func(ctx context.Context, features []string) (dataset.Source, error) {
			if features == nil {
				return s.first, nil
			}
			src, err := s.open(ctx, features)
			if err != nil {
				return nil, err
			}
			before := s.first.Files()
			for i, f := range src.Files() { // objects of a store have tags
				if i < len(before) && f.Path == before[i].Path && f.Tag != before[i].Tag {
					return nil, fmt.Errorf("%w: %s was written again while this run was reading it", job.ErrChanged, f.Path)
				}
			}
			s.last = src
			return src, nil
		},
		Parent: s.how.Parent, Sink: s.out, Log: s.out, Checkpoints: s.at,
		Resources: s.how.Resources, Observer: s.how.Observer, Software: s.how.Software,
	}
	if s.how.Certified != "" {
		env.Sink = ownNumber{s.out, s.how.Certified}
	}
	if s.how.Rejected != nil {
		env.Rejects = s.how.Rejected.Rejects(s.first)
	}
	return env
}

// An ownNumber is a sink for a run whose number already has a certificate.
type ownNumber struct {
	pass.Sink

	certified string
}

// PutCertificate returns an error for any other certificate.
func (s ownNumber) PutCertificate(ctx context.Context, c certify.Certificate) (string, error) {
	document, err := certify.Marshal(c)
	if err != nil {
		return "", err
	}
	if digest.Of(document) != s.certified {
		return "", fmt.Errorf("number %[2]d of sequence %[3]q already has certificate %[1]s, and this run made another one: rows or program have changed since", s.certified, c.Delta.Sequence.Number, c.Delta.Sequence.Name)
	}
	return s.Sink.PutCertificate(ctx, c)
}

// run runs the job, and publishes and reports its result.
func (s *stage) run(ctx context.Context) (*Outcome, error) {
	r, err := Run(ctx, s.job, s.environment())
	if err == nil {
		err = s.list(r)
	}
	if err != nil {
		return nil, s.interruption(err)
	}
	o, err := s.how.outcome(r, s.began)
	if err != nil {
		return nil, err
	}
	if p := s.how.Publisher; p != nil {
		err := p.Publish(ctx, r, s.how.Verdict(o.Result.Certificate))
		if err != nil && ctx.Err() != nil {
			return nil, s.interruption(context.Canceled)
		}
		if err != nil {
			return nil, fmt.Errorf("the artifact is in the output, but not on its topics; run the job again: %w", err)
		}
	}
	return o, nil
}

// list writes the manifest of a result, if its rows are from files.
func (s *stage) list(r *Result) error {
	files, shards := s.last.Files(), s.last.Shards()
	if files == nil {
		return nil
	}
	m := Manifest{Format: manifestFormat, Certificate: r.ID, Sample: r.Certificate.Sample.Digest, Files: listed(files, s.how.Folder)}
	groups := 0
	for _, f := range files {
		groups += f.RowGroups
	}
	if groups != len(shards) || groups != len(r.shards) {
		return fmt.Errorf("manifest: %d row groups in the files, %d in the sample", groups, len(r.shards))
	}
	at := 0
	for i, f := range files {
		for range f.RowGroups {
			m.Files[i].Shards = append(m.Files[i].Shards, dataset.ManifestShard{Rows: shards[at].Rows, Digest: r.shards[at].String()})
			at++
		}
	}
	return s.out.PutManifest(m)
}

// ErrInterrupted means that a run was interrupted. The same call resumes it.
var ErrInterrupted = errors.New("interrupted")

// interruption returns the error of a run that err has ended: of an interrupted one, an error that says how to resume.
func (s *stage) interruption(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	how := " before there was anything to keep: the same command starts from the beginning"
	if location, there := s.at.Where(); there {
		how = ": the same command goes on from the checkpoint " + location
	}
	if lost, ok := errors.AsType[*fit.LostError](err); ok {
		return fmt.Errorf("%w%s; %w", ErrInterrupted, how, lost)
	}
	return fmt.Errorf("%w%s", ErrInterrupted, how)
}

// end moves the pointer, if the run's certificate becomes current, and then writes the end of the run. o is nil if the run
// has failed.
func (s *stage) end(ctx context.Context, o *Outcome, fault error) error {
	r := s.state
	if o == nil {
		r.State, r.Exit, r.Fault, r.Record = StateFailed, nil, job.Shortened(fault.Error()), nil
	} else {
		r.State, r.Exit, r.Fault, r.Record = StateFinished, &o.Record.Exit, o.Record.Fault, &o.Record
		r.Artifacts = []ArtifactRef{o.Result.ArtifactRef}
	}
	switch {
	case s.how.Conclude != nil:
		s.how.Conclude(ctx, r, o, fault)
	case o != nil && *r.Exit == 0:
		if err := PointTo(s.out, o.Result.Certificate, r.Artifacts[0], s.how.Required, time.Now()); err != nil {
			return err
		}
	}
	return r.close(s.out, time.Now())
}

// fail writes the end of a run that has begun and failed. If the end cannot be written, the next run writes it.
func (s *stage) fail(ctx context.Context, fault *error) {
	if *fault != nil && s.state != nil && s.state.Ended == nil {
		_ = s.end(ctx, nil, *fault)
	}
}

// tidy removes old runs and the checkpoint of this one. The latter happens even if ctx is done.
func (s *stage) tidy(ctx context.Context) (err error) {
	if s.how.Retain > 0 {
		err = s.out.Retain(s.how.Retain)
	}
	if s.at != nil { // nil if another process has trained
		err = errors.Join(err, s.at.Clear(context.WithoutCancel(ctx)))
	}
	return err
}
