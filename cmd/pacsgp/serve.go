package main

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pacsgp/pacsgp/console"
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

func (c serveConfig) server() serving.Config {
	return serving.Config{Address: c.Listen, Hosts: c.Hosts, TokenFile: c.TokenFile, Certificate: c.Certificate, Key: c.Key, Profiles: c.Pprof}
}

// check reports what is wrong with the declaration; the files are not read.
func (c serveConfig) check() error {
	if !c.declared() {
		return nil
	}
	return c.server().Check()
}

// asked is what a service can be asked.
type asked struct {
	registry *prometheus.Registry
	ready    func() error
	folders  []string // of certificates, which the console shows
	live     func() console.Live
}

// start begins to answer, if the section is there. The function that it returns ends that.
func (c serveConfig) start(ctx context.Context, about asked, say func(string)) (end func() error, err error) {
	if !c.declared() {
		return func() error { return nil }, nil
	}
	index := console.NewIndex(about.folders)
	s := c.server()
	s.Registry, s.Ready, s.Pages = about.registry, about.ready, console.Handler(index, about.live)
	server, err := serving.Start(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	say(fmt.Sprintf("metrics at %s, console at %s/", server.Address, server.URL))
	ctx, stop := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() { index.Watch(ctx) })
	return func() error {
		stop()
		looking.Wait()
		return server.Close()
	}, nil
}

// newRegistry has what is known of every process.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "pacsgp_build_info", Help: "1, with the version as a label."}, []string{"version"})
	info.WithLabelValues(version()).Set(1)
	r.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}
