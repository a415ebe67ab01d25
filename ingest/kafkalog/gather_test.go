package kafkalog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A window of so many rows has as many, those of a backlog from all partitions and those
// that arrive while it is open; it is replayed by its segments as any, and the next one
// begins where it ends: after three of them every row was in one.
func TestWindowOfRows(t *testing.T) {
	c := newCluster(t, 3)
	p := c.producer(t)
	sent := 0
	send := func(n int) {
		for range n {
			produce(t, p, row(int32(sent%3), float64(sent), 1))
			sent++
		}
	}
	send(700)
	seen := map[float64]int{}
	from := map[int]int64{0: 0, 1: 0, 2: 0}
	for i := range 3 {
		cfg := c.config(t)
		cfg.From, cfg.Rows = Position{Offsets: from}, 400
		done := make(chan error, 1)
		var w *Window
		go func() (err error) {
			defer func() { done <- err }()
			w, err = Spool(t.Context(), cfg)
			return err
		}() //nolint:errcheck // the channel reports it
		if i == 1 { // of which 300 are there
			time.Sleep(3 * pollEvery)
			send(500)
		}
		fatal.If(t, <-done)
		rows, digests := values(t, w)
		if len(rows) != 400 {
			t.Fatalf("window %d has %d rows, want 400", i, len(rows))
		}
		for _, r := range rows {
			seen[r[0]]++
		}
		parts := map[int64]int64{}
		for _, g := range w.Segments {
			parts[g.Partition] += g.Rows
		}
		if i == 0 && (parts[0] < 100 || parts[1] < 100 || parts[2] < 100) {
			t.Errorf("rows by partition %v: a backlog of all is read", parts)
		}
		replayed, err := Replay(t.Context(), c.config(t), w.Segments)
		fatal.If(t, err)
		if _, again := values(t, replayed); !slices.Equal(again, digests) {
			t.Errorf("window %d has other digests when it is replayed", i)
		}
		if again, err := Spool(t.Context(), cfg); err != nil || !slices.Equal(again.Segments, w.Segments) || !maps.Equal(again.Ends, w.Ends) {
			t.Errorf("window %d, opened again, is %+v, %v", i, again, err)
		}
		from = w.Ends
	}
	if len(seen) != 1200 || sent != 1200 {
		t.Errorf("%d of %d rows were in a window", len(seen), sent)
	}
}

// A process that ends while its window is open goes on with what was stored.
func TestOpenWindowResumes(t *testing.T) {
	c := newCluster(t, 2)
	p := c.producer(t)
	fill(t, p, 500, 2)
	cfg := c.config(t)
	cfg.Rows = 501
	ctx, stop := context.WithTimeout(t.Context(), 12*pollEvery)
	defer stop()
	if _, err := Spool(ctx, cfg); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v, want to wait for a row that is missing", err)
	}
	m, err := readManifest(cfg.Folder)
	if err != nil || m.Complete || len(m.Segments) == 0 {
		t.Fatalf("%d segments stored, %v", len(m.Segments), err)
	}
	produce(t, p, row(1, 500, 1))
	w, err := Spool(t.Context(), cfg)
	fatal.If(t, err)
	if rows, _ := values(t, w); len(rows) != 501 {
		t.Errorf("%d rows, want 501", len(rows))
	}
}
