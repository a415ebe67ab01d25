package kafkalog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/stream"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// publish publishes an artifact and commits the offsets of a group.
func publish(t *testing.T, client *broker.Client) error {
	t.Helper()
	p, err := kafkalog.Begin(t.Context(), kafkalog.Config{Client: client, Topics: topics, Name: "m"})
	if err != nil {
		return err
	}
	if err := p.PutBytes(t.Context(), stream.Artifact{Document: []byte("{}"), Model: []byte("model")}); err != nil {
		return err
	}
	if err := p.CommitOffsets(t.Context(), nil, "group", "rows", map[int]int64{0: 7, 1: 8}, "certificate"); err != nil {
		return err
	}
	return p.Commit(t.Context())
}

// requests that publishing makes, and the codes that each is to make again.
var requests = []struct {
	key   kmsg.Key
	again []*kerr.Error
}{
	{kmsg.Metadata, []*kerr.Error{kerr.LeaderNotAvailable}},
	{kmsg.DescribeConfigs, []*kerr.Error{kerr.RequestTimedOut}},
	{kmsg.ListOffsets, []*kerr.Error{kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.OffsetNotAvailable}},
	{kmsg.InitProducerID, []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.ConcurrentTransactions}},
	{kmsg.AddPartitionsToTxn, []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.ConcurrentTransactions, kerr.RequestTimedOut}},
	{kmsg.Produce, []*kerr.Error{kerr.NotLeaderForPartition, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut, kerr.KafkaStorageError, kerr.NetworkException}},
	{kmsg.AddOffsetsToTxn, []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.ConcurrentTransactions, kerr.RequestTimedOut}},
	{kmsg.TxnOffsetCommit, []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.RequestTimedOut}},
	{kmsg.EndTxn, []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.ConcurrentTransactions, kerr.RequestTimedOut}},
}

// TestCodes: every request that is answered by a code for which a retry helps is made
// again, and what was published is there once; every other code is an error with its
// name. REQUEST_TIMED_OUT does the work and loses the answer.
func TestCodes(t *testing.T) {
	for _, r := range requests {
		for _, code := range r.again {
			t.Run(fmt.Sprintf("%s/%s", r.key.Name(), code.Message), func(t *testing.T) {
				t.Parallel()
				c, client := rowsCluster(t)
				fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{r.key}, Err: code, Count: 2})
				fatal.If(t, publish(t, client))
				if fault.Hits() == 0 {
					t.Fatal("the request was not made")
				}
				for _, topic := range []string{"pacsgp-certificates", "pacsgp-models"} {
					if got := counted(t, c.ListenAddrs()[0], topic, 1); len(got) != 1 {
						t.Errorf("%d records in %s, want 1", len(got), topic)
					}
				}
				if at, err := client.CommittedOffsets(t.Context(), "group", "rows", []int{0, 1}); err != nil || at[0] != 7 || at[1] != 8 {
					t.Errorf("the group is at %v, %v", at, err)
				}
			})
		}
		for _, code := range []*kerr.Error{kerr.PolicyViolation, kerr.TopicAuthorizationFailed} {
			t.Run(fmt.Sprintf("%s/%s", r.key.Name(), code.Message), func(t *testing.T) {
				t.Parallel()
				c, client := rowsCluster(t)
				c.Fault(kfake.Fault{Keys: []kmsg.Key{r.key}, Err: code, Count: -1})
				err := publish(t, client)
				want := fmt.Sprintf("[%d]", code.Code)
				if r.key == kmsg.Metadata {
					want = "there is no such topic, or it may not be read" // the library does not say why
				}
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			})
		}
	}
}

// TestRetriesEnd: a broker that never does what it is asked to fails, with the last
// code that it gave.
func TestRetriesEnd(t *testing.T) {
	c, _ := rowsCluster(t)
	client := newClient(t, time.Second, c.ListenAddrs()...)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
	if err := publish(t, client); err == nil || !strings.Contains(err.Error(), "stopped trying after 1s") || !strings.Contains(err.Error(), "Not Enough Replicas") {
		t.Errorf("%v, want that it stopped trying after a second for want of replicas", err)
	}
}

// TestSilence: an answer that does not speak of what was asked is no success.
func TestSilence(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.ListOffsets} {
		t.Run(key.Name(), func(t *testing.T) {
			c, _ := rowsCluster(t)
			client := newClient(t, time.Second, c.ListenAddrs()...)
			c.ControlKey(key.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				answer := r.ResponseKind()
				if a, ok := answer.(*kmsg.InitProducerIDResponse); ok {
					a.ProducerID = -1 // as young brokers answer
				}
				return answer, nil, true
			})
			if err := publish(t, client); err == nil {
				t.Error("published, though the broker never said so")
			}
		})
	}
}

// TestShortTransactions: a cluster that allows transactions of a minute only is used with
// these.
func TestShortTransactions(t *testing.T) {
	c, client := rowsCluster(t)
	c.ControlKey(kmsg.InitProducerID.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		request := r.(*kmsg.InitProducerIDRequest)
		if request.TransactionTimeoutMillis <= 60_000 {
			return nil, nil, false
		}
		answer := request.ResponseKind().(*kmsg.InitProducerIDResponse)
		answer.ErrorCode, answer.ProducerID = kerr.InvalidTransactionTimeout.Code, -1
		return answer, nil, true
	})
	if err := publish(t, client); err != nil {
		t.Error(err)
	}
}

// rowsCluster has a topic of rows too, of which a group may commit offsets. Its client
// knows nothing of the topics yet.
func rowsCluster(t *testing.T) (*kfake.Cluster, *broker.Client) {
	t.Helper()
	c, admin := cluster(t)
	create(t, admin, "rows", 2, nil)
	return c, newClient(t, 20*time.Second, c.ListenAddrs()...)
}

func newClient(t *testing.T, patience time.Duration, brokers ...string) *broker.Client {
	t.Helper()
	client, err := broker.NewClient(broker.Config{Brokers: brokers, Patience: patience})
	fatal.If(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
