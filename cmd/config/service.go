package config

import (
	"cmp"
	"time"

	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// A Stream declares how windows follow one another.
type Stream struct {
	Group           string             `yaml:"group"`
	ShutdownTimeout *yamlfile.Duration `yaml:"shutdown_timeout"`
	SessionTimeout  *yamlfile.Duration `yaml:"session_timeout"`
	LeastRows       int64              `yaml:"least_rows"`
	Keep            *int               `yaml:"keep"`
	WarmStart       *bool              `yaml:"warm_start"`
}

// Kinds of groups.
const (
	GroupSingle = "single" // one member has all partitions
	GroupShared = "shared" // members share them
)

// Warm reports whether windows begin with the model of an earlier one.
func (c Stream) Warm() bool { return given(c.WarmStart, true) }

// sessionTimeout is how long a member that is not heard of keeps its partitions, unless a
// file says it.
const sessionTimeout = yamlfile.Duration(20 * time.Second)

// Session is how long a member that is not heard of keeps its partitions.
func (c Stream) Session() time.Duration {
	return time.Duration(given(c.SessionTimeout, sessionTimeout))
}

// Kept is the number of windows whose artifacts stay in the output.
func (c Stream) Kept() int { return given(c.Keep, 20) }

// Least is how many rows a window that is closed by time has at least.
func (c Stream) Least() int64 { return cmp.Or(c.LeastRows, 1000) }
