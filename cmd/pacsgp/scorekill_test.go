package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

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
