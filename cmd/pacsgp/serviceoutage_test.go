package main

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
)

// TestStreamOutlivesItsBroker: the broker is killed while windows are spooled, trained and
// published, is away for some seconds (with -soak for a minute), and comes back: the stream
// goes on by itself, and every row is in one certificate.
func TestStreamOutlivesItsBroker(t *testing.T) {
	t.Parallel()
	s, _ := apache.Lend(t)
	createTopic(t, s.Address, "rows", 3)
	job := serviceJob(t, s.Address, t.TempDir(), jobFile{"stream": "{session_timeout: 2s}"})
	succeed(t, "topics", "-c", job)
	fillTopic(t, s.Address, 0)
	r := startService(t, "-c", job)
	awaitCertificates(t, s.Address, 1, r)
	times, away := int64(1), 3*time.Second
	if *soak {
		times, away = 3, time.Minute
	}
	for i := range times {
		fillTopic(t, s.Address, 180*(2*i+1))
		fillTopic(t, s.Address, 180*(2*i+2)) // three windows, of which some are not published yet
		s.Kill(t)
		time.Sleep(away)
		s.Run(t)
		awaitCertificates(t, s.Address, int(4+3*i), r)
	}
	r.end(t)
	all := certificates(t, s.Address, "pacsgp-certificates")
	rows := int64(0)
	for _, end := range onceEach(t, "trainers", all) {
		rows += end
	}
	if want := 1 + 3*times; int64(len(all)) != want || rows != 120*want {
		t.Errorf("%d certificates of %d rows, want %d of %d", len(all), rows, want, 120*want)
	}
}

// TestStreamOnAFullDisk: a full disk ends the stream with a reason; when there is room
// again it goes on, and every row is in one certificate.
func TestStreamOnAFullDisk(t *testing.T) {
	t.Parallel()
	c := smallTopic(t)
	address := c.ListenAddrs()[0]
	fillTopic(t, address, 180)
	job := serviceJob(t, address, t.TempDir(), nil)
	succeed(t, "topics", "-c", job)
	var full atomic.Bool
	full.Store(true)
	disk := hooked(func(op durabletest.Operation, effect func() error) error {
		if full.Load() && op.Kind == durabletest.Write && !strings.HasSuffix(filepath.Dir(op.Name), "out") {
			return syscall.ENOSPC
		}
		return effect()
	})
	pacsgpOn(t, disk, nil, "stream", "-c", job).says(t, exitFailure, "no space left on device")
	if found := certificates(t, address, "pacsgp-certificates"); len(found) > 0 {
		t.Errorf("%d certificates are published", len(found))
	}
	full.Store(false)
	r := startService(t, "-c", job)
	awaitCertificates(t, address, 3, r)
	r.end(t)
	onceEach(t, "trainers", certificates(t, address, "pacsgp-certificates"))
}
