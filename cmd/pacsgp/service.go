package main

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
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
	}, &config.Overrides{}, func(ctx context.Context, p config.Task) error { return streamJob(ctx, w, p) })
}

// streamJob trains window after window until ctx is done, which is no error, or until a permanent failure.
func streamJob(ctx context.Context, w system, p config.Task) error {
	m, err := p.Member()
	if err != nil {
		return err
	}
	show, of := newDisplay(w), newMetrics(m.Quota.Used, m.Quota.Limit())
	of.group.shared = m.Stream.Shared()
	m.Service = config.Service{FS: w.fs, Said: show.event, Warned: show.warning, OnChange: of.group.membership, Lags: of.group.behind}
	m.Failed = of.errors.Inc
	m.Waits = func(err error) {
		if of.why.set(err); err != nil {
			show.warning(err.Error() + "; it is tried again")
		}
	}
	if err := of.stands(ctx, config.OutputIn(m.Output, w.fs)); err != nil && ctx.Err() == nil {
		show.warning(err.Error())
	}
	train := func(ctx context.Context, job job.Job, rows dataset.Rows, out pipeline.Output, as pipeline.RunConfig) (*pipeline.Outcome, error) {
		show := newDisplay(w) // of the window
		defer show.end()
		p, to := m.Into(job, rows, out)
		how := howTo(w, show, p, to, of.progress)
		how.Parent, how.Publisher, how.Certified, how.Conclude = as.Parent, as.Publisher, as.Certified, as.Conclude
		how.Keep = m.Stream.Kept()
		return pipeline.Train(ctx, job, rows, to, how)
	}
	return operate(ctx, show, m.Serve, of.registry, of.ready, []string{m.Output}, true, func() error {
		how := howTo(w, show, m.Task, nil, of.progress)
		return m.Run(ctx, stream.Stream{How: how, Software: versionLine(), Events: of, Train: train})
	})
}

// metrics are those of a stream, listed in docs/reference/metrics.md.
type metrics struct {
	registry *prometheus.Registry

	rows        *prometheus.CounterVec
	spooled     prometheus.Counter
	fill        prometheus.Gauge
	steps       prometheus.Counter
	training    prometheus.Gauge
	bound       *prometheus.GaugeVec
	baseline    prometheus.Gauge
	number      prometheus.Gauge
	published   *prometheus.CounterVec
	publishedAt prometheus.Gauge
	latency     prometheus.Histogram
	errors      prometheus.Counter
	group       *groupMetrics

	why reason // rows cannot be read

	mu     sync.Mutex
	closed map[int64]time.Time // when this process had all rows of a window
}

var _ stream.Events = (*metrics)(nil)

// newMetrics registers them. used and limit are about the disk of the spools.
func newMetrics(used func() int64, limit int64) *metrics {
	registry := newRegistry()
	of := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return of.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return of.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	of.NewGaugeFunc(prometheus.GaugeOpts{Name: "pacsgp_spool_bytes", Help: "Disk that the spools have."}, func() float64 { return float64(used()) })
	gauge("pacsgp_spool_limit_bytes", "Disk that the spools may have.").Set(float64(limit))
	return &metrics{
		registry: registry, closed: map[int64]time.Time{},
		rows:        of.NewCounterVec(prometheus.CounterOpts{Name: "pacsgp_rows_total", Help: "Rows of published certificates, by what they were used for."}, []string{"outcome"}),
		published:   of.NewCounterVec(prometheus.CounterOpts{Name: "pacsgp_certificates_total", Help: "Certificates that were published, by the status of the claim that the job requires."}, []string{"status"}),
		bound:       of.NewGaugeVec(prometheus.GaugeOpts{Name: "pacsgp_certificate_bound", Help: "Bound of the last certificate, by predictor."}, []string{"predictor"}),
		latency:     of.NewHistogram(prometheus.HistogramOpts{Name: "pacsgp_certificate_latency_seconds", Help: "From a window's last row in the spool to its published certificate.", Buckets: prometheus.ExponentialBuckets(0.5, 2, 14)}),
		spooled:     counter("pacsgp_spooled_rows_total", "Rows that were consumed into spools."),
		fill:        gauge("pacsgp_window_fill_rows", "Rows of the window that is being spooled."),
		steps:       counter("pacsgp_training_steps_total", "Steps of training."),
		training:    gauge("pacsgp_training_bound_estimate", "Estimate of the bound at the last step of training."),
		baseline:    gauge("pacsgp_certificate_baseline_bound", "Bound of the best constant in the last certificate."),
		number:      gauge("pacsgp_certificate_number", "Number of the last certificate in its sequence."),
		publishedAt: gauge("pacsgp_certificate_timestamp_seconds", "When the last certificate was published, in seconds since 1970; its age is time() less this."),
		errors:      counter("pacsgp_publish_errors_total", "Attempts to publish that failed and were made again, or ended the process."),
		group:       newGroupMetrics(of),
	}
}

// Fills returns a function that shows the rows of the open window; several goroutines may call
// it. rows come from an earlier process.
func (m *metrics) Fills(rows int64) func(rows int64) {
	var mu sync.Mutex
	m.fill.Set(float64(rows))
	return func(now int64) {
		mu.Lock()
		defer mu.Unlock()
		if now > rows {
			m.spooled.Add(float64(now - rows))
			m.fill.Set(float64(now))
			rows = now
		}
	}
}

// progress shows a step of training.
func (m *metrics) progress(p job.Progress) {
	if p.Steps > 0 {
		m.steps.Inc()
		m.training.Set(p.Bound)
	}
}

// Filled notes the time of a full window.
func (m *metrics) Filled(w *stream.Window) {
	m.fill.Set(0)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed[w.N] = time.Now()
}

// Published shows a published certificate.
func (m *metrics) Published(w *stream.Window, c certify.Certificate, status certify.Status) {
	l := c.Counts
	for outcome, n := range map[string]int64{"prior": l.Reference, "training": l.Train, "holdout": l.Holdout, "duplicate": l.Duplicates, "rejected": l.Bad} {
		m.rows.WithLabelValues(outcome).Add(float64(n))
	}
	m.published.WithLabelValues(string(status)).Inc()
	m.shows(c, time.Now())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latency.Observe(time.Since(m.closed[w.N]).Seconds())
	delete(m.closed, w.N)
}

// shows shows the last certificate.
func (m *metrics) shows(c certify.Certificate, at time.Time) {
	for _, of := range []pipeline.Required{pipeline.RequirePrediction, pipeline.RequireDraw} {
		m.bound.WithLabelValues(string(of)).Set(of.Of(c).Bound)
	}
	m.baseline.Set(c.About(certify.PredictorDraw).Baseline)
	if s := c.Delta.Sequence; s != nil {
		m.number.Set(float64(s.Number))
	}
	m.publishedAt.Set(unixSeconds(at))
}

// stands shows the last certificate of an output, which an earlier process has published.
func (m *metrics) stands(ctx context.Context, out *config.Output) error {
	runs, err := out.Runs()
	if err != nil {
		return err
	}
	for r := range runs {
		if r.State == pipeline.StateFinished && r.Ended != nil && len(r.Artifacts) > 0 {
			c, err := out.GetCertificate(ctx, r.Artifacts[0].ID)
			if err == nil {
				m.shows(c, *r.Ended)
			}
			return err
		}
	}
	return nil
}

// ready returns the reason for a wait, nil without one.
func (m *metrics) ready() error {
	if err := m.why.get(); err != nil {
		return err
	}
	return m.group.ready()
}
