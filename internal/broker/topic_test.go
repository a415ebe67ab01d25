package broker_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/internal/broker"
)

func kfakeCluster(t *testing.T, options ...kfake.Opt) (*kfake.Cluster, *broker.Client) {
	t.Helper()
	c, err := kfake.NewCluster(append(options, kfake.NumBrokers(1))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, newClient(t, broker.Config{Brokers: c.ListenAddrs()})
}

// TestMissingTopic: that there is no topic is said within seconds, and one that is made while
// it is looked for is found.
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
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	client := newClient(t, broker.Config{Brokers: []string{fmt.Sprintf("127.0.0.1:%d", port)}, Patience: time.Minute})
	done := make(chan error, 1)
	go func() {
		_, err := client.Partitions(t.Context(), "rows")
		done <- err
	}()
	time.Sleep(3 * time.Second)
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port), kfake.SeedTopics(3, "rows"))
	if err != nil {
		t.Fatal(err)
	}
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
