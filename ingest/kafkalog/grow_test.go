package kafkalog

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/stream"
)

// A partition that is added while a window of a stream is open, and no other one gets rows, is taken
// in, from its earliest offset; the next process resumes the window.
func TestOpenWindowTakesInNewPartitions(t *testing.T) {
	for name, change := range map[string]func(cfg *Config){
		"by rows": func(cfg *Config) { cfg.Rows = 30 },
		"by time": func(cfg *Config) { cfg.For = time.Minute },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 1)
			p := c.producer(t)
			begin := time.Now()
			at := func(partition int32, when time.Duration, x float64) *kgo.Record {
				r := row(partition, x, 1)
				r.Timestamp = begin.Add(when)
				return r
			}
			for i := range 10 {
				produce(t, p, at(0, 0, float64(i)))
			}
			cfg := c.config(t)
			folder := cfg.Folder
			cfg.Folder, cfg.Group = "", "trainers"
			change(&cfg)
			w := &Windows{Config: cfg, Folder: func(int64) string { return folder }, Rows: func(*Window, string) pipeline.Rows { return nil }}
			open := make(chan struct{})
			c.ControlKey(kmsg.Fetch.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
				c.DropControl()
				close(open)
				return nil, nil, false
			})
			filled := make(chan *stream.Window, 1)
			go func() {
				window, err := w.Fill(t.Context(), 1, nil, func(int64) func(int64) { return func(int64) {} })
				if err != nil {
					t.Error(err)
				}
				filled <- window
			}()
			<-open
			addPartition(t, p)
			p = c.producer(t) // which knows the partition
			for i := range 20 {
				produce(t, p, at(1, time.Second, float64(10+i)))
			}
			produce(t, p, at(1, time.Hour, 99))
			window := <-filled
			if window == nil {
				t.FailNow()
			}
			if want := map[int]int64{0: 10, 1: 20}; window.Count() != 30 || !maps.Equal(window.Ends, want) || !maps.Equal(window.Firsts, map[int]int64{0: 0, 1: 0}) {
				t.Errorf("%d rows from %v to %v, want 30 to %v", window.Count(), window.Firsts, window.Ends, want)
			}
			again, err := w.Fill(t.Context(), 1, nil, func(int64) func(int64) { return func(int64) {} })
			fatal.If(t, err)
			if !slices.Equal(again.Segments, window.Segments) {
				t.Errorf("the next process has %v, want %v", again.Segments, window.Segments)
			}
		})
	}
}

// addPartition gives the topic a second partition.
func addPartition(t *testing.T, p *kgo.Client) {
	t.Helper()
	r, topic := kmsg.NewPtrCreatePartitionsRequest(), kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = "rows", 2
	r.Topics, r.TimeoutMillis = append(r.Topics, topic), 60_000
	if answer, err := r.RequestWith(t.Context(), p); err != nil || answer.Topics[0].ErrorCode != 0 {
		t.Fatalf("%+v: %v", answer, err)
	}
}
