package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// sharers are members of a shared group that predict rows as they arrive.
type sharers struct {
	*aTopic

	name string
	sent atomic.Int64 // rows in each of the partitions
}

// sharedPartitions is the number of partitions that sharers share.
const sharedPartitions = 6

// produce sends rows until it is stopped.
func (s *sharers) produce(t *testing.T, stop chan struct{}) {
	client := foreign(t, s.address)
	for {
		var records []*kgo.Record
		for p := range int32(2 * sharedPartitions) {
			records = append(records, &kgo.Record{Topic: s.name, Partition: p % sharedPartitions, Value: []byte(`{"x1":0.5,"x2":0.25}`)})
		}
		if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Errorf("produce: %v", err)
			return
		}
		s.sent.Add(2)
		select {
		case <-stop:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// start starts a member.
func (s *sharers) start(t *testing.T) (*exec.Cmd, *utterances) {
	t.Helper()
	run, words := child(t, order{Args: []string{"score", "-c", filepath.Join(s.dir, "score-"+s.name+".yaml")}}), &utterances{}
	run.Stderr = words
	fatal.If(t, run.Start())
	t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	return run, words
}

// await waits until all rows that were sent by now have a prediction, and counts those of each row.
func (s *sharers) await(t *testing.T, when string) (times [sharedPartitions]map[int64]int) {
	t.Helper()
	want := s.sent.Load()
	// What is asked is a topic, which does not say that it grows. Two minutes bound the wait.
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
		left := sharedPartitions * want
		for p := range times {
			times[p] = map[int64]int{}
		}
		for _, r := range s.found(t, s.name+"-predicted") {
			if times[r.Partition][r.Offset]++; times[r.Partition][r.Offset] == 1 && r.Offset < want {
				left--
			}
		}
		if left == 0 {
			return times
		}
	}
	t.Fatalf("%s: not all rows have a prediction", when)
	return times
}

// Members of a shared group come, are stalled, come back and are killed while rows come: each row
// has one prediction. Members work at the same time.
func TestScoreMembers(t *testing.T) {
	t.Parallel()
	_, gate := apache.Lend(t)
	gate.OnRequest(func() {})
	topic := topicOf(t, gate.Address, 20, "")
	s := &sharers{aTopic: topic, name: "shared"}
	createTopic(t, s.address, s.name, sharedPartitions)
	createTopic(t, s.address, s.name+"-predicted", sharedPartitions)
	writeFile(t, filepath.Join(s.dir, "score-"+s.name+".yaml"), fmt.Appendf(nil, "model: out\nkafka: {brokers: [%q]}\nsource: {kafka: {topic: %[2]s, group: %[2]s}}\noutput: {kafka: %[2]s-predicted}\nmembers: shared\nsession_timeout: 2s\n",
		s.address, s.name))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); s.produce(t, stop) }()
	first, words := s.start(t)
	words.find(t, `(has the partitions \[0 1 2 3 4 5\])`)
	s.await(t, "one member")
	second, words := s.start(t)
	words.find(t, `has the partitions (\[\d \d \d\])`)
	s.await(t, "two members")
	fatal.If(t, first.Process.Signal(syscall.SIGSTOP))
	s.await(t, "the first is stalled")
	_, words = s.start(t)
	fatal.If(t, first.Process.Signal(syscall.SIGCONT))
	words.find(t, `has the partitions (\[)`)
	s.await(t, "three members")
	fatal.If(t, second.Process.Kill())
	s.await(t, "the second is killed")
	fatal.If(t, first.Process.Kill())
	s.await(t, "the first is killed too")
	close(stop)
	<-done
	for p, times := range s.await(t, "no more rows come") {
		for offset, n := range times {
			if n != 1 {
				t.Errorf("partition %d, offset %d: %d predictions", p, offset, n)
			}
		}
	}
}
