package brokertest

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Shared broker serves the tests of a package, also the short ones: one test at a time,
// each of which finds it without topics. Its zero value is ready; the first test that needs
// the broker starts it, and Main ends it.
type Shared struct {
	lease  sync.Mutex // held by a test from Lend to its end
	server *Server
	gate   *Gate
	up     bool
}

// Main runs the tests of a package, and ends the broker behind them; TestMain exits with
// its result.
func (s *Shared) Main(m *testing.M) int {
	status := m.Run()
	if s.server != nil {
		_ = s.server.stop() // a broker that cannot be ended fails nobody's test
		_ = os.RemoveAll(s.server.folder)
	}
	return status
}

// Lend returns the broker, with a gate before it, until the test ends; it waits until other
// tests have given it back. The test may kill the broker. Without the jars the test is
// skipped; with CI=true it fails.
func (s *Shared) Lend(t testing.TB) (*Server, *Gate) {
	t.Helper()
	s.lease.Lock()
	t.Cleanup(s.lease.Unlock)
	if s.server == nil {
		s.start(t)
	}
	if !s.up {
		t.Fatal("the broker did not start for an earlier test")
	}
	t.Cleanup(func() { s.clean(t) })
	return s.server, s.gate
}

// start starts the broker. Sessions may be short, and the compaction begins at once.
func (s *Shared) start(t testing.TB) {
	t.Helper()
	l, gate := listen(t)
	folder, err := os.MkdirTemp("", "pacsgp-kafka-")
	if err != nil {
		t.Fatal(err)
	}
	server := prepare(t, gate.advertised(Options{Properties: map[string]string{
		"group.min.session.timeout.ms": "500", "message.max.bytes": "8388608",
		"log.cleaner.backoff.ms": "100", "log.cleaner.min.cleanable.ratio": "0.01",
	}}), folder)
	gate.to = server.Address
	s.server, s.gate = server, gate
	server.Run(t)
	s.up = true
	go gate.serve(l) // until the program ends
}

// clean deletes the topics and groups of a test. A group whose members were killed stays
// until its session is over.
func (s *Shared) clean(t testing.TB) {
	s.gate.told.Store(nil)
	if s.server.process == nil {
		s.server.Run(t)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.server.Address))
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	if err := errors.Join(deleteGroups(ctx, client), deleteTopics(ctx, client)); err != nil {
		t.Errorf("the broker is not clean for the next test: %v", err)
	}
}

func deleteGroups(ctx context.Context, client *kgo.Client) error {
	listed, err := kmsg.NewPtrListGroupsRequest().RequestWith(ctx, client)
	if err != nil {
		return err
	}
	request := kmsg.NewPtrDeleteGroupsRequest()
	for _, group := range listed.Groups {
		request.Groups = append(request.Groups, group.Group)
	}
	if len(request.Groups) == 0 {
		return nil
	}
	_, err = request.RequestWith(ctx, client)
	return err
}

// deleteTopics deletes all topics but the broker's own, and waits until they are gone.
func deleteTopics(ctx context.Context, client *kgo.Client) error {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		listed, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client) // of no topics: of all
		if err != nil {
			return err
		}
		request := kmsg.NewPtrDeleteTopicsRequest()
		for _, topic := range listed.Topics {
			if topic.Topic != nil && !topic.IsInternal && !strings.HasPrefix(*topic.Topic, "__") {
				request.TopicNames = append(request.TopicNames, *topic.Topic)
				named := kmsg.NewDeleteTopicsRequestTopic()
				named.Topic = topic.Topic
				request.Topics = append(request.Topics, named)
			}
		}
		if len(request.TopicNames) == 0 {
			return nil
		}
		deleted, err := request.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		for _, topic := range deleted.Topics {
			if err := kerr.ErrorForCode(topic.ErrorCode); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
				return err
			}
		}
	}
	return ctx.Err()
}
