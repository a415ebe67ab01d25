package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/broker"
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

// file writes a score file to a topic.
func (s *aTopic) file(t *testing.T, topic, group, options string) string {
	t.Helper()
	return s.toLake(t, group, "{kafka: "+topic+"}", options)
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

// A service follows the topic of pointers while rows come; when one member ends, another
// goes on behind it, and no row is predicted twice.
func TestScoreFollowsATopicOfPointers(t *testing.T) {
	t.Parallel()
	s := topicOf(t, cluster(t).ListenAddrs()[0], 40, "")
	s.score = s.file(t, "predictions", "members", "session_timeout: 1s\n")
	text := strings.Replace(string(readFile(t, s.score)), "model: out", "model: {kafka: {name: small}}", 1)
	writeFile(t, s.score, []byte(text))
	job := func(passes string) string {
		return tiny(jobFile{"train": passes, "kafka": fmt.Sprintf("{brokers: [%q]}", s.address), "publish": "{kafka: {name: small}}"}).write(t, s.dir)
	}
	publish := func(passes string) { succeed(t, "train", "-c", job(passes)) }
	succeed(t, "topics", "-c", job("{passes: 2}"))
	start := func() *runningService { return startCommand(t, "score", "-c", s.score) }
	await := func() (all []predictedRecord) {
		if !within(time.Minute, func() bool { all = s.found(t, "predictions"); return len(all) >= s.sent }) {
			t.Fatalf("%d of %d rows have a prediction", len(all), s.sent)
		}
		return all
	}
	s.send(t)
	first := start()
	first.find(t, "(no prediction without a model)") // waits for one
	publish("{passes: 2}")
	if by := s.agree(t, await()); by[pointed(t, s.pointers[0]).ID] != 40 {
		t.Errorf("by model %v", by)
	}
	second := start()
	second.find(t, "(waiting for its partitions)")
	publish("{passes: 2, seed: 2}")
	time.Sleep(score.LookEvery)
	s.send(t)
	if by := s.agree(t, await()); by[pointed(t, s.pointers[1]).ID] != 40 {
		t.Errorf("by model %v", by)
	}
	first.end(t)
	s.send(t)
	if by := s.agree(t, await()); by[pointed(t, s.pointers[1]).ID] != 80 {
		t.Errorf("by model %v", by)
	}
	second.find(t, "(this member has the partitions)")
	second.end(t)
}

// Rows deleted before they were predicted end score with their partition and offsets, and with a
// remedy that works.
func TestScoreOfATopicThatHasLostRows(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"topic", "directory"} {
		s := topicOf(t, cluster(t).ListenAddrs()[0], 60, "")
		score, group := s.score, "scorers"
		if output == "directory" {
			group = "to-lake"
			score = s.toLake(t, group, "scored", "")
		}
		s.send(t)
		succeed(t, "score", "-c", score, "--once")
		s.send(t)
		forget(t, s.address, "features", 1, 42)
		pacsgp(t, "score", "-c", score, "--once").says(t, exitFailure, `topic "features", partition 1: the offsets 30 to 41 are gone`,
			"hint: these rows had no predictions", "--group "+group+" --topic features:1 --reset-offsets --to-offset 42 --execute", "another group and another output "+output)

		own := own(t, s.address)
		w, err := own.NewWriter(t.Context(), "")
		fatal.If(t, err)
		at, _, err := own.Committed(t.Context(), group, "features", []int{0, 1})
		fatal.If(t, err)
		// What the tool does: the text next to the offset goes.
		fatal.If(t, w.CommitOffsets(t.Context(), &broker.Member{Generation: -1}, group, "features", map[int]int64{1: 42}, ""))
		succeed(t, "score", "-c", score, "--once")
		now, _, err := own.Committed(t.Context(), group, "features", []int{0, 1})
		if err != nil || now[0] != 60 || now[1] != 60 {
			t.Errorf("to a %s: the group was at %v and is at %v: %v", output, at, now, err)
		}
	}
}

// remake makes the topic with the rows again, with so many times all rows. The group keeps
// its offsets and what stands next to them, as where brokers leave them or a tool takes them
// along, unless they are gone.
func (s *aTopic) remake(t *testing.T, group string, times int, gone bool) {
	t.Helper()
	client := own(t, s.address)
	partitions := []int{0, 1}
	at, texts, err := client.Committed(t.Context(), group, "features", partitions)
	if err != nil || at[0] != 30 || at[1] != 30 {
		t.Fatalf("the group is at %v: %v", at, err)
	}
	remake(t, s.address, "features", 2)
	s.sent = 0
	for range times {
		s.send(t)
	}
	if gone {
		return
	}
	w, err := client.NewWriter(t.Context(), "")
	fatal.If(t, err)
	for _, p := range partitions {
		// Members may still be there: there is no prompt.
		if err := w.CommitOffsets(t.Context(), &broker.Member{Generation: -1}, group, "features", map[int]int64{p: at[p]}, texts[p]); err != nil && !broker.Stale(err) {
			t.Fatal(err)
		}
	}
}

