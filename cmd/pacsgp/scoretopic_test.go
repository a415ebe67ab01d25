package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// A predictedRecord is the prediction of a row of a topic.
type predictedRecord struct {
	Partition   int             `json:"partition"`
	Offset      int64           `json:"offset"`
	Row         int64           `json:"row"`
	Mean        *float64        `json:"mean"`
	Deviation   *float64        `json:"deviation"`
	Certificate *string         `json:"certificate"`
	Reason      *string         `json:"reason"`
	ID          json.RawMessage `json:"id"`

	key string
}

// aTopic has two models, of [following], and topics for rows and predictions.
type aTopic struct {
	dir, address, score string
	pointers            [2][]byte
	want                map[string][]predicted // by certificate, as predict makes them
	rows                int
	sent                int // records
}

// topicOf makes topics of two partitions, with rows to be predicted.
func topicOf(t *testing.T, address string, rows int, options string) *aTopic {
	t.Helper()
	s := &aTopic{address: address, rows: rows}
	s.dir, s.pointers, _ = following(t, 1, int64(rows))
	s.want = map[string][]predicted{}
	for id, files := range expected(t, s.dir, s.pointers) {
		for _, all := range files {
			s.want[id] = all
		}
	}
	s.score = s.file(t, "predictions", "scorers", options)
	createTopic(t, address, "features", 2)
	createTopic(t, address, "predictions", 2)
	return s
}

// file writes a score file.
func (s *aTopic) file(t *testing.T, topic, group, options string) string {
	t.Helper()
	path := filepath.Join(s.dir, "score-"+group+".yaml")
	writeFile(t, path, fmt.Appendf(nil, "model: out\nkafka: {brokers: [%q]}\nsource: {kafka: {topic: features, group: %s}}\npassthrough: [id]\noutput: {kafka: %s}\n%s",
		s.address, group, topic, options))
	return path
}

// send produces all rows, with a number that no float64 holds, and these texts in between.
func (s *aTopic) send(t *testing.T, more ...string) {
	t.Helper()
	rows, err := parquet.ReadFile[struct {
		X1 float64 `parquet:"x1"`
		X2 float64 `parquet:"x2"`
	}](filepath.Join(s.dir, "new", "part-00.parquet"))
	fatal.If(t, err)
	var records []*kgo.Record
	for i, r := range rows {
		records = append(records, &kgo.Record{
			Topic: "features", Partition: int32(i % 2), Key: fmt.Appendf(nil, "key-%d", i),
			Value: fmt.Appendf(nil, `{"id": 90071992547409%05d, "x1":%v,"x2":%v,"text":"skipped"}`, i, r.X1, r.X2),
		})
	}
	for _, text := range more {
		records = append(records, &kgo.Record{Topic: "features", Key: []byte("more"), Value: []byte(text)})
	}
	send(t, s.address, records...)
	s.sent += len(records)
}

// found are the predictions that a reader of committed records of another make sees, in
// the order of their partitions.
func (s *aTopic) found(t *testing.T, topic string) []predictedRecord {
	t.Helper()
	var all []predictedRecord
	for _, r := range committedRecords(t, s.address, topic) {
		var p predictedRecord
		if err := json.Unmarshal(r.Value, &p); err != nil {
			t.Errorf("%s: %v", r.Value, err)
		}
		p.key = string(r.Key)
		if int(r.Partition) != p.Partition {
			t.Errorf("the prediction of a row of partition %d is in partition %d", p.Partition, r.Partition)
		}
		all = append(all, p)
	}
	return all
}

// agree compares predictions with those of the model that they name, and counts how often
// each row of the topic has one.
func (s *aTopic) agree(t *testing.T, all []predictedRecord) map[string]int {
	t.Helper()
	times, by := map[[2]int64]int{}, map[string]int{}
	for _, p := range all {
		times[[2]int64{int64(p.Partition), p.Offset}]++
		var i int
		if _, err := fmt.Sscanf(p.key, "key-%d", &i); err != nil || p.Certificate == nil {
			continue
		}
		by[*p.Certificate]++
		want := s.want[*p.Certificate][i]
		if *p.Mean != *want.Mean || *p.Deviation != *want.Deviation || p.Reason != nil || p.Row != 0 {
			t.Errorf("row %d: %v ± %v, want %v ± %v", i, *p.Mean, *p.Deviation, *want.Mean, *want.Deviation)
		}
		if id := fmt.Sprintf("90071992547409%05d", i); string(p.ID) != id {
			t.Errorf("row %d: kept as %s, want %s", i, p.ID, id)
		}
	}
	if len(times) != s.sent {
		t.Errorf("%d records of %d have a prediction", len(times), s.sent)
	}
	for at, n := range times {
		if n != 1 {
			t.Errorf("the record at %v has %d predictions", at, n)
		}
	}
	return by
}

// reasonsOf are the reasons, and the kept members, of the records next to the rows.
func reasonsOf(all []predictedRecord) (reasons []string) {
	for _, p := range all {
		if p.key == "more" {
			reasons = append(reasons, fmt.Sprintf("%s %s %v %v", *p.Reason, p.ID, p.Mean == nil, p.Certificate == nil))
		}
	}
	return reasons
}

