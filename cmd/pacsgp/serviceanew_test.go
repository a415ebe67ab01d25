package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
)

// TestServiceOfATopicMadeAnew: a stream does not go on in the spool of a topic that was made
// anew under its name; and the first window of the new topic does not begin with the model of
// the old one, though their offsets do not meet: what these were rows of is not known.
func TestServiceOfATopicMadeAnew(t *testing.T) {
	t.Parallel()
	c := smallTopic(t) // 180 rows
	address := c.ListenAddrs()[0]
	dir := t.TempDir()
	job := serviceJob(t, address, dir, nil)
	succeed(t, "topics", "-c", job)
	r := startService(t, "-c", job)
	awaitCertificates(t, address, 1, r)
	r.find(t, "(published certificate number 1)")
	r.end(t)
	client := own(t, address)
	before, ends := pointed(t, client)
	remake(t, address, "rows", 3)
	for from := int64(0); from < 540; from += 180 {
		fillTopic(t, address, from)
	}
	w, err := client.NewWriter(t.Context(), "")
	if err == nil { // as a tool does that takes groups along
		err = w.CommitOffsets(t.Context(), "trainers", "rows", ends, "")
	}
	fatal.If(t, err)
	r = startService(t, "-c", job)
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		t.Fatalf("it goes on: %s", r.says())
	}
	if r.err == nil || !strings.Contains(r.err.Error(), "another one than when the window was begun") {
		t.Fatalf("in its spool it ends with %v, want that the topic is another one: %s", r.err, r.says())
	}
	fatal.If(t, os.RemoveAll(filepath.Join(dir, "out")))
	r = startService(t, "-c", job)
	all := awaitCertificates(t, address, 3, r)
	r.find(t, "(which was made anew or is on another cluster)")
	r.find(t, "(published certificate number 3)")
	r.end(t)
	if a := all[1].Declared.Training.Ancestor; a != nil {
		t.Errorf("the first window of the new topic begins with %+v", a)
	}
	if a := all[2].Declared.Training.Ancestor; a == nil || a.Model != all[1].Model.Digest {
		t.Errorf("the second one begins with %+v, want the model of the first", a)
	}
	after, _ := pointed(t, client)
	if now, err := client.Identity(t.Context(), "rows"); err != nil || after != now || before == now || before == (broker.Identity{}) {
		t.Errorf("pointers say %+v and %+v of the rows, the topic is now %+v: %v", before, after, now, err)
	}
}

// pointed is which topic the pointer says that its rows are of, and where they end.
func pointed(t *testing.T, client *broker.Client) (broker.Identity, map[int]int64) {
	t.Helper()
	p, err := sinklog.Current(t.Context(), client, sinklog.Topics{}, "small")
	fatal.If(t, err)
	ends := map[int]int64{}
	for _, g := range p.Segments {
		ends[int(g.Partition)] = max(ends[int(g.Partition)], g.End)
	}
	return p.Rows, ends
}

// remake deletes a topic, and makes one of its name.
func remake(t *testing.T, address, name string, partitions int) {
	t.Helper()
	brokertest.DeleteTopic(t, address, name)
	if made, err := own(t, address).CreateTopic(t.Context(), name, partitions, 1, nil); err != nil || !made {
		t.Fatalf("made: %v, %v", made, err)
	}
}
