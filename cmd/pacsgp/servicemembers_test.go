package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
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
			certified := onceEach(t, kind, all)
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
	createTopic(t, address, kind, 3)
	var said []*utterances // by each member
	member := func() *exec.Cmd {
		t.Helper()
		job := serviceJob(t, address, t.TempDir(), jobFile{
			"kafka": fmt.Sprintf("{brokers: [%q]}", address), "source": fmt.Sprintf("{kafka: {topic: %[1]s, group: %[1]s, rows: 120}, spool: {limit: 10MB}}", kind),
			"stream":  fmt.Sprintf("{group: %s, session_timeout: 2s}", kind),
			"publish": fmt.Sprintf("{kafka: {name: %[1]s, topics: %[1]s}}", kind),
		})
		succeed(t, "topics", "-c", job) // which are there for all but the first
		run, words := child(t, order{Args: []string{"stream", "-c", job}}), &utterances{}
		run.Stderr, said = words, append(said, words)
		fatal.If(t, run.Start())
		t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
		return run
	}
	rows := startProducer(t, address, kind, 30, 50*time.Millisecond)
	published := func(n int) int {
		t.Helper()
		for until := time.Now().Add(90 * time.Second); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
			if found := len(certificates(t, address, kind+"-certificates")); found >= n {
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
	all := certificates(t, address, kind+"-certificates")
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

// TestStreamIsFlat: rows at full speed, with -soak millions, through a stream of its own
// process: memory, goroutines and files stay as they are after the first windows, and the
// spools keep within their disk.
func TestStreamIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("twenty windows of a stream")
	}
	total := 100_000
	if *soak {
		total = 10_000_000
	}
	if n, err := strconv.Atoi(os.Getenv("PACSGP_SOAK_ROWS")); err == nil {
		total = n
	}
	const limit = 200e6
	rows := total / 20 // of a window
	s, _ := apache.Lend(t)
	createTopic(t, s.Address, "rows", 3)
	dir := t.TempDir()
	job := serviceJob(t, s.Address, dir, jobFile{
		"kafka": fmt.Sprintf("{brokers: [%q]}", s.Address), "source": fmt.Sprintf("{kafka: {topic: rows, group: trainers, rows: %d}, spool: {limit: 200MB}}", rows),
		"inducing": "10", "train": "{passes: 0.1}", "duplicates": "keep", "memory": "64MiB", "serve": "{listen: 127.0.0.1:0}",
	})
	succeed(t, "topics", "-c", job)
	run := exec.CommandContext(t.Context(), os.Args[0]) // without the patience of child
	run.Env = append(os.Environ(), fmt.Sprintf(`%s={"Args":["stream","-c",%q]}`, childVariable, job))
	said := &utterances{}
	run.Stderr = said
	fatal.If(t, run.Start())
	t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	began := time.Now()
	go produce(t, s.Address, total)
	address := said.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
	var flat map[string]float64 // after some windows
	most := 0.0                 // of the spools
	reported := -1.0
	for done := 0.0; done < 19; time.Sleep(200 * time.Millisecond) {
		if time.Since(began) > time.Hour {
			t.Fatalf("%v windows in an hour", done)
		}
		now := scrape(t, address)
		most = max(most, now["pacsgp_spool_bytes"])
		if done = now["pacsgp_certificate_latency_seconds_count"]; done == reported {
			continue
		}
		reported = done
		t.Logf("after %2.0f windows, %4.0f s: %4.0f MB resident, %3.0f goroutines, %2.0f files, spools %3.0f MB, lag %8.0f offsets, latency %.1f s on average", done, time.Since(began).Seconds(),
			now["process_resident_memory_bytes"]/1e6, now["go_goroutines"], now["process_open_fds"], now["pacsgp_spool_bytes"]/1e6, now["pacsgp_group_lag_offsets"],
			now["pacsgp_certificate_latency_seconds_sum"]/max(1, done))
		if done < 5 {
			continue
		}
		if flat == nil {
			flat = now
		}
		for name, room := range map[string]float64{"process_resident_memory_bytes": 96e6, "go_goroutines": 30, "process_open_fds": 30} {
			if now[name] > flat[name]+room {
				t.Errorf("after %v windows %s is %v, and was %v after five", done, name, now[name], flat[name])
			}
		}
	}
	if most > limit*1.25 { // by a few segments
		t.Errorf("the spools had %.0f MB", most/1e6)
	}
	took := time.Since(began).Seconds()
	t.Logf("%d rows in %.0f s, %.0f rows a second from the topic to the certificate; the spools had %.0f MB at most", total*19/20, took, float64(total)*19/20/took, most/1e6)
}

// produce sends rows of the generator, as fast as it can.
func produce(t testing.TB, address string, total int) {
	p := foreign(t, address)
	for first := 0; first < total; first += 5000 {
		records := recordsOf(t, "rows", int64(first), int64(min(5000, total-first)))
		if err := p.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			if t.Context().Err() == nil {
				t.Error(err)
			}
			return
		}
	}
}
