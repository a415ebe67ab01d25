package broker_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

func kfakeCluster(t *testing.T, options ...kfake.Opt) (*kfake.Cluster, *broker.Client) {
	t.Helper()
	c, err := kfake.NewCluster(append(options, kfake.NumBrokers(1))...)
	fatal.If(t, err)
	t.Cleanup(c.Close)
	return c, newClient(t, broker.Config{Brokers: c.ListenAddrs()})
}

// TestMissingTopic: that there is no topic is said within seconds, and one that is made
// during the search is found.
func TestMissingTopic(t *testing.T) {
	t.Parallel()
	_, client := kfakeCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := client.Partitions(ctx, "rows"); !errors.Is(err, broker.ErrNoTopic) {
		t.Errorf("%v, want that there is no such topic", err)
	}
	made := make(chan error, 1)
	go func() {
		time.Sleep(500 * time.Millisecond)
		_, err := client.CreateTopic(t.Context(), "rows", 3, 1, nil)
		made <- err
	}()
	if found, err := client.Partitions(t.Context(), "rows"); err != nil || len(found) != 3 {
		t.Errorf("partitions %v: %v", found, err)
	}
	if err := <-made; err != nil {
		t.Error(err)
	}
}

// TestYoungBroker: brokers that were away, and do not know a topic in their first seconds.
func TestYoungBroker(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal.If(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	fatal.If(t, l.Close())
	client := newClient(t, broker.Config{Brokers: []string{fmt.Sprintf("127.0.0.1:%d", port)}, Patience: time.Minute})
	done := make(chan error, 1)
	go func() {
		_, err := client.Partitions(t.Context(), "rows")
		done <- err
	}()
	time.Sleep(3 * time.Second)
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port), kfake.SeedTopics(3, "rows"))
	fatal.If(t, err)
	defer c.Close()
	var asked atomic.Int64
	c.ControlKey(kmsg.Metadata.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if asked.Add(1) > 4 { // the library asks every two seconds
			return nil, nil, false
		}
		q := r.(*kmsg.MetadataRequest)
		a := q.ResponseKind().(*kmsg.MetadataResponse)
		b := kmsg.NewMetadataResponseBroker()
		b.Host, b.Port = "127.0.0.1", int32(port)
		a.Brokers = append(a.Brokers, b)
		for _, x := range q.Topics {
			y := kmsg.NewMetadataResponseTopic()
			y.Topic, y.ErrorCode = x.Topic, kerr.UnknownTopicOrPartition.Code
			a.Topics = append(a.Topics, y)
		}
		return a, nil, true
	})
	if err := <-done; err != nil {
		t.Error(err)
	}
	if asked.Load() <= 4 {
		t.Errorf("asked %d times: the topic was not unknown for long", asked.Load())
	}
}

// TestDeletedTopic: a topic that was there and is deleted is not waited for as long as brokers
// that are away are, whatever is asked of it, and it is named.
func TestDeletedTopic(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until a topic was unknown for ten seconds")
	}
	t.Parallel()
	c, _ := kfakeCluster(t, kfake.SeedTopics(1, "rows"))
	asks := []func(context.Context, *broker.Client) error{
		func(ctx context.Context, c *broker.Client) error {
			_, err := c.Identity(ctx, "rows")
			return err
		},
		func(ctx context.Context, c *broker.Client) error {
			_, err := c.Written(ctx, "rows", []int{0})
			return err
		},
		func(ctx context.Context, c *broker.Client) error {
			return c.Read(ctx, broker.Range{Topic: "rows", End: 1}, func(*broker.Record) error { return nil })
		},
		func(ctx context.Context, c *broker.Client) error {
			w, err := c.NewWriter(ctx, "")
			if err != nil {
				return err
			}
			return w.Send(ctx, "rows", 0, broker.Record{})
		},
	}
	var clients []*broker.Client
	var reported sync.Map
	for range asks {
		at := len(clients)
		client := newClient(t, broker.Config{Brokers: c.ListenAddrs(), Patience: 24 * time.Hour, Warning: func(text string) { reported.Store(at, text) }})
		_, err := client.Partitions(t.Context(), "rows")
		fatal.If(t, err)
		clients = append(clients, client)
	}
	brokertest.DeleteTopic(t, c.ListenAddrs()[0], "rows")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for at, ask := range asks {
		all.Go(func() {
			err := ask(ctx, clients[at])
			text, _ := reported.Load(at)
			if !errors.Is(err, broker.ErrNoTopic) || !strings.Contains(err.Error(), `topic "rows"`) {
				t.Errorf("request %d ends with %v", at, err)
			}
			for _, want := range []string{`topic "rows": the brokers do not know it`, "tried again until 10s are over"} {
				if !strings.Contains(fmt.Sprint(text), want) {
					t.Errorf("request %d: reported %v, want %q", at, text, want)
				}
			}
		})
	}
	all.Wait()
}
