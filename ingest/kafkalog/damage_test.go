package kafkalog

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A flipper changes one bit behind a word in what a broker sends, as often as it is to.
type flipper struct {
	net.Listener

	left atomic.Int32
}

const flipped = "flip-this-one"

func (f *flipper) Accept() (net.Conn, error) {
	conn, err := f.Listener.Accept()
	return &flipping{conn, f}, err
}

type flipping struct {
	net.Conn

	of *flipper
}

func (c *flipping) Write(b []byte) (int, error) {
	if i := bytes.Index(b, []byte(flipped)); i >= 0 && c.of.left.Add(-1) >= 0 {
		b = bytes.Clone(b)
		b[i] ^= 4
	}
	return c.Conn.Write(b)
}

// TestFlippedByte: a payload that was changed on its way is fetched again; one that is
// never whole is refused with its offset.
func TestFlippedByte(t *testing.T) {
	f := &flipper{}
	c := newCluster(t, 1, kfake.ListenFn(func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		f.Listener = l
		return f, err
	}))
	p := c.producer(t, kgo.ProducerBatchCompression(kgo.NoCompression()))
	var want [][2]float64
	for i := range 9 {
		r := row(0, float64(i), 0)
		if i == 6 {
			r.Value = bytes.Replace(r.Value, []byte("note"), []byte(flipped), 1)
		}
		want = append(want, [2]float64{float64(i), 0})
		produce(t, p, r)
	}
	f.left.Store(1)
	w, err := Spool(t.Context(), c.config(t))
	fatal.If(t, err)
	if rows, _ := values(t, w); !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	f.left.Store(1 << 20)
	_, err = Spool(t.Context(), c.config(t))
	if err == nil || !strings.Contains(err.Error(), "offset 6") || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("error %v, want one about the checksum at the offset 6", err)
	}
}

// TestBadRecords: a record that is no row is an error with its position, and so is a
// tombstone.
func TestBadRecords(t *testing.T) {
	for text, want := range map[string]string{
		`{"x":1,"in":{"y":null}}`:  `partition 1, offset 1: column "in.y" is null`,
		`{"x":1e999,"in":{"y":1}}`: `column "x" is infinite`,
		`{"x":1`:                   "offset 1: the JSON object is cut off",
		`hello`:                    "offset 1: it is no JSON object",
	} {
		c := newCluster(t, 2)
		produce(t, c.producer(t), row(1, 1, 1), &kgo.Record{Partition: 1, Value: []byte(text)})
		if _, err := Spool(t.Context(), c.config(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	c := newCluster(t, 1)
	produce(t, c.producer(t), row(0, 1, 1), &kgo.Record{Key: []byte("k")}, row(0, 2, 2))
	if _, err := Spool(t.Context(), c.config(t)); err == nil || !strings.Contains(err.Error(), "tombstone") {
		t.Errorf("a tombstone: %v", err)
	}
}

// TestResume: a spool that was interrupted goes on with the window that was frozen, and
// is the same.
func TestResume(t *testing.T) {
	c := newCluster(t, 3)
	p := c.producer(t)
	fill(t, p, 900, 3)
	whole, err := Spool(t.Context(), c.config(t))
	fatal.If(t, err)
	cfg := c.config(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cfg.Progress = func(rows int64) {
		if rows >= 200 {
			stop()
		}
	}
	if _, err := Spool(ctx, cfg); err == nil {
		t.Fatal("it was not interrupted")
	}
	for i := range 30 { // after the window
		produce(t, p, row(int32(i%3), 1e9, 0))
	}
	cfg.Progress = nil
	again, err := Spool(t.Context(), cfg)
	fatal.If(t, err)
	if !slices.Equal(again.Segments, whole.Segments) {
		t.Errorf("segments %+v, want %+v", again.Segments, whole.Segments)
	}
	_, want := values(t, whole)
	if _, got := values(t, again); !slices.Equal(got, want) {
		t.Error("the rows have other digests")
	}
	c.Close()
	if _, err := Spool(t.Context(), cfg); err != nil {
		t.Errorf("a whole spool without a broker: %v", err)
	}
}
