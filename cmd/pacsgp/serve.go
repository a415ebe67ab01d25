package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/serving"
	"github.com/pacsgp/pacsgp/sink/console"
)

// A reason is why a service waits. It is safe for concurrent use.
type reason struct{ err atomic.Pointer[error] }

// set sets the reason. nil means that there is none.
func (r *reason) set(err error) { r.err.Store(&err) }

// get returns the reason, or nil if there is none.
func (r *reason) get() error {
	if err := r.err.Load(); err != nil {
		return *err
	}
	return nil
}

// operate calls run. For a service with the section serve, a server meanwhile has metrics,
// readiness, and a console of folders (skipping ""). A service that ends with ctx has not failed.
func operate(ctx context.Context, show *display, c config.Serve, registry *prometheus.Registry, ready func() error, folders []string, service bool, run func() error) (err error) {
	if c.Declared() && service {
		folders = slices.DeleteFunc(folders, func(folder string) bool { return folder == "" })
		all := func() error {
			err := ready()
			for _, folder := range folders {
				if damage := config.Damaged(folder); damage != nil && !strings.Contains(fmt.Sprint(err), damage.Error()) {
					err = errors.Join(err, damage)
				}
			}
			return err
		}
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "pacsgp_ready", Help: "1 while /readyz is 200, else 0."}, func() float64 {
			if all() != nil {
				return 0
			}
			return 1
		}))
		server, fault := serving.Start(ctx, serving.Config{Address: c.Listen, Registry: registry, Pages: console.Handler(folders, ready), Ready: all})
		if fault != nil {
			return fmt.Errorf("serve: %w", fault)
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		show.event(fmt.Sprintf("metrics at %s, console at %s/", server.Address, server.URL))
	}
	err = run()
	switch {
	case ctx.Err() != nil && service:
		show.event("stopped: started again, it goes on where it was")
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, config.ErrFull):
		return fmt.Errorf("%w (hint: free space, then run the same command again: it goes on where it was)", err)
	}
	return err
}
