package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pacsgp/pacsgp/cmd/config"
)

// meters are the metrics of a service by name, listed in docs/reference/metrics.md.
type meters struct {
	registry *prometheus.Registry
	gauges   map[string]*prometheus.GaugeVec
	counters map[string]*prometheus.CounterVec
}

// newMeters has the metrics of every process.
func newMeters() meters {
	m := meters{prometheus.NewRegistry(), map[string]*prometheus.GaugeVec{}, map[string]*prometheus.CounterVec{}}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.gauge("pacsgp_build_info", "1, with the version as a label.", "version")
	m.set("pacsgp_build_info", 1, config.Version())
	return m
}

// gauge adds a gauge. Without labels it is 0 until it is set.
func (m meters) gauge(name, help string, labels ...string) {
	m.gauges[name] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(m.gauges[name])
	if labels == nil {
		m.set(name, 0)
	}
}

// counter adds a counter. Without labels it is 0 at first.
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

// write writes the metrics of pacsgp to a file, whole or not at all. Those of the process and of the Go
// runtime would clash with node_exporter's own.
func (m meters) write(path string) error {
	m.registry.Unregister(collectors.NewGoCollector())
	m.registry.Unregister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return prometheus.WriteToTextfile(path, m.registry)
}
