package config

import (
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/internal/serving"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A Stream declares a stream of windows.
type Stream struct {
	Group          string             `yaml:"group"`
	SessionTimeout *yamlfile.Duration `yaml:"session_timeout"`
	Retain         *int               `yaml:"retain"`
	Promote        Promotion          `yaml:"promote"`
}

// sessionTimeout is the default of the key session_timeout.
const sessionTimeout = yamlfile.Duration(20 * time.Second)

// Retained returns how many windows keep their artifacts in the output, besides the current one.
func (c Stream) Retained() int { return max(1, given(c.Retain, 20)) }

// A Serve declares the HTTP server of a service.
type Serve struct {
	Listen string `yaml:"listen"`
}

// Declared reports whether the file has the section.
func (c Serve) Declared() bool { return c != (Serve{}) }

func (c Serve) check(faults *yamlfile.Faults) {
	err := serving.Config{Address: c.Listen}.Check()
	faults.Unless(err == nil || !c.Declared(), "serve", "%v", err)
}

// declared reports whether the file has the section.
func (c Stream) declared() bool { return c != (Stream{}) }

// Shared reports whether members share the partitions.
func (c Stream) Shared() bool { return c.Group == GroupShared }

func (c Stream) check(faults *yamlfile.Faults) {
	faults.Unless(slices.Contains([]string{"", GroupSingle, GroupShared}, c.Group), "stream.group", "%q is neither "+GroupSingle+" nor "+GroupShared, c.Group)
	faults.Unless(c.SessionTimeout == nil || time.Duration(*c.SessionTimeout) >= time.Second, "stream.session_timeout", "want some seconds, as in 20s")
	faults.Unless(c.Retain == nil || *c.Retain >= 0, "stream.retain", "the number of windows is negative")
	c.Promote.check("stream.promote", faults)
}

// A Promotion is a rule: always promote, or if the bound is at most a share above the current one.
type Promotion struct {
	Within Share `yaml:"within"`
}

const wantRule = "want always, or {within: 10 %}: the bound may be a tenth larger than the current one"

// Form returns the form of the word always.
func (p *Promotion) Form() (yamlfile.Form, string) {
	var always string
	return yamlfile.Word(&always, "always"), wantRule
}

// check adds the fault of a share outside [0, 1].
func (p Promotion) check(at string, faults *yamlfile.Faults) {
	faults.Unless(p.Within >= 0 && p.Within <= 1, at, "%s", wantRule)
}

func (p Promotion) rule() watch.Promotion { return watch.Promotion{Within: float64(p.Within)} }
