package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/certify"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// flightRows are the 200,000 rows of the flights data as JSON, shuffled.
func flightRows(t *testing.T) (rows [][]byte) {
	t.Helper()
	data := os.Getenv("PACSGP_DATA")
	if data == "" {
		data = filepath.Join("..", "..", "..", "shared", "data")
	}
	path := filepath.Join(data, "flights")
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the test data are missing: %v; set PACSGP_DATA", err)
		}
		t.Skipf("the test data are missing: %v; set PACSGP_DATA", err)
	}
	src, err := ingestlake.Open(t.Context(), ingestlake.Config{Paths: []string{path}, Features: []string{"distance", "time"}, Target: "delay"})
	fatal.If(t, err)
	for i := range src.Shards() {
		batches, err := src.Open(t.Context(), i)
		fatal.If(t, err)
		for {
			record, err := batches.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			fatal.If(t, err)
			value := func(column, row int) float64 { return record.Column(column).(*array.Float64).Value(row) }
			for k := range int(record.NumRows()) {
				rows = append(rows, fmt.Appendf(nil, `{"distance":%v,"time":%v,"delay":%v}`, value(0, k), value(1, k), value(2, k)))
			}
			record.Release()
		}
		fatal.If(t, batches.Close())
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// TestFlightsOnApacheKafka: 200,000 rows of six partitions of a real broker, which is
// killed and restarted while they are consumed: model and certificate on topics, once
// each, verified by another process that replays the segments from the topic alone.
func TestFlightsOnApacheKafka(t *testing.T) {
	t.Parallel()
	s, _ := apache.Lend(t)
	rows := flightRows(t)
	dir := t.TempDir()
	job := jobFile{
		"kafka": fmt.Sprintf("{brokers: [%q], patience: 3m}", s.Address), "source": "{kafka: {topic: flights, group: trainers}}",
		"features": "[distance, time]", "target": "delay", "loss": "{epsilon: 15}", "delta": "0.01", "inducing": "[40]", "train": "{passes: 1}",
		"duplicates": "keep", "output": "out", "publish": "{kafka: {name: delays, exactly_once: true}}",
	}.write(t, dir)
	createTopic(t, s.Address, "flights", 6)
	succeed(t, "topics", "-c", job)
	var records []*kgo.Record
	for i, value := range rows {
		records = append(records, &kgo.Record{Topic: "flights", Partition: int32(i % 6), Value: value})
	}
	send(t, s.Address, records...)

	run := child(t, order{Args: []string{"train", "-c", job}})
	var said strings.Builder
	run.Stdout, run.Stderr = &said, &said
	fatal.If(t, run.Start())
	for range 600 { // until there is something in the spool
		if found, _ := filepath.Glob(filepath.Join(dir, "out", "_spool-*", "segment-*")); len(found) > 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.Kill(t)
	s.Run(t)
	if err := run.Wait(); err != nil && !strings.Contains(said.String(), "VACUOUS") {
		t.Fatalf("train: %v: %s", err, said.String())
	}
	out := filepath.Join(dir, "out")
	r := record(t, out)
	doc, err := certify.Parse(readFile(t, filepath.Join(out, r.Certificate)))
	fatal.If(t, err)
	if doc.Sample.Rows != 200_000 || len(doc.Sample.Segments) != 6 {
		t.Errorf("%d rows in %d segments", doc.Sample.Rows, len(doc.Sample.Segments))
	}
	pulled := filepath.Join(dir, "pulled")
	succeed(t, "pull", "delays", "-o", pulled, "--kafka", job)
	check := child(t, order{Args: []string{"verify", filepath.Join(pulled, r.Model), filepath.Join(pulled, r.Certificate), "--source", job}})
	answer, err := check.CombinedOutput()
	// So small a model of flights certifies nothing, which is said when all is verified.
	if err != nil && check.ProcessState.ExitCode() != exitNotCertified || !strings.Contains(string(answer), "were read again from the log") ||
		!strings.Contains(string(answer), "verified: ") && !strings.Contains(string(answer), "the certificate is what it says") {
		t.Errorf("verify: %v: %s", err, answer)
	}
	for _, topic := range []string{"pacsgp-certificates", "pacsgp-models", "pacsgp-current"} {
		if n := len(committedRecords(t, s.Address, topic)); n != 1 {
			t.Errorf("%d records in %s, want 1", n, topic)
		}
	}
}

// committed counts the records of a topic that readers of committed ones see.
func committed(t *testing.T, c *kfake.Cluster, topic string) int {
	t.Helper()
	return len(committedRecords(t, c.ListenAddrs()[0], topic))
}
