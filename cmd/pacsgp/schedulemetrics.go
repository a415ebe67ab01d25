package main

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// scheduleMetrics are the metrics of a scheduler, listed in docs/metrics.md.
type scheduleMetrics struct {
	registry *prometheus.Registry
	live     *liveRun
	runs     *prometheus.CounterVec
	bound    *prometheus.GaugeVec
	lag      *prometheus.GaugeVec
	next     nextMetrics
	training prometheus.Gauge
}

func newScheduleMetrics(jobs []*config.ScheduledTask) *scheduleMetrics {
	m := &scheduleMetrics{
		registry: newRegistry(), live: &liveRun{},
		runs:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pacsgp_scheduled_runs_total", Help: "Runs that have ended, by job and whether they gave a certificate."}, []string{"job", "state"}),
		bound:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "pacsgp_scheduled_bound", Help: "Bound of the last certificate of a job, of the predictor that it judges by, whatever its status."}, []string{"job"}),
		lag:      prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "pacsgp_scheduled_lag_offsets", Help: "Committed offsets of the topic of a job that are in no window yet, when it was last looked."}, []string{"job"}),
		training: prometheus.NewGauge(prometheus.GaugeOpts{Name: "pacsgp_training_bound_estimate", Help: "Estimate of the bound at the last step of training."}),
	}
	m.registry.MustRegister(m.runs, m.bound, m.lag, m.training)
	m.next = newNextMetrics(m.registry, "pacsgp_scheduled_", "job")
	m.waits()
	for _, j := range jobs {
		m.live.fact("job "+j.Name, "no run since the scheduler began")
	}
	return m
}

func (m *scheduleMetrics) waits() { m.live.does("Nothing runs: waiting for what is due.") }

// began shows that a run begins, and returns a function that shows its steps.
func (m *scheduleMetrics) began(job pipeline.Job) func(pipeline.Progress) {
	at := job.Sequence()
	m.live.does(fmt.Sprintf("Job %s runs, for certificate number %d of its sequence.", at.Name, at.Number))
	return func(of pipeline.Progress) {
		if of.Steps > 0 {
			m.training.Set(of.Bound)
		}
		m.live.progress(of)
	}
}

// lagged shows the number of offsets of a job's topic in no window yet.
func (m *scheduleMetrics) lagged(j *schedule.Job, offsets int64) {
	m.lag.WithLabelValues(j.Name).Set(float64(offsets))
	m.live.fact("lag of job "+j.Name, certify.Count(offsets, "offset"))
}

// tested shows what new rows have said of the current model of a job.
func (m *scheduleMetrics) tested(j *schedule.Job, t watch.Test, bound float64) {
	m.next.show(j.Name, t, bound)
}

// ended shows the end of a run.
func (m *scheduleMetrics) ended(j *schedule.Job, o *pipeline.Outcome, err error) {
	m.waits()
	state, text := string(pipeline.StateFinished), ""
	if err != nil {
		state, text = string(pipeline.StateFailed), err.Error()
	} else {
		bound := j.Judge.Of(o.Result.Certificate).Bound
		m.bound.WithLabelValues(j.Name).Set(bound)
		text = fmt.Sprintf("certificate %.12s…, bound %.4f", o.Result.ID, bound)
	}
	m.runs.WithLabelValues(j.Name, state).Inc()
	m.live.fact("job "+j.Name, text)
}
