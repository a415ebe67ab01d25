package main

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// groupMetrics are those of a member of a group. While the brokers do not answer there is no lag
// and no number of partitions: the last ones would hide it.
type groupMetrics struct {
	lag, partitions *prometheus.GaugeVec
	polled          prometheus.Gauge
	errors          prometheus.Counter
	shared          bool // members share the partitions; else one has all, new ones too

	mu    sync.Mutex // of what follows
	known bool       // the group knows this process
	has   int        // partitions in its generation
	all   int        // partitions of the topic, at the last poll
	fault error      // of the last poll
}

func newGroupMetrics(of promauto.Factory) *groupMetrics {
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return of.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	return &groupMetrics{
		lag:        gauges("pacsgp_group_lag_offsets", "Offsets between what the group has committed and the end of the topic, by partition.", "partition"),
		partitions: gauges("pacsgp_member_partitions", "Partitions that this member of the group has; with 0 it stands by."),
		polled:     of.NewGauge(prometheus.GaugeOpts{Name: "pacsgp_group_last_poll_timestamp_seconds", Help: "When brokers last answered about the lags of the group, in seconds since 1970."}),
		errors:     of.NewCounter(prometheus.CounterOpts{Name: "pacsgp_group_poll_errors_total", Help: "Polls of the lags of the group without an answer."}),
	}
}

// membership shows the position of this process in the group.
func (m *groupMetrics) membership(known bool, partitions int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known, m.has = known, partitions
	m.show()
}

// behind shows the lags of the group by partition, or why they are unknown.
func (m *groupMetrics) behind(lags map[int]int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault = err; err != nil {
		m.errors.Inc()
		m.lag.Reset()
	} else {
		m.all = len(lags)
		m.polled.SetToCurrentTime()
		for p, lag := range lags {
			m.lag.WithLabelValues(strconv.Itoa(p)).Set(float64(lag))
		}
	}
	m.show()
}

// show shows the position of this process. The lock is held.
func (m *groupMetrics) show() {
	has := m.has
	if has > 0 && !m.shared {
		has = max(has, m.all)
	}
	if m.unknown() != nil {
		m.partitions.Reset()
		return
	}
	m.partitions.WithLabelValues().Set(float64(has))
}

// unknown is why the position of this process is. The lock is held.
func (m *groupMetrics) unknown() error {
	switch {
	case m.fault != nil:
		return errors.New("the brokers do not answer: " + strings.ReplaceAll(m.fault.Error(), "\n", ": "))
	case !m.known:
		return errors.New("the group does not know this member just now")
	}
	return nil
}

// ready returns the reason for a wait, nil without one.
func (m *groupMetrics) ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unknown()
}
