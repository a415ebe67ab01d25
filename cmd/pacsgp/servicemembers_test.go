package main

import (
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A producer sends rows to three partitions until it is stopped.
type producer struct {
	stop chan struct{}
	done chan int64 // the rows that were sent
}

func startProducer(t *testing.T, address, topic string, atOnce int, every time.Duration) *producer {
	t.Helper()
	client := foreign(t, address)
	p := &producer{make(chan struct{}), make(chan int64, 1)}
	go func() {
		for first := int64(0); ; first += int64(atOnce) {
			records := recordsOf(t, topic, first, int64(atOnce))
			if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
				t.Errorf("produce: %v", err)
				p.done <- first
				return
			}
			select {
			case <-p.stop:
				p.done <- first + int64(atOnce)
				return
			case <-time.After(every):
			}
		}
	}()
	return p
}

// TestMembers: 2, 3 and 1 members of a group under load on a real broker, one of which
// works, or which share the partitions. One is stalled and resumed when others have taken
// over, then the next one is killed: every row up to the last certificate is in exactly
// one, and no number is used twice.
func TestMembers(t *testing.T) {
	if testing.Short() {
		t.Skip("members of two groups under load")
	}
	s, _ := apache.Lend(t)
	for _, kind := range []string{config.GroupSingle, config.GroupShared} {
		t.Run(kind, func(t *testing.T) {
			all := members(t, s.Address, kind)
			certified := int64(0)
			for _, end := range onceEach(t, kind, all) {
				certified += end
			}
			if countOf(all, "[0 1 2]") == len(all) && kind == config.GroupShared {
				t.Error("all certificates speak of all partitions: they are not shared")
			}
			if certified != int64(len(all))*120 {
				t.Errorf("%d rows in %d certificates, want 120 in each", certified, len(all))
			}
		})
	}
}

// members has members come and go, and returns what they have published.
func members(t *testing.T, address, kind string) []certify.Certificate {
	t.Helper()
	name := kind
	createTopic(t, address, name, 3)
	var said []*utterances // by each member
	member := func() *exec.Cmd {
		t.Helper()
		job := serviceJob(t, address, t.TempDir(), jobFile{
			"kafka": fmt.Sprintf("{brokers: [%q]}", address), "source": fmt.Sprintf("{kafka: {topic: %[1]s, group: %[1]s, rows: 120}, spool: {limit: 10MB}}", name),
			"stream":  fmt.Sprintf("{group: %s, session_timeout: 2s}", kind),
			"publish": fmt.Sprintf("{kafka: {name: %[1]s, topics: %[1]s}}", name),
		})
		succeed(t, "topics", "-c", job) // which are there for all but the first
		run, words := child(t, order{Args: []string{"stream", "-c", job}}), &utterances{}
		run.Stderr, said = words, append(said, words)
		fatal.If(t, run.Start())
		t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
		return run
	}
	rows := startProducer(t, address, name, 30, 50*time.Millisecond)
	published := func(n int) int {
		t.Helper()
		for until := time.Now().Add(90 * time.Second); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
			if found := len(certificates(t, address, name+"-certificates")); found >= n {
				return found
			}
		}
		for i, words := range said {
			text := words.says()
			t.Logf("member %d says at last: %s", i, text[max(0, len(text)-4000):])
		}
		t.Fatalf("there are not %d certificates", n)
		return 0
	}
	first := member()
	n := published(2)
	second := member()
	n = published(n + 2)
	fatal.If(t, first.Process.Signal(syscall.SIGSTOP))
	n = published(n + 2) // by the second
	third := member()
	fatal.If(t, first.Process.Signal(syscall.SIGCONT))
	n = published(n + 2)
	fatal.If(t, second.Process.Kill())
	n = published(n + 2) // by the first or the third
	fatal.If(t, first.Process.Kill())
	published(n + 2)
	close(rows.stop)
	sent := <-rows.done
	_ = third.Process.Kill()
	all := certificates(t, address, name+"-certificates")
	t.Logf("%d certificates, of %d rows that were sent, the last one with number %d", len(all), sent, all[len(all)-1].Delta.Sequence.Number)
	return all
}

// countOf is how many certificates speak of exactly these partitions.
func countOf(all []certify.Certificate, partitions string) (n int) {
	for _, c := range all {
		var found []int64
		for _, g := range c.Sample.Segments {
			found = append(found, g.Partition)
		}
		if slices.Sort(found); fmt.Sprint(slices.Compact(found)) == partitions {
			n++
		}
	}
	return n
}