// endsBy is what score ends with when something happens between two processes or, once one is
// ready, while it runs.
func endsBy(t *testing.T, score string, running bool, ready func(r *runningService), happens func()) string {
	t.Helper()
	if !running {
		succeed(t, "score", "-c", score, "--once")
		happens()
		a := pacsgp(t, "score", "-c", score, "--once")
		if a.status != exitFailure {
			t.Errorf("status %d: %s", a.status, a.stdout)
		}
		return a.message
	}
	r := startCommand(t, "score", "-c", score)
	ready(r)
	happens()
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		t.Fatalf("it goes on: %s", r.says())
	}
	if r.err == nil {
		t.Fatal("it ends without an error")
	}
	return r.err.Error()
}

// A topic that was made again under its name, while rows are predicted or between two
// processes, is not taken for the one before, whether it has as many rows, more or fewer:
// rows would be skipped. It says what to do.
func TestScoreOfATopicMadeAgain(t *testing.T) {
	for name, of := range map[string]struct {
		directory, running bool
		times              int
		gone               bool // a broker removes the offsets of a topic with it
	}{"to a topic": {times: 1}, "to a topic, without offsets": {times: 1, gone: true}, "to a topic, running": {running: true, times: 3}, "to a directory, running": {directory: true, running: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits
			s := topicOf(t, cluster(t).ListenAddrs()[0], 60, "session_timeout: 1s\n")
			score, group, output := s.score, "scorers", "topic"
			found := func() []predictedRecord { return s.found(t, "predictions") }
			if of.directory {
				group, output = "to-lake", "directory"
				score = s.toLake(t, group, "scored", "poll: 20ms\nsession_timeout: 1s\n")
				found = func() []predictedRecord { return s.foundInFiles(t, "scored") }
			}
			s.send(t)
			message := endsBy(t, score, of.running, func(*runningService) {
				client := own(t, s.address)
				within(time.Minute, func() bool {
					at, err := client.CommittedOffsets(t.Context(), group, "features", []int{0, 1})
					return err == nil && at[0] == 30 && at[1] == 30
				})
			}, func() { s.remake(t, group, of.times, of.gone) })
			want := `topic "features" is another one than`
			if of.gone {
				want = `topic "predictions" has predictions, but group "scorers" has no offsets of topic "features"`
			}
			holds(t, message, want, "it was made again", "choose another group and another output "+output)
			if n := len(found()); n != 60 {
				t.Errorf("%d predictions, want the 60 of the old rows", n)
			}
		})
	}
}

// Files say by themselves which topic they are of: another group does not go on behind
// those of a topic that was made again. Where nothing says it, as before there was a word of
// it, offsets count; and one that the topic does not have is an error that names its origin.
func TestFilesSayWhichTopic(t *testing.T) {
	t.Parallel()
	s := topicOf(t, cluster(t).ListenAddrs()[0], 60, "")
	s.send(t)
	succeed(t, "score", "-c", s.toLake(t, "first", "scored", ""), "--once")
	s.remake(t, "first", 3, false)
	second := s.toLake(t, "second", "scored", "")
	said := filepath.Join(s.dir, "scored", "_topic-features.json")
	pacsgp(t, "score", "-c", second, "--once").says(t, exitFailure, "than the one that "+said+" names")
	writeFile(t, said, []byte("{}"))
	pacsgp(t, "score", "-c", second, "--once").says(t, exitFailure, said+": it does not say which topic")
	fatal.If(t, os.Remove(said))
	succeed(t, "score", "-c", second, "--once")
	if n := len(s.foundInFiles(t, "scored")); n != 180 {
		t.Errorf("%d predictions, want those up to the end of the new topic", n)
	}
	fatal.If(t, os.Remove(said))
	remake(t, s.address, "features", 2)
	s.send(t)
	pacsgp(t, "score", "-c", s.toLake(t, "third", "scored", ""), "--once").says(t, exitFailure,
		"ends at offset 30, and the next row was to be at 90", "another output directory")
}

// unscored are records without a prediction.
var unscored = []string{"no row", `{"x1": 1, "id": "text"}`, `{"x1": 1e31, "x2": 1}`}

