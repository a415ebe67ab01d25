package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// scheduleMetrics are the metrics of a scheduler, listed in docs/reference/metrics.md.
type scheduleMetrics struct {
	registry *prometheus.Registry
	runs     *prometheus.CounterVec
	of       map[string]*prometheus.GaugeVec // by name without its prefix, each by job
	training prometheus.Gauge

	mu     sync.Mutex
	faults map[string]string // by job: why its last check or run has failed
}

// ofJobs are the gauges of a job and what they say.
var ofJobs = map[string]string{
	"bound":                          "Bound of the last certificate of a job, of the predictor that it requires, whatever its status.",
	"lag_offsets":                    "Committed offsets of the topic of a job that are in no window yet, at the last check.",
	"failing":                        "1 if the last run of a job has failed, or it is unknown whether it is due, else 0.",
	"last_success_timestamp_seconds": "End of the last run of a job with status 0.",
	"current_timestamp_seconds":      "When the current certificate of a job became current.",
	"current_unmoved_runs":           "Finished runs of a job since then that could not have replaced it: without the required certificate, or about something else.",
	"future_files":                   "Files that the last run of a job left out because they are dated after it.",
	"replaced_files":                 "Files of the last run of a job that were written again since the run before.",
}

func newScheduleMetrics(jobs []*config.ScheduledTask) *scheduleMetrics {
	m := &scheduleMetrics{
		registry: newRegistry(), faults: map[string]string{}, of: map[string]*prometheus.GaugeVec{},
		runs:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pacsgp_scheduled_runs_total", Help: "Runs that have ended, by job, state and cause."}, []string{"job", "state", "cause"}),
		training: prometheus.NewGauge(prometheus.GaugeOpts{Name: "pacsgp_training_bound_estimate", Help: "Estimate of the bound at the last step of training."}),
	}
	m.registry.MustRegister(m.runs, m.training)
	for name, help := range ofJobs {
		m.of[name] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "pacsgp_scheduled_" + name, Help: help}, []string{"job"})
		m.registry.MustRegister(m.of[name])
	}
	for _, j := range jobs {
		m.stands(j.Job)
	}
	return m
}

func (m *scheduleMetrics) set(name, job string, value float64) {
	m.of[name].WithLabelValues(job).Set(value)
}

// stands shows how the runs of a job have ended, and which model is current.
func (m *scheduleMetrics) stands(j *schedule.Job) {
	at, err := j.Standing()
	if err != nil {
		m.fails(j.Name, err.Error())
		return
	}
	if !at.Succeeded.IsZero() {
		m.set("last_success_timestamp_seconds", j.Name, unixSeconds(at.Succeeded))
	}
	m.set("current_unmoved_runs", j.Name, float64(at.Unmoved))
	if at.Last != nil {
		m.set("replaced_files", j.Name, float64(len(at.Last.Scheduled.Replaced)))
		m.set("future_files", j.Name, float64(len(at.Last.Scheduled.Future)))
	}
	if c := at.Current; c != nil {
		m.set("current_timestamp_seconds", j.Name, unixSeconds(c.Since))
	}
	m.fails(j.Name, at.Fault())
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// fails notes why the last run of a job has failed, or cannot be; "" if neither is so.
func (m *scheduleMetrics) fails(job, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults[job] = why
	m.set("failing", job, float64(min(len(why), 1)))
}

// ready returns why jobs fail, nil if none does.
func (m *scheduleMetrics) ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, why := range m.faults {
		if why != "" {
			all = append(all, why)
		}
	}
	if all == nil {
		return nil
	}
	slices.Sort(all)
	return errors.New(strings.Join(all, "\n"))
}

// seen shows why it is unknown whether a job is due; nil: it is known.
func (m *scheduleMetrics) seen(j *schedule.Job, fault error) {
	if fault == nil {
		m.stands(j)
		return
	}
	m.fails(j.Name, fault.Error())
}

// ended shows the end of a run, whatever has ended it.
func (m *scheduleMetrics) ended(j *schedule.Job, r *pipeline.RunState) {
	m.runs.WithLabelValues(j.Name, string(r.State), schedule.Cause(r)).Inc()
}

// trained shows the bound of a new certificate.
func (m *scheduleMetrics) trained(j *schedule.Job, o *pipeline.Outcome) {
	m.set("bound", j.Name, cmp.Or(j.Required, pipeline.RequirePrediction).Of(o.Result.Certificate).Bound)
}

// progress shows a step of training.
func (m *scheduleMetrics) progress(of job.Progress) {
	if of.Steps > 0 {
		m.training.Set(of.Bound)
	}
}
