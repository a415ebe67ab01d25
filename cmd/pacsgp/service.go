package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/stream"
)

func streamCommand(w system) *cobra.Command {
	return onJob(w, &cobra.Command{
		Use:   "stream job.yaml",
		Short: "Train and certify window after window of a topic, for ever",
		Long: "Consume a topic in windows of so many rows, fit a model to each, certify it, publish both to\n" +
			"topics with the offsets that were read, and go on with the next. While one window trains the\n" +
			"next is spooled. Of several processes of one group one works and the others stand by. Ended\n" +
			"by SIGTERM, it goes on from its spool when it is started again; docs/howto/kafka.md says more.",
	}, &config.Overrides{}, func(ctx context.Context, p config.Task) error {
		s, err := newService(p, w)
		if err != nil {
			return err
		}
		return s.run(ctx)
	})
}

// A service trains window after window.
type service struct {
	*config.Member

	w       system
	show    *display
	metrics *metrics
}

// newService prepares a stream.
func newService(p config.Task, w system) (*service, error) {
	m, err := p.Member()
	if err != nil {
		return nil, err
	}
	s := &service{Member: m, w: w, show: newDisplay(w), metrics: newMetrics(m.Quota.Used, m.Quota.Limit())}
	s.metrics.group.shared = m.Stream.Shared()
	m.Service = config.Service{FS: w.fs, Said: s.show.event, Warned: s.show.warning, OnChange: s.metrics.group.membership, Lags: s.metrics.group.behind}
	m.Failed = s.metrics.errors.Inc
	m.Waits = func(err error) {
		if s.metrics.why.set(err); err != nil {
			s.show.warning(err.Error() + "; it is tried again")
		}
	}
	return s, nil
}

// run works until ctx is done, which is no error, or until a permanent failure.
func (s *service) run(ctx context.Context) (err error) {
	if err := s.metrics.stands(ctx, config.OutputIn(s.Output, s.w.fs)); err != nil && ctx.Err() == nil {
		s.show.warning(err.Error())
	}
	unserve, err := serve(ctx, s.Serve, s.metrics.registry, s.metrics.ready, []string{s.Output}, s.show.event)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unserve()) }()
	how := howTo(s.w, s.show, s.Task, nil, s.metrics.progress)
	err = s.Run(ctx, stream.Stream{How: how, Software: versionLine(), Events: s.metrics, Train: s.train})
	if ctx.Err() != nil {
		s.show.event("stopped: started again, it goes on from its spool")
		return nil
	}
	return err
}

// train runs the job of a window.
func (s *service) train(ctx context.Context, job job.Job, rows dataset.Rows, out pipeline.Output, of pipeline.RunConfig) (*pipeline.Outcome, error) {
	show := newDisplay(s.w)
	defer show.end()
	p, to := s.Into(job, rows, out)
	how := howTo(s.w, show, p, to, s.metrics.progress)
	how.Parent, how.Publisher, how.Certified, how.Conclude = of.Parent, of.Publisher, of.Certified, of.Conclude
	how.Keep = s.Stream.Kept()
	return pipeline.Train(ctx, job, rows, to, how)
}