// deadLettersOn are the dead letters that readers of committed records see: key, value and headers.
func (s *aTopic) deadLettersOn(t *testing.T, topic string) (all []string) {
	t.Helper()
	for _, r := range committedRecords(t, s.address, topic) {
		text := fmt.Sprintf("%s %s", r.Key, r.Value)
		for _, h := range r.Headers {
			if h.Key != "pacsgp.timestamp" {
				text += fmt.Sprintf(" %s=%s", strings.TrimPrefix(h.Key, "pacsgp."), h.Value)
			}
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// lettered is a score file with dead letters to the topic NAME-dead, and its predictions: they go to a
// topic, or to files.
func (s *aTopic) lettered(t *testing.T, name string, files bool) (score string, found func() []predictedRecord) {
	t.Helper()
	createTopic(t, s.address, name+"-dead", 2)
	options := fmt.Sprintf("rejected: {to: {kafka: %s-dead}}\nsession_timeout: 1s\n", name)
	if files {
		return s.toLake(t, name, name, options), func() []predictedRecord { return s.foundInFiles(t, name) }
	}
	createTopic(t, s.address, name, 2)
	return s.file(t, name, name, options), func() []predictedRecord { return s.found(t, name) }
}

// Records of rows without a prediction are sent to the topic of dead letters as jobs send them,
// once, and are listed among the predictions all the same.
func TestScoreDeadLetters(t *testing.T) {
	t.Parallel()
	s := topicOf(t, cluster(t).ListenAddrs()[0], 60, "")
	s.send(t, unscored...)
	for name, files := range map[string]bool{"to-topic": false, "to-lake": true} {
		score, found := s.lettered(t, name, files)
		for range 2 {
			succeed(t, "score", "-c", score, "--once")
			s.agree(t, found())
			deadLetters := s.deadLettersOn(t, name+"-dead")
			for i := range deadLetters { // a record without a partition of its own may be in any
				before, after, _ := strings.Cut(deadLetters[i], " partition=")
				_, reason, _ := strings.Cut(after, " reason=")
				deadLetters[i] = before + " " + reason
			}
			want := []string{
				"more no row topic=features it is no JSON object",
				`more {"x1": 1, "id": "text"} topic=features x2 is null`,
				`more {"x1": 1e31, "x2": 1} topic=features x1 is beyond 1e30 in magnitude`,
			}
			if diff := cmp.Diff(want, deadLetters); diff != "" {
				t.Errorf("%s: dead letters (-want +got):\n%s", name, diff)
			}
		}
	}
	missing := s.file(t, "predictions", "others", "rejected: {to: {kafka: nowhere}}\n")
	pacsgp(t, "score", "-c", missing, "--once").says(t, exitFailure, `"nowhere"`)
}

// A record that the topics do not take, even compressed, stops nothing: its row has the reason, and its
// position is a dead letter; the rows behind it are predicted.
func TestScoreOfARecordThatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := topicOf(t, cluster(t).ListenAddrs()[0], 60, "")
	noise := make([]byte, 30_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	large := base64.StdEncoding.EncodeToString(noise)
	s.send(t, fmt.Sprintf(`{"x1": 0.5, "x2": 0.5, "id": %q}`, large), fmt.Sprintf(`{"x1": null, "x2": 0.5, "id": %q}`, large))
	for _, topic := range []string{"small", "small-dead"} {
		_, err := own(t, s.address).CreateTopic(t.Context(), topic, 2, -1, broker.Settings{"max.message.bytes": "20000"})
		fatal.If(t, err)
	}
	path := s.file(t, "small", "small", "rejected: {to: {kafka: small-dead}}\nsession_timeout: 1s\n")
	for range 2 {
		succeed(t, "score", "-c", path, "--once")
		found := s.found(t, "small")
		s.agree(t, found)
		reasons := 0
		for _, p := range found {
			if p.Reason != nil && strings.Contains(*p.Reason, "more than the topic small takes (max.message.bytes is 20000)") && string(p.ID) == "null" {
				reasons++
			}
		}
		deadLetters := s.deadLettersOn(t, "small-dead")
		if reasons != 1 || len(deadLetters) != 2 {
			t.Fatalf("%d rows say why, %d dead letters", reasons, len(deadLetters))
		}
		for _, letter := range deadLetters {
			if !strings.HasPrefix(letter, "  topic=features partition=") || !strings.Contains(letter, " offset=") || !strings.Contains(letter, "; the record is not here: it has 40") {
				t.Errorf("the letter is %.300s", letter)
			}
		}
	}
	missing := s.file(t, "mistyped", "mistyped", "")
	pacsgp(t, "score", "-c", missing, "--once").says(t, exitFailure, "kafka-topics.sh --create --topic mistyped")
}
