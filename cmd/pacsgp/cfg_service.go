package main

import (
	"cmp"
	"time"
)

// A serviceConfig declares how windows follow one another.
type serviceConfig struct {
	Group           string `yaml:"group"`
	ShutdownTimeout *span  `yaml:"shutdown_timeout"`
	SessionTimeout  *span  `yaml:"session_timeout"`
	LeastRows       int64  `yaml:"least_rows"`
	Keep            *int   `yaml:"keep"`
	WarmStart       *bool  `yaml:"warm_start"`
}

// Kinds of groups.
const (
	groupSingle = "single" // one member has all partitions
	groupShared = "shared" // members share them
)

// warm reports whether windows begin with the model of an earlier one.
func (c serviceConfig) warm() bool { return c.WarmStart == nil || *c.WarmStart }

// sessionTimeout is how long a member that is not heard of keeps its partitions, unless a
// file says it.
const sessionTimeout = 20 * time.Second

// session is how long a member that is not heard of keeps its partitions.
func (c serviceConfig) session() time.Duration {
	if c.SessionTimeout == nil {
		return sessionTimeout
	}
	return time.Duration(*c.SessionTimeout)
}

// kept is the number of windows whose artifacts stay in the output.
func (c serviceConfig) kept() int {
	if c.Keep == nil {
		return 20
	}
	return *c.Keep
}

// leastRows is how many rows a window that is closed by time has at least.
func (c serviceConfig) leastRows() int64 { return cmp.Or(c.LeastRows, 1000) }
