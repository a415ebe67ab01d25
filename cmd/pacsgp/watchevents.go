package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// watchEvents reports what watch does, in the log and in metrics.
type watchEvents struct {
	show    *display
	metrics *watchMetrics

	mu      sync.Mutex // of what follows
	since   time.Time  // of the last line about rows
	alarmed string     // certificate whose alarm was reported
}

// Adopted logs another model.
func (e *watchEvents) Adopted(by *score.Predictor) {
	e.show.event(fmt.Sprintf("new rows test certificate %.12s…", by.ID))
}

// Waits logs the reason for a wait, once.
func (e *watchEvents) Waits(err error) {
	e.show.warnOnce(err.Error())
	e.metrics.why.set(err)
}

// Failed logs the reason why a file was not counted, once.
func (e *watchEvents) Failed(err error) { e.show.warnOnce(err.Error()) }

// Predicted logs files; what rows say is reported by counted.
func (e *watchEvents) Predicted(what score.Done) {
	e.metrics.why.set(nil)
	for _, f := range what.Files {
		e.show.event(fmt.Sprintf("%s: %s", f.Path, words.Count(f.Rows, "row")))
	}
}

// counted logs what was counted, now and then, and an alarm at once.
func (e *watchEvents) counted(by *score.Predictor, t watch.Test) {
	e.metrics.counted(t)
	e.mu.Lock()
	defer e.mu.Unlock()
	alarm := t.Alarm.Raised > 0 && e.alarmed != by.ID
	if !alarm && time.Since(e.since) < watchEvery {
		return
	}
	e.since = time.Now()
	r, err := t.Report(by.Certificate)
	if err != nil {
		e.show.warning(err.Error())
		return
	}
	e.metrics.bound.Set(r.Bound)
	e.show.event(r.Statement)
	if alarm {
		e.alarmed = by.ID
		e.show.warning(fmt.Sprintf("ALARM, certificate %.12s…: %s", by.ID, r.Alarm))
	}
}

// watchMetrics are the metrics of watch, listed in docs/reference/metrics.md.
type watchMetrics struct {
	registry *prometheus.Registry
	rows     *prometheus.GaugeVec
	units    prometheus.Gauge
	loss     prometheus.Gauge
	bound    prometheus.Gauge
	evidence prometheus.Gauge
	alarm    prometheus.Gauge

	why reason // for a wait
}

func newWatchMetrics() *watchMetrics {
	registry := newRegistry()
	of := promauto.With(registry)
	m := &watchMetrics{
		registry: registry,
		rows:     of.NewGaugeVec(prometheus.GaugeOpts{Name: "pacsgp_watch_rows", Help: "Rows of the test of the current certificate, by what they are."}, []string{"outcome"}),
		units:    of.NewGauge(prometheus.GaugeOpts{Name: "pacsgp_watch_units", Help: "Units of the test that have ended; 0 where rows are counted."}),
		loss:     of.NewGauge(prometheus.GaugeOpts{Name: "pacsgp_watch_loss", Help: "Mean loss of predictions on the labelled rows, or the units, of the test."}),
		bound:    of.NewGauge(prometheus.GaugeOpts{Name: "pacsgp_watch_bound", Help: "Bound on the expected loss, on average over these rows or units."}),
		evidence: of.NewGauge(prometheus.GaugeOpts{Name: "pacsgp_watch_evidence", Help: "Evidence of these rows against the bound of the certificate: 1 at the beginning, and the inverse of alarm where the alarm is raised."}),
		alarm:    of.NewGauge(prometheus.GaugeOpts{Name: "pacsgp_watch_alarm", Help: "1 if the alarm of the current certificate was raised, else 0."}),
	}
	m.bound.Set(1)
	return m
}

// counted shows a test.
func (m *watchMetrics) counted(t watch.Test) {
	rows := map[string]int64{"labelled": t.Labelled(), "unlabelled": t.Unlabelled, "rejected": t.Bad, "known": t.Known}
	if t.Unit != nil {
		rows["open"], rows["late"] = t.Open, t.Late
		m.units.Set(float64(t.Losses.Count()))
	}
	for outcome, n := range rows {
		m.rows.WithLabelValues(outcome).Set(float64(n))
	}
	if t.Losses.Count() > 0 {
		m.loss.Set(t.Losses.Upper())
	}
	m.evidence.Set(t.Alarm.Worth)
	m.alarm.Set(float64(min(t.Alarm.Raised, 1)))
}
