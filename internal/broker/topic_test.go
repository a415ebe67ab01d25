package broker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

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
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
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