// Rows of a topic are predicted as predict does it, once, by the model that is current; what
// is kept is kept to the last digit, and a record that is no row has a reason.
func TestScoreOfATopic(t *testing.T) {
	t.Parallel()
	s := topicOf(t, seededTopics(t), 60, "")
	s.send(t, "no row", `{"x1": 1, "id": "text"}`, `{"x1": "text", "x2": 1}`)
	pacsgp(t, "score", "-c", s.score, "--once").says(t, 0, "predictions of 63 rows, 3 without one")
	all := s.found(t, "predictions")
	if by := s.agree(t, all); by[idOf(t, s.pointers[0])] != 60 {
		t.Errorf("by model %v", by)
	}
	want := []string{
		"it is no JSON object null true true", `x2 is null "text" true true`,
		`column "x1" is the text "text"; numbers, true, false and times as in 2026-01-31T12:00:00Z are read null true true`,
	}
	if diff := cmp.Diff(want, reasonsOf(all)); diff != "" {
		t.Error(diff)
	}
	// A new champion predicts what comes, and nothing again.
	point(t, s.dir, s.pointers[1])
	s.send(t)
	succeed(t, "score", "-c", s.score, "--once")
	if by := s.agree(t, s.found(t, "predictions")); by[idOf(t, s.pointers[0])] != 60 || by[idOf(t, s.pointers[1])] != 60 {
		t.Errorf("by model %v", by)
	}
}

// Rows of a partition that the certificate does not speak of are predicted, and carry no
// certificate: they may be of another population.
func TestScoreOfOtherPartitions(t *testing.T) {
	t.Parallel()
	c := smallTopic(t)
	const rows = 8 * 180
	for first := int64(180); first < rows; first += 180 {
		fillTopic(t, c.ListenAddrs()[0], first)
	}
	dir := t.TempDir()
	job := fromTopic(c, jobFile{"kafka": fmt.Sprintf("{brokers: [%q]}", c.ListenAddrs()[0]), "source": "{kafka: {topic: rows, partitions: [0, 2]}}"})
	succeed(t, "train", "-c", job.write(t, dir))
	s := &aTopic{address: c.ListenAddrs()[0]}
	createTopic(t, s.address, "predictions", 3)
	path := filepath.Join(dir, "score.yaml")
	writeFile(t, path, fmt.Appendf(nil, "model: out\nkafka: {brokers: [%q]}\nsource: {kafka: {topic: rows, group: scorers}}\noutput: {kafka: predictions}\n", s.address))
	said := pacsgp(t, "score", "-c", path, "--once")
	if said.status != 0 || !strings.Contains(said.log, `predictions of partition 1 of \"rows\" carry no certificate id`) {
		t.Errorf("status %d: %s", said.status, said.log)
	}
	s.sent = rows
	for _, p := range s.found(t, "predictions") {
		if p.Mean == nil || (p.Certificate == nil) != (p.Partition == 1) {
			t.Errorf("partition %d, offset %d: %+v", p.Partition, p.Offset, p)
		}
	}
}

// A service follows the topic of pointers while rows come; when one member ends, another
// goes on behind it, and no row is predicted twice.
func TestScoreFollowsATopicOfPointers(t *testing.T) {
	t.Parallel()
	s := topicOf(t, seededTopics(t), 40, "")
	s.score = s.file(t, "predictions", "members", "session_timeout: 1s\n")
	text := strings.Replace(string(readFile(t, s.score)), "model: out", "model: {kafka: {name: small}}", 1)
	writeFile(t, s.score, []byte(text))
	job := func(passes string) string {
		return tiny(jobFile{"train": passes, "kafka": fmt.Sprintf("{brokers: [%q]}", s.address), "publish": "{kafka: {name: small}}"}).write(t, s.dir)
	}
	publish := func(passes string) { succeed(t, "train", "-c", job(passes)) }
	succeed(t, "topics", "-c", job("{passes: 2}"))
	start := func() *runningService { return startCommand(t, "score", "-c", s.score) }
	await := func() []predictedRecord {
		for range 500 {
			if all := s.found(t, "predictions"); len(all) >= s.sent {
				return all
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatalf("%d of %d rows have a prediction", len(s.found(t, "predictions")), s.sent)
		return nil
	}
	s.send(t)
	first := start()
	first.find(t, "(no prediction without a model)") // waits for one
	publish("{passes: 2}")
	if by := s.agree(t, await()); by[idOf(t, s.pointers[0])] != 40 {
		t.Errorf("by model %v", by)
	}
	second := start()
	second.find(t, "(waiting for its partitions)")
	publish("{passes: 2, seed: 2}")
	time.Sleep(score.LookEvery)
	s.send(t)
	if by := s.agree(t, await()); by[idOf(t, s.pointers[1])] != 40 {
		t.Errorf("by model %v", by)
	}
	first.end(t)
	s.send(t)
	if by := s.agree(t, await()); by[idOf(t, s.pointers[1])] != 80 {
		t.Errorf("by model %v", by)
	}
	second.find(t, "(this member has the partitions)")
	second.end(t)
}
