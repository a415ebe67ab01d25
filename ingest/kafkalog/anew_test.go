package kafkalog

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// madeAgain deletes the topic, and makes one of the same name.
func (c *cluster) madeAgain(t *testing.T) {
	t.Helper()
	brokertest.DeleteTopic(t, c.ListenAddrs()[0], "rows")
	if made, err := c.client.CreateTopic(t.Context(), "rows", 1, 1, nil); err != nil || !made {
		t.Fatalf("made: %v, %v", made, err)
	}
}

// TestTopicMadeAgain: a window whose topic is made again under the same name, while it fills or
// between two processes, ends in an error, whether the new topic has the offsets or not: its
// rows would be those of two topics.
func TestTopicMadeAgain(t *testing.T) {
	for name, again := range map[string]int{"with fewer records": 5, "with as many": 200, "with more": 400} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits
			c := newCluster(t, 1)
			p := c.producer(t)
			send := func(p *kgo.Client, n int) {
				for i := range n {
					produce(t, p, row(0, float64(i), 1))
				}
			}
			send(p, 200)
			cfg := c.config(t)
			cfg.Rows = 300
			have := make(chan bool, 1)
			cfg.Progress = func(rows int64) {
				if rows == 200 {
					select {
					case have <- true:
					default:
					}
				}
			}
			done := make(chan error, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			go func() {
				_, err := Spool(ctx, cfg)
				done <- err
			}()
			<-have
			c.madeAgain(t)
			send(c.producer(t), again)
			if err := <-done; err == nil || !strings.Contains(err.Error(), "made again") {
				t.Errorf("while it fills: %v, want that the topic was made again", err)
			}
			if _, err := Spool(ctx, cfg); err == nil || !strings.Contains(err.Error(), "made again") || !strings.Contains(err.Error(), cfg.Folder) {
				t.Errorf("begun again: %v, want that the topic was made again, and where the spool is", err)
			}
			cfg.Folder, cfg.Rows = filepath.Join(t.TempDir(), "spool"), int64(again)
			w, err := Spool(ctx, cfg)
			if err != nil || w.Rows() != int64(again) {
				t.Errorf("a window of the new topic: %+v, %v", w, err)
			}
		})
	}
}

// TestFrozenTopicMadeAgain: so does a window that was frozen before.
func TestFrozenTopicMadeAgain(t *testing.T) {
	c := newCluster(t, 1)
	fill(t, c.producer(t), 200, 1)
	cfg := c.config(t)
	segments := 0
	cfg.files = durabletest.Hooked{FS: durable.OS{}, Hook: func(op durabletest.Operation, effect func() error) error {
		if op.Kind == durabletest.Rename && segmentName.MatchString(filepath.Base(op.Name)) {
			segments++
		}
		if segments > 1 { // the process ends behind its first segment
			return durabletest.ErrKilled
		}
		return effect()
	}}
	if _, err := Spool(t.Context(), cfg); !errors.Is(err, durabletest.ErrKilled) {
		t.Fatalf("it ended with %v", err)
	}
	if m, err := readManifest(cfg.Folder); err != nil || len(m.Spans) == 0 || m.Identity == (broker.Identity{}) || m.Complete {
		t.Fatalf("the manifest is %+v, %v", m, err)
	}
	c.madeAgain(t)
	p := c.producer(t)
	for i := range 200 {
		produce(t, p, row(0, float64(-i), 1))
	}
	cfg.files = nil
	if _, err := Spool(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "made again") {
		t.Errorf("%v, want that the topic was made again", err)
	}
}

// TestOffsetsOfAnotherTopic: a spool that is given offsets of a topic is not filled from
// another one of its name, nor is one that holds rows of another one taken for it.
func TestOffsetsOfAnotherTopic(t *testing.T) {
	c := newCluster(t, 1)
	produce(t, c.producer(t), row(0, 1, 1))
	cfg := c.config(t)
	own, err := c.client.Identity(t.Context(), "rows")
	fatal.If(t, err)
	for _, of := range []broker.Identity{{Cluster: own.Cluster, Topic: "another"}, own, {Cluster: "another", Topic: own.Topic}} {
		cfg.Identity = of
		if _, err := Spool(t.Context(), cfg); (of == own) != (err == nil) || of != own && !errors.Is(err, broker.ErrAnother) {
			t.Errorf("%+v: %v", of, err)
		}
	}
}

// TestMixedBrokers: while a cluster is upgraded, a broker that tells no ids answers now and
// then. That is no other topic.
func TestMixedBrokers(t *testing.T) {
	c := newCluster(t, 1)
	fill(t, c.producer(t), 200, 1)
	var asked atomic.Int64
	c.ControlKey(kmsg.ApiVersions.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if asked.Add(1) < 6 {
			return nil, nil, false
		}
		answer := r.ResponseKind().(*kmsg.ApiVersionsResponse)
		for key, most := range map[int16]int16{0: 8, 1: 11, 2: 5, 3: 9, 10: 3, 18: 0} {
			k := kmsg.NewApiVersionsResponseApiKey()
			k.ApiKey, k.MaxVersion = key, most
			answer.ApiKeys = append(answer.ApiKeys, k)
		}
		return answer, nil, true
	})
	cfg := c.config(t)
	cfg.Rows = 200
	w, err := Spool(t.Context(), cfg)
	if err != nil || w.Rows() != 200 || asked.Load() < 6 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
}
