package kafkalog

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// A partition that is added while a window of a stream is open is in the next one, from its earliest
// offset: no row is left out.
func TestNextWindowTakesInNewPartitions(t *testing.T) {
	c := newCluster(t, 1)
	p := c.producer(t)
	send := func(partition int32, rows int) {
		for i := range rows {
			produce(t, p, row(partition, float64(i), 1))
		}
	}
	send(0, 10)
	cfg := c.config(t)
	first, second := cfg.Folder, t.TempDir()
	cfg.Folder, cfg.Group, cfg.Rows = "", "trainers", 20
	w := &Windows{Config: cfg, Folder: func(n int64) string { return []string{first, second}[n] }, Rows: func(*Window, string) dataset.Rows { return nil }}
	quiet := func(int64) func(int64) { return func(int64) {} }
	open := make(chan struct{})
	c.ControlKey(kmsg.Fetch.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.DropControl()
		close(open)
		return nil, nil, false
	})
	go func() {
		<-open
		addPartition(t, p)
		p = c.producer(t) // which knows the partition
		send(1, 10)
		send(0, 20)
	}()
	window, err := w.Fill(t.Context(), 0, nil, quiet)
	fatal.If(t, err)
	if want := []pipeline.WindowPart{{End: 20}}; !slices.Equal(window.Partitions, want) {
		t.Errorf("the open window is %v, want %v", window.Partitions, want)
	}
	time.Sleep(3 * time.Second) // what the client knows of the topic is up to two seconds old
	window, err = w.Fill(t.Context(), 1, window, quiet)
	fatal.If(t, err)
	if want := []pipeline.WindowPart{{First: 20, End: 30}, {Partition: 1, End: 10}}; !slices.Equal(window.Partitions, want) {
		t.Errorf("the next window is %v, want %v", window.Partitions, want)
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
