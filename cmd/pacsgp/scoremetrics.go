package main

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// scoreMetrics are the metrics of score, listed in docs/reference/metrics.md.
type scoreMetrics struct {
	registry    *prometheus.Registry
	predictions *prometheus.CounterVec
	batches     prometheus.Counter
	models      prometheus.Counter
	success     prometheus.Gauge
	unread      prometheus.Gauge // of files
	group       *groupMetrics    // of a topic

	why   reason // for a wait, or why files cannot be predicted
	fault reason // why the last file that failed could not be predicted
}

// newScoreMetrics registers them, some of a topic only.
func newScoreMetrics(ofTopic bool) *scoreMetrics {
	registry := newRegistry()
	of := promauto.With(registry)
	m := &scoreMetrics{
		registry:    registry,
		predictions: of.NewCounterVec(prometheus.CounterOpts{Name: "pacsgp_predictions_total", Help: "Rows that score has dealt with, by whether they have a prediction."}, []string{"outcome"}),
		batches:     of.NewCounter(prometheus.CounterOpts{Name: "pacsgp_prediction_batches_total", Help: "Files, or batches of rows of a topic, that were predicted."}),
		models:      of.NewCounter(prometheus.CounterOpts{Name: "pacsgp_models_taken_total", Help: "Models that score has taken, the first included."}),
	}
	m.success = of.NewGauge(prometheus.GaugeOpts{Name: "pacsgp_prediction_last_success_timestamp_seconds", Help: "Time of the last committed predictions of this process."})
	if !ofTopic {
		m.unread = of.NewGauge(prometheus.GaugeOpts{Name: "pacsgp_prediction_failed_files", Help: "Files that could not be predicted in the last round."})
	}
	for _, outcome := range []string{"predicted", "refused"} {
		m.predictions.WithLabelValues(outcome)
	}
	if ofTopic {
		m.group = newGroupMetrics(of)
	}
	return m
}

// predicted counts a file or a batch.
func (m *scoreMetrics) predicted(n score.Counts) {
	if m.unread == nil { // else the end of a round says it
		m.why.set(nil)
	}
	m.success.SetToCurrentTime()
	m.batches.Add(float64(n.Units))
	m.predictions.WithLabelValues("predicted").Add(float64(n.Rows - n.Refused))
	m.predictions.WithLabelValues("refused").Add(float64(n.Refused))
}

// round shows the number of files that could not be predicted in a round over all files.
func (m *scoreMetrics) round(failed int) {
	m.unread.Set(float64(failed))
	fault := m.fault.get()
	if failed == 0 || fault == nil {
		m.why.set(nil)
		return
	}
	m.why.set(fmt.Errorf("%s cannot be predicted, the last because: %w", words.Count(int64(failed), "file"), fault))
}

// ready returns the reason for a wait, nil without one.
func (m *scoreMetrics) ready() error {
	if err := m.why.get(); err != nil || m.group == nil {
		return err
	}
	return m.group.ready()
}
