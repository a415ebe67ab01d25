package broker_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// TestIdentity: a topic that was made again, or is on another cluster, is another one;
// so says Apache Kafka too. Brokers that know no ids are no error.
func TestIdentity(t *testing.T) {
	t.Run("kfake", func(t *testing.T) {
		c, client := kfakeCluster(t, kfake.ClusterID("one"))
		_, other := kfakeCluster(t, kfake.ClusterID("two"))
		identities(t, client, c.ListenAddrs()[0])
		for _, c := range []*broker.Client{client, other} {
			_, err := c.CreateTopic(t.Context(), "rows", 1, 1, nil)
			fatal.If(t, err)
		}
		a, err := client.Identity(t.Context(), "rows")
		fatal.If(t, err)
		b, err := other.Identity(t.Context(), "rows")
		if err != nil || a.Cluster != "one" || b.Cluster != "two" {
			t.Errorf("%+v and %+v: %v", a, b, err)
		}
	})
	t.Run("before Kafka 2.8", func(t *testing.T) {
		c, client := kfakeCluster(t, kfake.SeedTopics(1, "rows"))
		c.ControlKey(kmsg.ApiVersions.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			answer := r.ResponseKind().(*kmsg.ApiVersionsResponse)
			for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.ApiVersions, kmsg.FindCoordinator} {
				k := kmsg.NewApiVersionsResponseApiKey()
				k.ApiKey, k.MaxVersion = key.Int16(), 4
				answer.ApiKeys = append(answer.ApiKeys, k)
			}
			return answer, nil, true
		})
		c.ControlKey(kmsg.Metadata.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			if v := r.GetVersion(); v > 4 {
				t.Errorf("a request of version %d", v)
			}
			return nil, nil, false
		})
		if got, err := client.Identity(t.Context(), "rows"); err != nil || got != (broker.Identity{}) {
			t.Errorf("%+v, %v: want no report", got, err)
		}
	})
	t.Run("Apache Kafka", func(t *testing.T) {
		s, _ := apache.Lend(t)
		identities(t, newClient(t, broker.Config{Brokers: []string{s.Address}}), s.Address)
	})
}

// identities makes a topic, and makes it again.
func identities(t *testing.T, client *broker.Client, address string) {
	t.Helper()
	var before broker.Identity
	for range 2 {
		for until := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) { // a deleted one goes by and by
			made, err := client.CreateTopic(t.Context(), "rows", 3, 1, nil)
			if made {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("the topic is not made: %v", err)
			}
		}
		var found broker.Identity
		for until := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) { // a broker learns later than its controller
			var err error
			if found, err = client.Identity(t.Context(), "rows"); err != nil || found.Topic == "" || found.Cluster == "" {
				t.Fatalf("%+v, %v", found, err)
			}
			if found.Topic != before.Topic || time.Now().After(until) {
				break
			}
		}
		again, err := client.Identity(t.Context(), "rows")
		if err != nil || again != found {
			t.Errorf("%+v, then %+v: %v", found, again, err)
		}
		if found.Topic == before.Topic {
			t.Errorf("made again, the topic still has the id %s", found.Topic)
		}
		before = found
		brokertest.DeleteTopic(t, address, "rows")
	}
}
