package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
)

// A killedService is a stream on the small topic, with a group and topics of its own.
type killedService struct {
	c      *kfake.Cluster
	name   string
	shared bool
}

func (k killedService) write(t *testing.T, dir string) string {
	t.Helper()
	kind := config.GroupSingle
	if k.shared {
		kind = config.GroupShared
	}
	job := serviceJob(t, k.c.ListenAddrs()[0], dir, jobFile{
		"kafka": fmt.Sprintf("{brokers: [%q]}", k.c.ListenAddrs()[0]), "source": fmt.Sprintf("{kafka: {topic: rows, group: group-%s, rows: 120}, spool: {limit: 10MB}}", k.name),
		"publish": fmt.Sprintf("{kafka: {name: %[1]s, topics: %[1]s}}", k.name),
		"stream":  fmt.Sprintf("{group: %s, session_timeout: 1s}", kind),
	})
	succeed(t, "topics", "-c", job)
	return job
}

// survives runs the stream until something kills it, starts it again, on its disk or on an
// empty one, and checks what is on its topics.
func (k killedService) survives(t *testing.T, when string, emptyDisk bool, killer func(start func(order) *exec.Cmd)) {
	t.Helper()
	dir := t.TempDir()
	job := k.write(t, dir)
	killer(func(o order) *exec.Cmd {
		o.Args = []string{"stream", "-c", job}
		return child(t, o)
	})
	if emptyDisk {
		job = k.write(t, t.TempDir())
	}
	r := startService(t, "-c", job)
	awaitOn(t, k.c.ListenAddrs()[0], k.name+"-certificates", func(all []certify.Certificate) bool { return len(all) >= 3 }, r)
	r.end(t)
	all := certificates(t, k.c.ListenAddrs()[0], k.name+"-certificates")
	rows := int64(0)
	for _, end := range onceEach(t, "group-"+k.name, all) {
		rows += end
	}
	if len(all) != 3 || rows != 360 {
		t.Errorf("%s: %d certificates of %d rows, want 3 of 360", when, len(all), rows)
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

// TestStreamKilled: a stream is killed when it has sent a request that changes
// something on the cluster, and the broker has got it or not, and when it is about to
// change something durable on its disk, or has changed it. Started again, every row is in
// one certificate, no number is used twice, and nothing is seen by half. So for both kinds of
// group.
func TestStreamKilled(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("kills a dozen streams of three windows; pipeline/stream kills one at each change")
	}
	t.Run("at a request", func(t *testing.T) {
		t.Parallel() // it waits
		c := threeWindows(t)
		at := requestsOf(c)
		whole := killedService{c, "whole", false} // which takes the fewer requests
		whole.survives(t, "undisturbed", false, func(func(order) *exec.Cmd) {})
		requests := len(at.sent)
		if requests < 20 {
			t.Fatalf("three windows take %d requests", requests)
		}
		for i, n := range some(2*requests, 3) {
			reaches := n%2 == 0
			k := killedService{c, fmt.Sprintf("at%d", n), i/2%2 == 0}
			when := fmt.Sprintf("shared %v: killed at request %d, which reaches the broker: %v", k.shared, (n+1)/2, reaches)
			k.survives(t, when, i%2 == 1, func(start func(order) *exec.Cmd) {
				run := start(order{})
				at.kill(run, (n+1)/2, reaches)
				if out, err := run.CombinedOutput(); !killed(err) {
					t.Fatalf("%s: it says %v: %s", when, err, out)
				}
				at.none()
			})
		}
	})
	t.Run("at an operation on the disk", func(t *testing.T) {
		t.Parallel() // it waits
		c := threeWindows(t)
		const operations = 30 // of the first window, about
		for i, n := range some(2*operations, 3) {
			how := []string{howBefore, howAfter}[n%2]
			k := killedService{c, fmt.Sprint("disk", n), i/2%2 == 0}
			when := fmt.Sprintf("killed %s operation %d on the disk", how, (n+1)/2)
			k.survives(t, when, i%2 == 1, func(start func(order) *exec.Cmd) {
				if out, err := start(order{At: (n + 1) / 2, How: how}).CombinedOutput(); !killed(err) {
					t.Fatalf("%s: it says %v: %s", when, err, out)
				}
			})
		}
	})
}

// threeWindows is the small topic with rows for three windows.
func threeWindows(t *testing.T) *kfake.Cluster {
	t.Helper()
	c := smallTopic(t)
	fillTopic(t, c.ListenAddrs()[0], 180)
	return c
}
