package pipeline

import (
	"context"
	"errors"
	"time"
)

// TrainForParts is [Train] up to the last pass: it puts a handover into the output, for
// [Handover.Pass] and [CertifyParts].
func TrainForParts(ctx context.Context, job Job, rows Rows, out Output, how RunConfig) (err error) {
	s := newStage(job, rows, out, how)
	if err := errors.Join(job.complete(), job.placed(), s.needs("Rows", "Output", "Software")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Release(false)) }()
	release, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	defer func() {
		if err != nil && s.state != nil {
			_ = s.end(ctx, nil, err)
		}
	}()
	if err := s.record(); err != nil {
		return err
	}
	env := s.environment()
	if how.FirstPass != nil && s.first.Files() != nil {
		env.FirstPass = func(ctx context.Context, h *Handover, _ []Shard, use func(*Pass) error) error {
			if err := out.PutHandover(ctx, h); err != nil {
				return err
			}
			return how.FirstPass(ctx, use)
		}
	}
	h, err := Fit(ctx, job, env)
	if errors.Is(err, context.Canceled) {
		return s.interruption()
	}
	if err != nil {
		return err
	}
	if err := out.PutHandover(ctx, h); err != nil {
		return err
	}
	if err := s.at.Clear(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	exit := 0
	return s.state.End(out, StateFinished, &exit, "", time.Now())
}

// CertifyParts publishes the result of [TrainForParts], with the model m of the handover,
// once all parts of the last pass are merged. There is no manifest if the rows cannot be
// opened here.
func CertifyParts(ctx context.Context, h *Handover, m Model, all *Pass, job Job, rows Rows, out Output, how RunConfig) (o *Outcome, err error) {
	s := newStage(job, rows, out, how)
	if err := errors.Join(job.complete(), s.needs("Rows", "Output", "Software")); err != nil {
		return nil, err
	}
	release, err := out.Hold()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if s.state, err = BeginRun(out, how.Run, job, s.began, nil); err != nil {
		return nil, err
	}
	finished := false
	defer func() {
		if !finished {
			_ = s.end(ctx, nil, err)
		}
	}()
	if _, err := out.PutModel(ctx, m); err != nil {
		return nil, err
	}
	r, err := h.Certify(ctx, all, Environment{Sink: out, Resources: how.Resources, Observer: how.Observer, Software: how.Software})
	if err != nil {
		return nil, err
	}
	if s.last, err = s.open(ctx, nil, func(string) {}); err == nil {
		err = s.list(r)
	}
	if err != nil { // the rows were read elsewhere
		how.Observer.notice("there is no manifest beside the certificate, for the files cannot be listed here: " + err.Error())
	}
	o = how.outcome(r, s.began)
	if err := s.close(o); err != nil {
		return nil, err
	}
	if err := s.end(ctx, o, nil); err != nil {
		return nil, err
	}
	finished = true
	return o, s.tidy(ctx)
}
