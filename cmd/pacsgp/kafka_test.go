package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/synth"
)

// smallTopic produces the rows of [smallLake] to three partitions of a topic and
// returns the cluster.
func smallTopic(t *testing.T) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "rows"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	p, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("rows"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	g, err := synth.New(synth.Config{Seed: smallSeed, Noise: 0.1, Features: 2})
	if err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	rows := g.Rows(0, 180)
	for i := range rows[0] {
		records = append(records, &kgo.Record{Partition: int32(i % 3), Value: fmt.Appendf(nil, `{"x1":%v,"in":{"x2":%v},"y":%v}`, rows[0][i], rows[1][i], rows[2][i])})
	}
	if err := p.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return c
}

func fromTopic(c *kfake.Cluster, change jobFile) jobFile {
	job := tiny(jobFile{
		"source":   fmt.Sprintf("{kafka: {brokers: [%q], topic: rows, spool: {folder: spool, keep: true}}}", c.ListenAddrs()[0]),
		"features": "[x1, in.x2]",
	})
	maps.Copy(job, change)
	return job
}

// TestTopic: a job on a topic gives a certificate that names the segments, which is
// verified by replaying them, and against the spool as a lake; the spool as the lake of a
// job gives the same model and the same bound; a second run gives the same bytes.
func TestTopic(t *testing.T) {
	c := smallTopic(t)
	dir := t.TempDir()
	job := fromTopic(c, nil).write(t, dir)
	succeed(t, "train", "-c", job)
	out := filepath.Join(dir, "out")
	r := record(t, out)
	model, certificate := filepath.Join(out, r.Model), filepath.Join(out, r.Certificate)
	doc, err := certify.Parse(readFile(t, certificate))
	if err != nil {
		t.Fatal(err)
	}
	if g := doc.Sample.Segments; len(g) != 3 || g[1] != (certify.Segment{Topic: "rows", Partition: 1, First: 0, End: 60, Rows: 60}) {
		t.Errorf("segments %+v", g)
	}
	pacsgp(t, "verify", model, certificate, "--source", job).says(t, 0, "were read again from the log", "verified: ")
	pacsgp(t, "verify", model, certificate, filepath.Join(dir, "spool")).says(t, 0, "the maker's word", "verified: ")

	again := t.TempDir()
	succeed(t, "train", "-c", fromTopic(c, nil).write(t, again))
	if r2 := record(t, filepath.Join(again, "out")); r2.Certificate != r.Certificate || r2.Model != r.Model {
		t.Errorf("a second run gave %s and %s, want %s and %s", r2.Certificate, r2.Model, r.Certificate, r.Model)
	}

	other := t.TempDir()
	succeed(t, "train", "-c", fromTopic(c, jobFile{"source": fmt.Sprintf("{paths: [%q]}", filepath.Join(dir, "spool"))}).write(t, other))
	r3 := record(t, filepath.Join(other, "out"))
	if r3.Model != r.Model || r3.Bound != r.Bound {
		t.Errorf("the spool as a lake gave %s with the bound %v, want %s with %v", r3.Model, r3.Bound, r.Model, r.Bound)
	}
}

// TestForgedSegments: segments that are not those of the rows are refused by a replay.
func TestForgedSegments(t *testing.T) {
	c := smallTopic(t)
	dir := t.TempDir()
	job := fromTopic(c, nil).write(t, dir)
	succeed(t, "train", "-c", job)
	out := filepath.Join(dir, "out")
	r := record(t, out)
	text := string(readFile(t, filepath.Join(out, r.Certificate)))
	forged := strings.NewReplacer(`"partition": 1,`, `"partition": 2,`, `"partition": 2,`, `"partition": 1,`).Replace(text)
	if forged == text {
		t.Fatal("nothing was forged")
	}
	path := filepath.Join(dir, "forged.json")
	writeFile(t, path, []byte(forged))
	pacsgp(t, "verify", filepath.Join(out, r.Model), path, "--source", job).says(t, exitFailure, "sample digest")
}
