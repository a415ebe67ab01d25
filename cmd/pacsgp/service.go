package main

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
		Short: "Train and certify on window after window of a topic, for ever",
		Long: "Read a topic in windows of a fixed number of rows. Fit a model to each, certify it, and publish both to " +
			"topics with the offsets that were read. If a group has several processes, one works and the others wait. A " +
			"stream that is ended and started again resumes from its spool. docs/howto/kafka.md explains the rest.",
	}, &config.Overrides{}, func(ctx context.Context, p config.Task) error { return streamJob(ctx, w, p) })
}

// streamJob trains window after window. It returns nil when ctx is done, or a permanent error.
func streamJob(ctx context.Context, w system, p config.Task) error {
	m, err := p.Member()
	if err != nil {
		return err
	}
	show, of := newDisplay(w), newMetrics(m.Quota.Used, m.Quota.Limit)
	of.group.shared = m.Stream.Shared()
	m.Service = config.Service{FS: w.fs, Said: show.event, Warned: show.warning, OnChange: of.group.membership, Lags: of.group.behind}
	m.Failed = func() { of.add("pacsgp_publish_errors_total", 1) }
	m.Waits = func(err error) {
		if of.why.set(err); err != nil {
			show.warning(err.Error() + "; it is tried again")
		}
	}
	if err := of.showLast(ctx, config.OutputIn(m.Output, w.fs)); err != nil && ctx.Err() == nil {
		show.warning(err.Error())
	}
	train := func(ctx context.Context, job job.Job, rows dataset.Rows, out pipeline.Output, as pipeline.RunConfig) (*pipeline.Outcome, error) {
		show := newDisplay(w) // the display of this window
		defer show.end()
		p, to := m.Into(job, rows, out)
		how := howTo(w, show, p, to, of.progress)
		how.Parent, how.Publisher, how.Certified, how.Conclude = as.Parent, as.Publisher, as.Certified, as.Conclude
		how.Retain = m.Stream.Retained()
		return pipeline.Train(ctx, job, rows, to, how)
	}
	return operate(ctx, show, m.Serve, of.registry, of.ready, []string{m.Output}, true, func() error {
		how := howTo(w, show, m.Task, nil, of.progress)
		return m.Run(ctx, stream.Stream{How: how, Software: versionLine(), Events: of, Train: train})
	})
}

// metrics are the metrics of a stream.
type metrics struct {
	meters
	latency prometheus.Histogram
	group   *groupMetrics

	why reason // why rows cannot be read

	mu     sync.Mutex
	closed map[int64]time.Time // when this process had all rows of each window
}

var _ stream.Events = (*metrics)(nil)

// newMetrics returns registered metrics. used and limit are the disk space of spools in bytes.
func newMetrics(used func() int64, limit int64) *metrics {
	m := &metrics{meters: newMeters(), closed: map[int64]time.Time{}}
	m.counter("pacsgp_rows_total", "Rows of published certificates, by what they were used for.", "outcome")
	m.counter("pacsgp_certificates_total", "Certificates that were published, by the status of the claim that the job requires.", "status")
	m.gauge("pacsgp_certificate_bound", "Bound of the last certificate, by predictor.", "predictor")
	m.counter("pacsgp_spooled_rows_total", "Rows that were consumed into spools.")
	m.gauge("pacsgp_window_fill_rows", "Rows of the window that is being spooled.")
	m.counter("pacsgp_training_steps_total", "Steps of training.")
	m.gauge("pacsgp_training_bound_estimate", "Estimate of the bound at the last step of training.")
	m.gauge("pacsgp_certificate_baseline_bound", "Bound of the best constant in the last certificate.")
	m.gauge("pacsgp_certificate_number", "Number of the last certificate in its sequence.")
	m.gauge("pacsgp_certificate_timestamp_seconds", "When the last certificate was published, in seconds since 1970; its age is time() less this.")
	m.counter("pacsgp_publish_errors_total", "Attempts to publish that failed and were made again, or ended the process.")
	m.gauge("pacsgp_spool_limit_bytes", "Disk that the spools may have.")
	m.set("pacsgp_spool_limit_bytes", float64(limit))
	m.latency = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "pacsgp_certificate_latency_seconds", Help: "From a window's last row in the spool to its published certificate.", Buckets: prometheus.ExponentialBuckets(0.5, 2, 14),
	})
	m.registry.MustRegister(m.latency, prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "pacsgp_spool_bytes", Help: "Disk that the spools have."}, func() float64 { return float64(used()) }))
	m.group = newGroupMetrics(m.meters)
	return m
}

// Fills returns a function that shows the number of rows in the open window. It may be called from
// several goroutines. rows is how many rows the window has from an earlier process.
func (m *metrics) Fills(rows int64) func(rows int64) {
	var mu sync.Mutex
	m.set("pacsgp_window_fill_rows", float64(rows))
	return func(now int64) {
		mu.Lock()
		defer mu.Unlock()
		if now > rows {
			m.add("pacsgp_spooled_rows_total", float64(now-rows))
			m.set("pacsgp_window_fill_rows", float64(now))
			rows = now
		}
	}
}

func (m *metrics) progress(p job.Progress) {
	if p.Steps > 0 {
		m.add("pacsgp_training_steps_total", 1)
		m.set("pacsgp_training_bound_estimate", p.Bound)
	}
}

func (m *metrics) Filled(w *stream.Window) {
	m.set("pacsgp_window_fill_rows", 0)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed[w.N] = time.Now()
}

func (m *metrics) Published(w *stream.Window, c certify.Certificate, status certify.Status) {
	l := c.Counts
	for outcome, n := range map[string]int64{"prior": l.Prior, "training": l.Training, "holdout": l.Holdout, "duplicate": l.Duplicates, "rejected": l.Rejected} {
		m.add("pacsgp_rows_total", float64(n), outcome)
	}
	m.add("pacsgp_certificates_total", 1, string(status))
	m.shows(c, time.Now())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latency.Observe(time.Since(m.closed[w.N]).Seconds())
	delete(m.closed, w.N)
}

func (m *metrics) shows(c certify.Certificate, at time.Time) {
	for _, of := range []certify.Predictor{certify.PredictorMean, certify.PredictorDraw} {
		m.set("pacsgp_certificate_bound", c.About(of).Bound, string(of))
	}
	m.set("pacsgp_certificate_baseline_bound", c.About(certify.PredictorDraw).Baseline)
	if s := c.Delta.Sequence; s != nil {
		m.set("pacsgp_certificate_number", float64(s.Number))
	}
	m.set("pacsgp_certificate_timestamp_seconds", unixSeconds(at))
}

// showLast shows the last certificate in an output, from an earlier process.
func (m *metrics) showLast(ctx context.Context, out *config.Output) error {
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

// ready returns the reason for a wait, or nil if there is none.
func (m *metrics) ready() error {
	if err := m.why.get(); err != nil {
		return err
	}
	return m.group.ready()
}
