package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// sentFiles has two models, of [following], and files that are predicted to a topic.
type sentFiles struct {
	dir, address string
	pointers     [2][]byte
	want         map[string]map[string][]predicted // by certificate and name of the file, as predict makes them
}

func filesToATopic(t *testing.T, address string, files int, rows int64) *sentFiles {
	t.Helper()
	s := &sentFiles{address: address}
	s.dir, s.pointers, _ = following(t, files, rows)
	s.want = expected(t, s.dir, s.pointers)
	return s
}

// file writes a score file.
func (s *sentFiles) file(t *testing.T, topic string) string {
	t.Helper()
	path := filepath.Join(s.dir, "score-"+topic+".yaml")
	writeFile(t, path, fmt.Appendf(nil, "model: out\nsource: {paths: [new]}\nkeep: [y]\nkafka: {brokers: [%q]}\noutput: {kafka: %s}\npoll: 10ms\n", s.address, topic))
	return path
}

// A sentRecord is the prediction of a row of a file.
type sentRecord struct {
	File        string   `json:"file"`
	Row         int64    `json:"row"`
	Mean        *float64 `json:"mean"`
	Deviation   *float64 `json:"deviation"`
	Certificate *string  `json:"certificate"`
	Reason      *string  `json:"reason"`
	Y           *float64 `json:"y"`
}

// found are the predictions of each file, in the order of the topic. All of a file are in the
// partition that clients give to its path.
func (s *sentFiles) found(t *testing.T, topic string) map[string][]sentRecord {
	t.Helper()
	all := map[string][]sentRecord{}
	partitioner := kgo.StickyKeyPartitioner(nil).ForTopic(topic)
	for _, r := range committedRecords(t, s.address, topic) {
		var p sentRecord
		if err := json.Unmarshal(r.Value, &p); err != nil || string(r.Key) != p.File {
			t.Fatalf("%q: %s: %v", r.Key, r.Value, err)
		}
		if want := partitioner.Partition(r, 3); int(r.Partition) != want {
			t.Errorf("%s is in partition %d, and others put it into %d", p.File, r.Partition, want)
		}
		all[p.File] = append(all[p.File], p)
	}
	return all
}

// agree demands one prediction of each row, in their order, that is the one of the model which
// it names, and counts rows by their models.
func (s *sentFiles) agree(t *testing.T, got map[string][]sentRecord) map[string]int {
	t.Helper()
	by := map[string]int{}
	for _, want := range s.want {
		if len(got) != len(want) {
			t.Errorf("predictions of %d files, want %d", len(got), len(want))
		}
	}
	for file, rows := range got {
		name := strings.TrimSuffix(filepath.Base(file), ".parquet")
		if file != "new/"+name+".parquet" {
			t.Errorf("a file %q", file)
		}
		for i, p := range rows {
			if p.Row != int64(i) || p.Certificate == nil {
				t.Fatalf("%s: the prediction %d is %+v", file, i, p)
			}
			all := s.want[*p.Certificate][name]
			if i >= len(all) {
				t.Fatalf("%s has more than %d predictions", file, len(all))
			}
			if w := all[i]; *p.Mean != *w.Mean || *p.Deviation != *w.Deviation || p.Reason != nil || p.Y == nil {
				t.Fatalf("%s, row %d: %+v, want %v ± %v", file, i, p, *w.Mean, *w.Deviation)
			}
			by[*p.Certificate]++
		}
		for _, want := range s.want {
			if n := len(want[name]); len(rows) != n {
				t.Errorf("%s: %d predictions, want %d", file, len(rows), n)
			}
		}
	}
	return by
}

// Files are predicted to a topic as predict does it, each row once, by the model that is
// current, whatever process asks, and a new file by the model that is current then.
func TestScoreToATopic(t *testing.T) {
	t.Parallel()
	s := filesToATopic(t, seededTopics(t), 3, 40)
	createTopic(t, s.address, "predictions", 3)
	score := s.file(t, "predictions")
	said := succeed(t, "score", "-c", score, "--once")
	if want := "topic predictions: predictions of 3 new files, 120 rows, 0 of them without a prediction (member reason says why)"; !strings.Contains(said.stdout, want) {
		t.Errorf("it says %q, want %q", said.stdout, want)
	}
	if by := s.agree(t, s.found(t, "predictions")); by[idOf(t, s.pointers[0])] != 120 {
		t.Errorf("by model %v", by)
	}
	point(t, s.dir, s.pointers[1])
	pacsgp(t, "score", "-c", score, "--once").says(t, 0, "predictions of 0 new files")
	writeFile(t, filepath.Join(s.dir, "new", "later.parquet"), readFile(t, filepath.Join(s.dir, "new", "part-00.parquet")))
	s.want = expected(t, s.dir, s.pointers)
	succeed(t, "score", "-c", score, "--once")
	if by := s.agree(t, s.found(t, "predictions")); by[idOf(t, s.pointers[0])] != 120 || by[idOf(t, s.pointers[1])] != 40 {
		t.Errorf("by model %v", by)
	}
	// A file that was replaced is predicted again, which is said once.
	replaced, want := filepath.Join(s.dir, "new", "later.parquet"), `later.parquet was replaced: the predictions of its earlier content stay in topic \"predictions\"`
	table{"x1": []float64{0.5}, "x2": []float64{0.5}, "y": []float64{0}}.write(t, replaced)
	for _, times := range []int{1, 0} {
		if a := pacsgp(t, "score", "-c", score, "--once"); a.status != 0 || strings.Count(a.log, want) != times {
			t.Errorf("status %d: %s, want %d times %q", a.status, a.log, times, want)
		}
	}
	// A model about something else is refused, by later processes too.
	succeed(t, "train", "-c", tiny(jobFile{"loss": "{epsilon: 0.8}"}).write(t, s.dir))
	writeFile(t, filepath.Join(s.dir, "new", "last.parquet"), readFile(t, filepath.Join(s.dir, "new", "part-00.parquet")))
	pacsgp(t, "score", "-c", score, "--once").says(t, exitFailure, "it speaks of another target, loss, tolerance or row rules than the predictions that were made before (hint: to begin anew, choose another output topic)")
}

