package config

import (
	"cmp"
	"time"

	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// A Stream declares a stream of windows.
type Stream struct {
	Group           string             `yaml:"group"`
	ShutdownTimeout *yamlfile.Duration `yaml:"shutdown_timeout"`
	SessionTimeout  *yamlfile.Duration `yaml:"session_timeout"`
	LeastRows       int64              `yaml:"least_rows"`
	Keep            *int               `yaml:"keep"`
	WarmStart       *bool              `yaml:"warm_start"`
	Promote         Promotion          `yaml:"promote"`
}

// Kinds of groups.
const (
	GroupSingle = "single" // one member has all partitions
	GroupShared = "shared" // members share them
)

// Warm reports whether training begins with the model of an earlier window.
func (c Stream) Warm() bool { return given(c.WarmStart, true) }

// sessionTimeout is the default of Session.
const sessionTimeout = yamlfile.Duration(20 * time.Second)

// Session is the time after which a silent member loses its partitions.
func (c Stream) Session() time.Duration {
	return time.Duration(given(c.SessionTimeout, sessionTimeout))
}

// Kept is the number of windows with artifacts in the output.
func (c Stream) Kept() int { return given(c.Keep, 20) }

// Least is the least number of rows of a window that is closed by time.
func (c Stream) Least() int64 { return cmp.Or(c.LeastRows, 1000) }
