package kafkalog

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// TestWindow: the rows of a window are those that were produced, partition by partition
// in the order of their offsets, cut and ordered as the package says; replayed, its
// segments give the same.
func TestWindow(t *testing.T) {
	c := newCluster(t, 3)
	rng := rand.New(rand.NewPCG(1, 2))
	counts := []int{250, 100, 130}
	want := make([][][2]float64, 3)
	p := c.producer(t)
	for i, n := range counts {
		for range n {
			r := [2]float64{rng.NormFloat64(), rng.NormFloat64() * 1e10}
			want[i] = append(want[i], r)
			produce(t, p, row(int32(i), r[0], r[1]))
		}
	}
	w, err := Spool(t.Context(), c.config(t))
	fatal.If(t, err)
	wantSegments := []dataset.Segment{
		{Topic: "rows", Partition: 0, First: 0, End: 100, Rows: 100},
		{Topic: "rows", Partition: 1, First: 0, End: 100, Rows: 100},
		{Topic: "rows", Partition: 2, First: 0, End: 100, Rows: 100},
		{Topic: "rows", Partition: 0, First: 100, End: 200, Rows: 100},
		{Topic: "rows", Partition: 2, First: 100, End: 130, Rows: 30},
		{Topic: "rows", Partition: 0, First: 200, End: 250, Rows: 50},
	}
	if !slices.Equal(w.Segments, wantSegments) {
		t.Fatalf("segments %+v, want %+v", w.Segments, wantSegments)
	}
	rows, digests := values(t, w)
	var ordered [][2]float64
	for _, g := range wantSegments {
		ordered = append(ordered, want[g.Partition][g.First:g.End]...)
	}
	if !slices.Equal(rows, ordered) {
		t.Fatalf("%d rows, which are not those that were produced", len(rows))
	}

	again := c.config(t)
	again.Folder = filepath.Join(t.TempDir(), "replay")
	replayed, err := Replay(t.Context(), again, w.Segments)
	fatal.If(t, err)
	if _, got := values(t, replayed); !slices.Equal(got, digests) {
		t.Error("the replayed segments have other digests")
	}
	again.Folder = filepath.Join(t.TempDir(), "twice")
	if _, err := Replay(t.Context(), again, append(slices.Clone(w.Segments), w.Segments[0])); !errors.Is(err, job.ErrRefused) {
		t.Errorf("a segment twice: %v, want ErrRefused", err)
	}
	for want, g := range map[string]dataset.Segment{"no partition 9": {Topic: "rows", Partition: 9, End: 1, Rows: 1}, "ends before offset 250": {Topic: "rows", End: 251, Rows: 1}} {
		if _, err := Replay(t.Context(), again, []dataset.Segment{g}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", g, err, want)
		}
	}

	folder := filepath.Dir(w.paths[0])
	src, err := lake.Open(t.Context(), lake.Config{Paths: []string{folder}, Choice: dataset.Choice{Features: []string{"x"}, Target: "in.y"}})
	fatal.If(t, err)
	if _, got := read(t, src); !slices.Equal(got, digests) {
		t.Error("the spool, opened as a lake, has other digests")
	}
	position, err := lake.Open(t.Context(), lake.Config{Paths: []string{folder}, Choice: dataset.Choice{Features: []string{"$offset"}, Target: "$partition"}})
	fatal.If(t, err)
	where, _ := read(t, position)
	if want := [2]float64{249, 0}; where[len(where)-1] != want {
		t.Errorf("the last row stands at offset and partition %v, want %v", where[len(where)-1], want)
	}
}

// TestAborted: rows of aborted transactions and of one that has not ended are not in the
// sample, nor are markers; what has not ended is not waited for.
func TestAborted(t *testing.T) {
	c := newCluster(t, 1)
	p := c.producer(t, kgo.TransactionalID("a"))
	other := c.producer(t)
	var want [][2]float64
	for i := range 20 {
		x := float64(i)
		fatal.If(t, p.BeginTransaction())
		produce(t, p, row(0, x, 1), row(0, x, 2))
		produce(t, other, row(0, x, 3)) // between, by somebody else
		produce(t, p, row(0, x, 4))
		commit := kgo.TransactionEndTry(i%3 != 0)
		fatal.If(t, p.EndTransaction(t.Context(), commit))
		if commit {
			want = append(want, [2]float64{x, 1}, [2]float64{x, 2}, [2]float64{x, 3}, [2]float64{x, 4})
		} else {
			want = append(want, [2]float64{x, 3})
		}
	}
	fatal.If(t, p.BeginTransaction())
	produce(t, p, row(0, 100, 100))
	produce(t, other, row(0, 101, 101)) // behind one that is open: not stable
	for _, limit := range []int32{0, 1, 500} {
		cfg := c.config(t)
		cfg.fetchBytes = limit
		w, err := Spool(t.Context(), cfg)
		fatal.If(t, err)
		rows, _ := values(t, w)
		if !slices.Equal(rows, want) {
			t.Errorf("fetching %d bytes at a time: rows %v, want %v", limit, rows, want)
		}
	}
}

// TestGone: a window that begins before what the topic still has is refused; one that
// was spooled is not touched by it.
func TestGone(t *testing.T) {
	c := newCluster(t, 1)
	fill(t, c.producer(t), 30, 1)
	cfg := c.config(t)
	w, err := Spool(t.Context(), cfg)
	fatal.If(t, err)
	fatal.If(t, c.DeleteRecords("rows", 0, 12))
	if again, err := Spool(t.Context(), cfg); err != nil || again.Rows() != 30 {
		t.Errorf("the spool after its rows were deleted: %v", err)
	}
	cfg.Folder = filepath.Join(t.TempDir(), "new")
	cfg.From = Position{Offsets: map[int]int64{0: 5}}
	_, err = Spool(t.Context(), cfg)
	if _, gone := errors.AsType[*GoneError](err); !gone || !strings.Contains(err.Error(), "offsets 5 to 11 are gone") {
		t.Errorf("error %v, want one that names the offsets 5 to 11", err)
	}
	cfg.Folder = filepath.Join(t.TempDir(), "replay")
	_, err = Replay(t.Context(), cfg, w.Segments)
	if _, gone := errors.AsType[*GoneError](err); !gone {
		t.Errorf("replay: error %v, want a GoneError", err)
	}
}
