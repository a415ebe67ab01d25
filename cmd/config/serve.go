package config

import (
	"reflect"

	"github.com/pacsgp/pacsgp/internal/serving"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// A Serve declares the server of a service.
type Serve struct {
	Listen      string   `yaml:"listen"`
	Hosts       []string `yaml:"hosts"`
	TokenFile   string   `yaml:"token_file"`
	Certificate string   `yaml:"certificate"`
	Key         string   `yaml:"key"`
	Pprof       bool     `yaml:"pprof"`
}

// Declared reports whether the section is there.
func (c Serve) Declared() bool { return !reflect.ValueOf(c).IsZero() }

func (c *Serve) files() []*string { return []*string{&c.TokenFile, &c.Certificate, &c.Key} }

// Server is the configuration of the server.
func (c Serve) Server() serving.Config {
	return serving.Config{Address: c.Listen, Hosts: c.Hosts, TokenFile: c.TokenFile, Certificate: c.Certificate, Key: c.Key, Profiles: c.Pprof}
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
