package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// nextMetrics show what new rows have said of what is current.
type nextMetrics struct{ rows, loss, bound, alarm *prometheus.GaugeVec }

// newNextMetrics registers them, by a label that says what is current where.
func newNextMetrics(registry *prometheus.Registry, prefix, label string) nextMetrics {
	of := func(name, help string) *prometheus.GaugeVec {
		return promauto.With(registry).NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, []string{label})
	}
	return nextMetrics{
		of("next_rows", "Labelled rows that have tested a model after it became current: the one that was current when the last of them came."),
		of("next_loss", "Mean loss of that model on these rows."),
		of("next_bound", "Bound on its expected loss, on average over these rows."),
		of("alarm", "1 if these rows contradict the certificate of that model, else 0."),
	}
}

// show shows a test.
func (m nextMetrics) show(where string, t watch.Test, bound float64) {
	n := t.Losses.Count()
	loss := 0.
	if n > 0 {
		loss = t.Losses.Upper()
	}
	m.rows.WithLabelValues(where).Set(float64(n))
	m.loss.WithLabelValues(where).Set(loss)
	m.bound.WithLabelValues(where).Set(bound)
	m.alarm.WithLabelValues(where).Set(float64(min(t.Alarm.Raised, 1)))
}
