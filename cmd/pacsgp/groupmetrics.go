package main

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
)

// groupMetrics are the metrics of a member of a group. While brokers do not answer it has no lag
// and no number of partitions: old values would hide the fault.
type groupMetrics struct {
	meters
	shared bool // members share the partitions; otherwise one has all, including new ones

	mu    sync.Mutex // guards the fields below
	known bool       // the group has this process as a member in a current generation
	has   int        // number of partitions of this member
	all   int        // number of partitions of the topic, at the last poll
	fault error      // error of the last poll
}

func newGroupMetrics(m meters) *groupMetrics {
	m.gauge("pacsgp_group_lag_offsets", "Offsets between what the group has committed and the end of the topic, by partition.", "partition")
	m.gauge("pacsgp_member_partitions", "Partitions that this member of the group has; with 0 it stands by.")
	m.gauge("pacsgp_group_last_poll_timestamp_seconds", "When brokers last answered about the lags of the group, in seconds since 1970.")
	m.counter("pacsgp_group_poll_errors_total", "Polls of the lags of the group without an answer.")
	m.gauges["pacsgp_member_partitions"].Reset()
	return &groupMetrics{meters: m}
}

func (m *groupMetrics) membership(known bool, partitions int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known, m.has = known, partitions
	m.show()
}

// behind records the lag of each partition, or why lags are unknown.
func (m *groupMetrics) behind(lags map[int]int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault = err; err != nil {
		m.add("pacsgp_group_poll_errors_total", 1)
		m.gauges["pacsgp_group_lag_offsets"].Reset()
	} else {
		m.all = len(lags)
		m.set("pacsgp_group_last_poll_timestamp_seconds", unixSeconds(time.Now()))
		for p, lag := range lags {
			m.set("pacsgp_group_lag_offsets", float64(lag), strconv.Itoa(p))
		}
	}
	m.show()
}

// show sets the metrics of this member. The caller holds the lock.
func (m *groupMetrics) show() {
	has := m.has
	if has > 0 && !m.shared {
		has = max(has, m.all)
	}
	if m.unknown() != nil {
		m.gauges["pacsgp_member_partitions"].Reset()
		return
	}
	m.set("pacsgp_member_partitions", float64(has))
}

// unknown returns why the state of this member is unknown, or nil. The caller holds the lock.
func (m *groupMetrics) unknown() error {
	switch {
	case m.fault != nil:
		return errors.New("the brokers do not answer: " + strings.ReplaceAll(m.fault.Error(), "\n", ": "))
	case !m.known:
		return errors.New("the group does not know this member just now")
	}
	return nil
}

// ready returns why this member must wait, or nil.
func (m *groupMetrics) ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unknown()
}
