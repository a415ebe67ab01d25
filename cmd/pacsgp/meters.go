package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pacsgp/pacsgp/cmd/config"
)

// meters are the metrics of a service by name. docs/reference/metrics.md lists them.
type meters struct {
	registry *prometheus.Registry
	gauges   map[string]*prometheus.GaugeVec
	counters map[string]*prometheus.CounterVec
}

// newMeters returns the metrics that every process has.
func newMeters() meters {
	m := meters{prometheus.NewRegistry(), map[string]*prometheus.GaugeVec{}, map[string]*prometheus.CounterVec{}}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.gauge("pacsgp_build_info", "1, with the version as a label.", "version")
	m.set("pacsgp_build_info", 1, config.Version())
	return m
}

// gauge adds a gauge. Without labels its value begins at 0.
func (m meters) gauge(name, help string, labels ...string) {
	m.gauges[name] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(m.gauges[name])
	if labels == nil {
		m.set(name, 0)
	}
}

// counter adds a counter. Without labels its value begins at 0.
func (m meters) counter(name, help string, labels ...string) {
	m.counters[name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(m.counters[name])
	if labels == nil {
		m.add(name, 0)
	}
}

func (m meters) set(name string, value float64, labels ...string) {
	m.gauges[name].WithLabelValues(labels...).Set(value)
}

func (m meters) add(name string, more float64, labels ...string) {
	m.counters[name].WithLabelValues(labels...).Add(more)
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// write writes the metrics to a file, atomically. It leaves out those of the process and the Go
// runtime, which would clash with node_exporter's own.
func (m meters) write(path string) error {
	m.registry.Unregister(collectors.NewGoCollector())
	m.registry.Unregister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return prometheus.WriteToTextfile(path, m.registry)
}
