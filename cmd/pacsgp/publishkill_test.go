package main

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/pipeline"
)

// soak asks for more of what takes long and is drawn at random: make nightly PART=4.
var soak = flag.Bool("soak", false, "kill jobs and brokers at more moments")

// A topicJob is the small job on a topic of a cluster, whose artifacts go to topics of
// its own.
type topicJob struct {
	c    *kfake.Cluster
	name string
	from string
}

func (j topicJob) write(t *testing.T, dir string) string {
	t.Helper()
	return fromTopic(j.c, jobFile{
		"kafka": fmt.Sprintf("{brokers: [%q]}", j.c.ListenAddrs()[0]), "source": fmt.Sprintf("{kafka: {topic: rows, from: %s, group: group-%s}}", j.from, j.name),
		"publish": fmt.Sprintf("{kafka: {name: %[1]s, topics: %[1]s}}", j.name),
	}).write(t, dir)
}

// whole is the record of an undisturbed run, and how long it took.
func (j topicJob) whole(t *testing.T) (want pipeline.RunRecord, took time.Duration) {
	t.Helper()
	dir := t.TempDir()
	job := j.write(t, dir)
	succeed(t, "topics", "-c", job)
	began := time.Now()
	if out, err := child(t, order{Args: []string{"train", "-c", job}}).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return record(t, filepath.Join(dir, "out")), time.Since(began)
}

// finish runs the job in dir to its end and checks what was published.
func (j topicJob) finish(t *testing.T, when, dir string, want pipeline.RunRecord) {
	t.Helper()
	job := filepath.Join(dir, "job.yaml")
	succeed(t, "train", "-c", job)
	if r := record(t, filepath.Join(dir, "out")); r.Certificate != want.Certificate || r.Model != want.Model {
		t.Errorf("%s: %s and %s, want %s and %s", when, r.Certificate, r.Model, want.Certificate, want.Model)
	}
	pulled := filepath.Join(dir, "pulled")
	succeed(t, "pull", j.name, "-o", pulled, "--kafka", job)
	for _, file := range []string{want.Certificate, want.Model} {
		if string(readFile(t, filepath.Join(pulled, file))) != string(readFile(t, filepath.Join(dir, "out", file))) {
			t.Errorf("%s: pulled, %s is another file", when, file)
		}
	}
	for _, topic := range []string{"-certificates", "-models", "-current"} {
		if n := len(committedRecords(t, j.c.ListenAddrs()[0], j.name+topic)); n != 1 {
			t.Errorf("%s: %d records in %s%s, want 1", when, n, j.name, topic)
		}
	}
}

// requests are those that change something on a cluster, in their order.
type requests struct {
	mu   sync.Mutex
	sent []kmsg.Key
	at   int // the request to kill at, from 1 on; 0: none
	lost bool
	end  func()
}

// requestsOf counts the requests to a cluster.
func requestsOf(c *kfake.Cluster) *requests {
	r := &requests{}
	for _, key := range []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.Produce, kmsg.AddOffsetsToTxn, kmsg.TxnOffsetCommit, kmsg.OffsetCommit, kmsg.EndTxn} {
		c.ControlKey(key.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.sent = append(r.sent, key); len(r.sent) != r.at {
				return nil, nil, false
			}
			r.end()
			return nil, nil, r.lost
		})
	}
	return r
}

// kill counts again, and kills the command when it has sent its request n, which reaches the cluster or not.
func (r *requests) kill(run *exec.Cmd, n int, reaches bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent, r.at, r.lost, r.end = nil, n, !reaches, func() { _ = run.Process.Kill() }
}

// TestKilledAtEveryRequest: a job is killed when it has sent a request that changes
// something on the cluster, and the broker has got it or not. Run again, it leaves the
// same artifact on its topics, once.
func TestKilledAtEveryRequest(t *testing.T) {
	t.Parallel()
	repeats(t)
	c := smallTopic(t)
	at := requestsOf(c)
	want, _ := topicJob{c, "whole", "committed"}.whole(t)
	all := at.sent
	if len(all) < 10 {
		t.Fatalf("the job sends %v", all)
	}
	stride := 1
	if testing.Short() {
		stride = 5
	}
	for n := 1; n <= len(all); n += stride {
		for _, reaches := range []bool{false, true} {
			when := fmt.Sprintf("killed at request %d (%s), which reaches the broker: %v", n, all[n-1].Name(), reaches)
			j := topicJob{c, fmt.Sprintf("at%d-%v", n, reaches), "committed"}
			dir := t.TempDir()
			job := j.write(t, dir)
			succeed(t, "topics", "-c", job)
			run := child(t, order{Args: []string{"train", "-c", job}})
			at.kill(run, n, reaches)
			if out, err := run.CombinedOutput(); !killed(err) {
				t.Fatalf("%s: it says %v: %s", when, err, out)
			}
			at.kill(nil, 0, true)
			j.finish(t, when, dir, want)
		}
	}
}

// TestFailedPublicationsLeaveNothingOpen: whichever request of a publication fails for good, its
// transaction is aborted, so that readers of committed records are not blocked.
func TestFailedPublicationsLeaveNothingOpen(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		key   kmsg.Key
		topic string // "": all
		count int    // of the requests that fail; −1: all
		with  *kerr.Error
	}{
		{kmsg.AddPartitionsToTxn, "", -1, kerr.RequestTimedOut}, // it may be done
		{kmsg.Produce, "pacsgp-current", -1, kerr.PolicyViolation},
		{kmsg.TxnOffsetCommit, "", -1, kerr.PolicyViolation},
		{kmsg.EndTxn, "", 1, kerr.PolicyViolation},
	} {
		t.Run(fmt.Sprintf("%s %s %s", k.key.Name(), k.topic, k.with.Message), func(t *testing.T) {
			c := smallTopic(t)
			address := c.ListenAddrs()[0]
			job := fromTopic(c, jobFile{
				"kafka": fmt.Sprintf("{brokers: [%q], patience: 1s}", address), "source": "{kafka: {topic: rows, group: trainers}}",
				"publish": "{kafka: {name: small}}",
			}).write(t, t.TempDir())
			succeed(t, "topics", "-c", job)
			fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{k.key}, Topic: k.topic, Err: k.with, Count: k.count})
			aborts := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
				return !r.(*kmsg.EndTxnRequest).Commit
			}})
			pacsgp(t, "train", "-c", job).says(t, exitFailure, fmt.Sprintf("[%d]", k.with.Code))
			if fault.Hits() == 0 || aborts.Hits() == 0 {
				t.Errorf("%d requests failed, %d aborts", fault.Hits(), aborts.Hits())
			}
			if open := openTransactions(t, address); len(open) > 0 {
				t.Errorf("%q are open", open)
			}
			fault.Remove()
			succeed(t, "train", "-c", job)
			if n := len(committedRecords(t, address, "pacsgp-current")); n != 1 {
				t.Errorf("run again, it leaves %d pointers, want 1", n)
			}
		})
	}
}

// openTransactions are the ids of those that a cluster has open.
func openTransactions(t *testing.T, address string) (ids []string) {
	t.Helper()
	r := kmsg.NewPtrListTransactionsRequest()
	r.StateFilters = []string{"Ongoing"}
	answer, err := r.RequestWith(t.Context(), foreign(t, address))
	if err != nil || answer.ErrorCode != 0 {
		t.Fatalf("%+v: %v", answer, err)
	}
	for _, s := range answer.TransactionStates {
		ids = append(ids, s.TransactionalID)
	}
	return ids
}
