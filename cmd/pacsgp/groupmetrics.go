package main

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
)

// groupMetrics are those of a member of a group. While the brokers do not answer there is no lag
// and no number of partitions: the last ones would hide it.
type groupMetrics struct {
	meters
	shared bool // members share the partitions; else one has all, new ones too

	mu    sync.Mutex // of what follows
	known bool       // the group knows this process
	has   int        // partitions in its generation
	all   int        // partitions of the topic, at the last poll
	fault error      // of the last poll
}

func newGroupMetrics(m meters) *groupMetrics {
	m.gauge("pacsgp_group_lag_offsets", "Offsets between what the group has committed and the end of the topic, by partition.", "partition")
	m.gauge("pacsgp_member_partitions", "Partitions that this member of the group has; with 0 it stands by.")
	m.gauge("pacsgp_group_last_poll_timestamp_seconds", "When brokers last answered about the lags of the group, in seconds since 1970.")
	m.counter("pacsgp_group_poll_errors_total", "Polls of the lags of the group without an answer.")
	m.gauges["pacsgp_member_partitions"].Reset()
	return &groupMetrics{meters: m}
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

// show shows the position of this process. The lock is held.
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
