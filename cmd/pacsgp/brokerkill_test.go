package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
)

// An instant of a job: the n-th request of a kind to a broker, or the n-th operation of a
// kind on a file of the output.
type instant struct {
	name string
	key  kmsg.Key // of the request
	nth  int32
	file string // what the name of the file contains, in the place of a request
	kind string // of the operation
}

// TestBrokerKilled: a job whose broker is killed, and started again while the job goes
// on, ends with the same bytes and publishes them once, whatever it was doing.
func TestBrokerKilled(t *testing.T) {
	t.Parallel()
	s, gate := brokertest.StartGated(t, brokertest.Options{})
	createTopic(t, gate.Address, "rows", 3)
	fillTopic(t, gate.Address, 0)
	jobOf := func(dir string, number int) string {
		return tiny(jobFile{
			"kafka": fmt.Sprintf("{brokers: [%q], patience: 3m}", gate.Address), "source": fmt.Sprintf("{kafka: {topic: rows, from: committed, group: group%d}}", number),
			"features": "[x1, in.x2]",
			"publish":  fmt.Sprintf("{kafka: {name: small%[1]d, topics: small%[1]d}}", number),
		}).write(t, dir)
	}
	undisturbed := t.TempDir()
	job := jobOf(undisturbed, 0)
	succeed(t, "topics", "-c", job)
	succeed(t, "train", "-c", job)
	want := record(t, filepath.Join(undisturbed, "out"))

	moments := []instant{
		{name: "consuming", key: kmsg.Fetch, nth: 1},
		{name: "spooling", key: kmsg.Fetch, nth: 3},
		{name: "training", file: "log.json", kind: durabletest.Rename, nth: 1},
		{name: "last pass", file: "model-", kind: durabletest.Rename, nth: 1},
		{name: "publishing", key: kmsg.Produce, nth: 2},
		{name: "committing", key: kmsg.EndTxn, nth: 1},
	}
	if *soak {
		moments = append(moments, []instant{
			{name: "asking for offsets", key: kmsg.ListOffsets, nth: 2},
			{name: "beginning to publish", key: kmsg.InitProducerID, nth: 1},
			{name: "joining the transaction", key: kmsg.AddPartitionsToTxn, nth: 2},
			{name: "adding the group", key: kmsg.AddOffsetsToTxn, nth: 1},
			{name: "committing offsets", key: kmsg.TxnOffsetCommit, nth: 1},
		}...)
	}
	for i, at := range moments {
		t.Run(at.name, func(t *testing.T) {
			dir := t.TempDir()
			job := jobOf(dir, i+1)
			succeed(t, "topics", "-c", job)
			var seen atomic.Int32
			var once sync.Once
			reached, goOn := make(chan struct{}), make(chan struct{})
			here := func() {
				if seen.Add(1) == at.nth {
					once.Do(func() { close(reached) })
					<-goOn
				}
			}
			gate.Tell(func(key int16) {
				if at.file == "" && key == at.key.Int16() {
					here()
				}
			})
			files := hooked(func(op durabletest.Operation, effect func() error) error {
				if at.file != "" && op.Kind == at.kind && strings.Contains(filepath.Base(op.Name), at.file) {
					here()
				}
				return effect()
			})
			ended := make(chan answer, 1)
			go func() { ended <- pacsgpOn(t, files, "train", "-c", job) }()
			select {
			case <-reached:
			case a := <-ended:
				t.Fatalf("the job did not come to this moment: %s", a.message)
			}
			s.Kill(t)
			close(goOn)
			s.Run(t)
			if a := <-ended; a.status != 0 {
				t.Fatalf("status %d: %s", a.status, a.message)
			}
			gate.Tell(func(int16) {})
			if r := record(t, filepath.Join(dir, "out")); r.Certificate != want.Certificate || r.Model != want.Model {
				t.Errorf("%s and %s, want %s and %s", r.Certificate, r.Model, want.Certificate, want.Model)
			}
			publishedOnce(t, gate.Address, i+1)
		})
	}
}

// publishedOnce checks the topics and the group of a job by its number.
func publishedOnce(t *testing.T, address string, number int) {
	t.Helper()
	for _, topic := range []string{"c", "m", "p"} {
		if n := len(committedRecords(t, address, fmt.Sprint(topic, number))); n != 1 {
			t.Errorf("%d records in %s%d, want 1", n, topic, number)
		}
	}
	at, err := own(t, address).CommittedOffsets(t.Context(), fmt.Sprint("group", number), "rows", []int{0, 1, 2})
	if err != nil || at[0] != 60 || at[1] != 60 || at[2] != 60 {
		t.Errorf("the group is at %v, %v, want 60 in each partition", at, err)
	}
}
