package config

import (
	"time"

	"github.com/pacsgp/pacsgp/internal/serving"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// A Stream declares a stream of windows.
type Stream struct {
	Group          string             `yaml:"group"`
	SessionTimeout *yamlfile.Duration `yaml:"session_timeout"`
	Keep           *int               `yaml:"retain"`
	Promote        Promotion          `yaml:"promote"`
}

// sessionTimeout is the default of Session.
const sessionTimeout = yamlfile.Duration(20 * time.Second)

// Session is the time after which a silent member loses its partitions.
func (c Stream) Session() time.Duration {
	return time.Duration(given(c.SessionTimeout, sessionTimeout))
}

// Kept is the number of windows with artifacts in the output, next to what is current.
func (c Stream) Kept() int { return max(1, given(c.Keep, 20)) }

// A Serve declares the server of a service.
type Serve struct {
	Listen string `yaml:"listen"`
}

// Declared reports whether the section is there.
func (c Serve) Declared() bool { return c != (Serve{}) }

// check adds the faults of the declaration. It reads no file.
func (c Serve) check(faults *yamlfile.Faults) {
	if err := (serving.Config{Address: c.Listen}).Check(); err != nil && c.Declared() {
		faults.Add("serve", "%v", err)
	}
}
