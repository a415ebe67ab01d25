package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
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
	words.find(t, `(has the partitions 0, 1, 2, 3, 4, 5)`)
	s.await(t, "one member")
	second, words := s.start(t)
	words.find(t, `has the partitions (\d, \d, \d)"`)
	s.await(t, "two members")
	fatal.If(t, first.Process.Signal(syscall.SIGSTOP))
	s.await(t, "the first is stalled")
	_, words = s.start(t)
	fatal.If(t, first.Process.Signal(syscall.SIGCONT))
	words.find(t, `has the partitions (\d)`)
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

// Score is killed at requests to a real broker, and at random moments,
// and started again while the pointer moves: of each row there is one prediction, that of
// the model which it names.
func TestScoreOfATopicKilled(t *testing.T) {
	t.Parallel()
	_, gate := apache.Lend(t)
	gate.OnRequest(func() {})
	s := topicOf(t, gate.Address, 80, "")
	s.send(t)
	var seen atomic.Int32
	gate.OnRequest(func() { seen.Add(1) })
	succeed(t, "score", "-c", s.score, "--once")
	requests := int(seen.Load())
	s.agree(t, s.found(t, "predictions"))

	rng := rand.New(rand.NewPCG(6, 7))
	kills := max(1, requests/10)
	if testing.Short() {
		kills = 2
	}
	for round, at := range some(requests, kills) {
		name := fmt.Sprintf("killed%d", at)
		createTopic(t, gate.Address, name, 2)
		score := s.file(t, name, name, "session_timeout: 1s\n")
		killScore(t, gate, score, at, round%2 > 0, rng)
		point(t, s.dir, s.pointers[round%2])
		succeed(t, "score", "-c", score, "--once")
		if s.agree(t, s.found(t, name)); t.Failed() {
			t.Fatalf("killed at request %d of %d", at, requests)
		}
	}
}

// some are a few of the numbers from 1 to n, drawn by a seed; with -soak all.
func some(n, few int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	if *soak {
		return all
	}
	rng := rand.New(rand.NewPCG(4, 5))
	rng.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return slices.Sorted(slices.Values(all[:min(n, few)]))
}

// killScore runs score up to this request, as runTo does, and kills it then or a moment later.
func killScore(t *testing.T, gate *brokertest.Gate, score string, at int, passed bool, rng *rand.Rand) {
	t.Helper()
	run := child(t, order{Args: []string{"score", "-c", score, "--once"}})
	reached, ended, free := runTo(t, gate, run, at, passed)
	if reached {
		time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond) // a moment of the kill, drawn at random: nothing is waited for
		_ = run.Process.Kill()
		<-ended
	}
	gate.OnRequest(func() {})
	free()
}

// runTo runs a process up to this request to a broker, which the broker gets if passed, else not
// before free. Not reached: it has ended with fewer requests.
func runTo(t *testing.T, gate *brokertest.Gate, run *exec.Cmd, at int, passed bool) (reached bool, ended chan struct{}, free func()) {
	t.Helper()
	var seen atomic.Int32
	there, gone := make(chan struct{}), make(chan struct{})
	gate.OnRequest(func() {
		if int(seen.Add(1)) == at {
			close(there)
			if !passed {
				<-gone
			}
		}
	})
	fatal.If(t, run.Start())
	ended = make(chan struct{})
	go func() { _ = run.Wait(); close(ended) }()
	select {
	case <-there:
		reached = true
	case <-ended:
	}
	return reached, ended, func() { close(gone) }
}