// A row that breaks the rules has nulls and a reason; what is kept is kept to the last digit,
// whatever its column is called; an empty file is done; and a file that cannot be read, or a
// row that the topic does not take, stops no other file.
func TestScoreOddFilesToATopic(t *testing.T) {
	s := filesToATopic(t, seededTopics(t), 1, 20)
	createTopic(t, s.address, "predictions", 3)
	type row struct {
		X1   *float64 `parquet:"x1,optional"`
		X2   float64  `parquet:"x2"`
		ID   int64    `parquet:"id"`
		Text string   `parquet:"text"`
		Odd  *int32   `parquet:"a\"b\\n\u2028: {,optional"`
	}
	write := func(name string, rows []row) {
		t.Helper()
		var file bytes.Buffer
		fatal.If(t, parquet.Write(&file, rows))
		writeFile(t, filepath.Join(s.dir, "odd", filepath.FromSlash(name)), file.Bytes())
	}
	half := 0.5
	write("day=007/b \"ü\".parquet", []row{{&half, 1, 1<<53 + 1, "é\n</x>", new(int32(7))}, {nil, 1, 2, "", nil}})
	write("day=007/empty.parquet", nil)
	write("day=008/large.parquet", []row{{&half, 1, 1, "small", nil}, {&half, 1, 2, strings.Repeat("x", 2<<20), nil}})
	writeFile(t, filepath.Join(s.dir, "odd", "a.parquet"), []byte("PAR1 and no more PAR1"))
	score := filepath.Join(s.dir, "score-odd.yaml")
	writeFile(t, score, fmt.Appendf(nil, "model: out\nsource: {paths: [odd]}\nkeep: [id, text, \"a\\\"b\\\\n\\u2028: {\", day]\nkafka: {brokers: [%q]}\noutput: {kafka: predictions}\n", s.address))
	for _, want := range []string{"predictions of 2 new files, 2 rows, 1 of them without", "predictions of 0 new files, 0 rows"} {
		// Again, the files that fail fail again, and of the others nothing is sent.
		a := pacsgp(t, "score", "-c", score, "--once")
		if a.status != exitFailure || !strings.Contains(a.message, "could not be predicted") || !strings.Contains(a.stdout, want) {
			t.Errorf("status %d, %q, %q, want %q", a.status, a.message, a.stdout, want)
		}
		if !strings.Contains(a.log, "row 1: its prediction has 2097") {
			t.Errorf("it says %q", a.log)
		}
	}
	var got []string
	for _, r := range committedRecords(t, s.address, "predictions") {
		var p map[string]any
		d := json.NewDecoder(bytes.NewReader(r.Value))
		d.UseNumber()
		if err := d.Decode(&p); err != nil {
			t.Fatalf("%s: %v", r.Value, err)
		}
		got = append(got, fmt.Sprintf("%s %v %v %v | %v %q %v %v", p["file"], p["row"], p["mean"] != nil, p["reason"], p["id"], p["text"], p["a\"b\\n\u2028: {"], p["day"]))
	}
	want := []string{
		`odd/day=007/b "ü".parquet 0 true <nil> | 9007199254740993 "é\n</x>" 7 007`,
		`odd/day=007/b "ü".parquet 1 false x1 is null | 2 "" <nil> 007`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A service goes on as files come and stops when it is asked to. A second process ends the
// first, and all rows have one prediction.
func TestScoreToATopicIsAService(t *testing.T) {
	t.Parallel()
	s := filesToATopic(t, seededTopics(t), 2, 30)
	createTopic(t, s.address, "predictions", 3)
	score := s.file(t, "predictions")
	await := func() {
		t.Helper()
		for range 2000 {
			n := 0
			for _, rows := range s.found(t, "predictions") {
				n += len(rows)
			}
			if n >= 30*len(s.want[idOf(t, s.pointers[0])]) {
				s.agree(t, s.found(t, "predictions"))
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal("the files have no predictions")
	}
	more := func(name string) {
		t.Helper()
		whole := filepath.Join(s.dir, name)
		writeFile(t, whole, readFile(t, filepath.Join(s.dir, "new", "part-00.parquet")))
		fatal.If(t, os.Rename(whole, filepath.Join(s.dir, "new", name)))
		s.want = expected(t, s.dir, s.pointers)
	}
	first := startCommand(t, "score", "-c", score)
	await()
	more("later.parquet")
	await()
	second := startCommand(t, "score", "-c", score)
	second.find(t, "(predictions go to topic)")
	more("last.parquet")
	await()
	select {
	case <-first.done:
	case <-time.After(time.Minute):
		t.Fatal("two processes predict to a topic")
	}
	if first.err == nil || !strings.Contains(first.err.Error(), "another process has begun to write") {
		t.Errorf("the first says %v", first.err)
	}
	second.end(t)
}
