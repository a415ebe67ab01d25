package config

import (
	"github.com/pacsgp/pacsgp/internal/serving"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// A Serve declares the server of a service.
type Serve struct {
	Listen string `yaml:"listen"`
}

// Declared reports whether the section is there.
func (c Serve) Declared() bool { return c != (Serve{}) }

// Server is the configuration of the server.
func (c Serve) Server() serving.Config {
	return serving.Config{Address: c.Listen}
}

// check adds the faults of the declaration. It reads no file.
func (c Serve) check(faults *yamlfile.Faults) {
	if !c.Declared() {
		return
	}
	if err := c.Server().Check(); err != nil {
		faults.Add("serve", "%v", err)
	}
}
