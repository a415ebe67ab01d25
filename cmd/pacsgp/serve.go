package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/console"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/serving"
)

// asked is what a service can be asked.
type asked struct {
	registry *prometheus.Registry
	ready    func() error
	folders  []string // of certificates, which the console shows
	live     func() console.Live
}

// serve begins to answer, if the section is there. The function that it returns ends that.
func serve(ctx context.Context, c config.Serve, about asked, say func(string)) (end func() error, err error) {
	if !c.Declared() {
		return func() error { return nil }, nil
	}
	s := c.Server()
	s.Registry, s.Ready = about.registry, about.ready
	if c.TokenFile != "" {
		text, err := durable.ReadSmall(c.TokenFile, "a token", 1<<12)
		if err != nil {
			return nil, fmt.Errorf("serve: %w", err)
		}
		if s.Token = strings.TrimSpace(string(text)); s.Token == "" {
			return nil, fmt.Errorf("serve: %s: it is empty", c.TokenFile)
		}
	}
	index := console.NewIndex(about.folders)
	s.Pages = pages(c, index, s.Token, about.live)
	server, err := serving.Start(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	scheme := "http"
	if c.Certificate != "" {
		scheme = "https"
	}
	say(fmt.Sprintf("metrics at %s, console at %s://%[1]s/", server.Address, scheme))
	ctx, stop := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			_ = index.Refresh(ctx) // what cannot be read stands on the pages
			select {
			case <-ctx.Done():
				return
			case <-time.After(rescan):
			}
		}
	})
	return func() error {
		stop()
		looking.Wait()
		return server.Close()
	}, nil
}

// pages are those of the console, behind the same token.
func pages(c config.Serve, index *console.Index, token string, live func() console.Live) http.Handler {
	guard := console.Guard{Hosts: append([]string{"localhost", "127.0.0.1", "::1"}, c.Hosts...), Token: token, Secure: c.Certificate != ""}
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && host != "" {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			guard.Hosts = append(guard.Hosts, host)
		}
	}
	return console.ServiceHandler(index, guard, live)
}

// newRegistry has what is known of every process.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "pacsgp_build_info", Help: "1, with the version as a label."}, []string{"version"})
	info.WithLabelValues(version()).Set(1)
	r.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}
