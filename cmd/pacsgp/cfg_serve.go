package main

import (
	"reflect"

	"github.com/pacsgp/pacsgp/internal/serving"
)

// A serveConfig declares where a service can be asked how it is.
type serveConfig struct {
	Listen      string   `yaml:"listen"`
	Hosts       []string `yaml:"hosts"`
	TokenFile   string   `yaml:"token_file"`
	Certificate string   `yaml:"certificate"`
	Key         string   `yaml:"key"`
	Pprof       bool     `yaml:"pprof"`
}

// declared reports whether the section is there.
func (c serveConfig) declared() bool { return !reflect.ValueOf(c).IsZero() }

func (c *serveConfig) files() []*string { return []*string{&c.TokenFile, &c.Certificate, &c.Key} }

// server is the configuration without its token.
func (c serveConfig) server() serving.Config {
	return serving.Config{Address: c.Listen, Certificate: c.Certificate, Key: c.Key, Profiles: c.Pprof}
}

// check reports what is wrong with the declaration; the files are not read.
func (c serveConfig) check() error {
	if !c.declared() {
		return nil
	}
	s := c.server()
	s.Token = c.TokenFile // that there is one
	return s.Check()
}
