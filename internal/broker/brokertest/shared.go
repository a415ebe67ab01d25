package brokertest

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A Shared broker serves all tests of a package, one at a time; each finds it without topics. Its
// zero value is ready to use: the first test that needs the broker starts it, and Main stops it.
type Shared struct {
	lease  sync.Mutex // held by a test from Lend until it ends
	server *Server
	gate   *Gate
	up     bool
}

// Main runs the tests of a package and then stops the broker. TestMain exits with its result.
func (s *Shared) Main(m *testing.M) int {
	status := m.Run()
	if s.server != nil {
		s.server.stop()
		_ = os.RemoveAll(s.server.folder)
	}
	return status
}

// Lend returns the broker and its gate for use until the test ends. It waits for other tests that use it. The test
// may kill the broker. Without the jars the test is skipped, or fails with CI=true.
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

// start starts a broker that allows short sessions and compacts at once.
func (s *Shared) start(t testing.TB) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal.If(t, err)
	gate := &Gate{Address: l.Addr().String()}
	folder, err := os.MkdirTemp("", "pacsgp-kafka-")
	fatal.If(t, err)
	server := prepare(t, folder, map[string]string{
		"advertised.listeners": "PLAINTEXT://" + gate.Address, "group.min.session.timeout.ms": "500", "message.max.bytes": "8388608",
		"log.cleaner.backoff.ms": "100", "log.cleaner.min.cleanable.ratio": "0.01",
	}, "", "")
	gate.to = server.Address
	s.server, s.gate = server, gate
	server.Run(t)
	s.up = true
	go gate.serve(l) // until the program ends
}

// clean deletes the topics and groups of a test. A group with killed members exists until its session ends.
func (s *Shared) clean(t testing.TB) {
	s.gate.onRequest.Store(nil)
	if s.server.process == nil {
		s.server.Run(t)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	left, err := deleteAll(ctx, s.server.Address)
	for ; ctx.Err() == nil && (left > 0 || err != nil); time.Sleep(50 * time.Millisecond) {
		left, err = deleteAll(ctx, s.server.Address) // a broker that was just restarted may need several tries
	}
	if left > 0 || err != nil {
		t.Errorf("the broker is not clean for the next test: %d topics are left: %v", left, err)
	}
}

// deleteAll deletes groups, and topics that are not internal. It returns how many topics it found.
func deleteAll(ctx context.Context, address string) (left int, err error) {
	link := new(kafka.Transport) // a new one, without cached topics
	defer link.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(address), Transport: link}
	listed, err := client.ListGroups(ctx, &kafka.ListGroupsRequest{})
	if err != nil {
		return 0, err
	}
	var groups, topics []string
	for _, group := range listed.Groups {
		groups = append(groups, group.GroupID)
	}
	if len(groups) > 0 {
		if _, err := client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: groups}); err != nil {
			return 0, err
		}
	}
	all, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return 0, err
	}
	for _, topic := range all.Topics {
		if !topic.Internal && !strings.HasPrefix(topic.Name, "__") {
			topics = append(topics, topic.Name)
		}
	}
	if len(topics) == 0 {
		return 0, nil
	}
	deleted, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: topics})
	if err != nil {
		return 0, err
	}
	for _, err := range deleted.Errors {
		if err != nil && !errors.Is(err, kafka.UnknownTopicOrPartition) {
			return 0, err
		}
	}
	return len(topics), nil
}

// DeleteTopic deletes a topic of the broker at an address.
func DeleteTopic(t testing.TB, address, topic string) {
	t.Helper()
	client := &kafka.Client{Addr: kafka.TCP(address), Transport: new(kafka.Transport)}
	answer, err := client.DeleteTopics(t.Context(), &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err == nil {
		err = answer.Errors[topic]
	}
	fatal.If(t, err)
}
