package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// toLake writes a score file from the topic to files.
func (s *aTopic) toLake(t *testing.T, group, folder, options string) string {
	t.Helper()
	path := filepath.Join(s.dir, "score-"+group+".yaml")
	writeFile(t, path, fmt.Appendf(nil, "model: out\nkafka: {brokers: [%q]}\nsource: {kafka: {topic: features, group: %s}}\npassthrough: [id]\noutput: %s\n%s", s.address, group, folder, options))
	return path
}

// foundInFiles are the predictions in the files of a folder, in the order of their names.
func (s *aTopic) foundInFiles(t *testing.T, folder string) []predictedRecord {
	t.Helper()
	var all []predictedRecord
	for _, path := range found(t, s.dir, folder, "*.parquet") {
		rows, err := parquet.ReadFile[struct {
			Row         int64    `parquet:"row"`
			Mean        *float64 `parquet:"mean,optional"`
			Deviation   *float64 `parquet:"deviation,optional"`
			Certificate *string  `parquet:"certificate,optional"`
			Reason      *string  `parquet:"reason,optional"`
			Partition   int32    `parquet:"partition,optional"`
			Offset      int64    `parquet:"offset,optional"`
			Key         []byte   `parquet:"key,optional"`
			ID          *string  `parquet:"id,optional"`
		}](path)
		if err != nil || len(rows) == 0 {
			t.Fatalf("%s: %d rows, %v", path, len(rows), err)
		}
		var partition int
		var first, end int64
		if _, err := fmt.Sscanf(filepath.Base(path), "part-features-%d-%d-%d.parquet", &partition, &first, &end); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, r := range rows {
			if int(r.Partition) != partition || r.Offset < first || r.Offset >= end {
				t.Errorf("%s has partition %d, offset %d", path, r.Partition, r.Offset)
			}
			p := predictedRecord{Partition: int(r.Partition), Offset: r.Offset, Row: r.Row, Mean: r.Mean, Deviation: r.Deviation, Certificate: r.Certificate, Reason: r.Reason, key: string(r.Key)}
			if r.ID != nil {
				p.ID = json.RawMessage(*r.ID)
			}
			all = append(all, p)
		}
	}
	return all
}

// Rows of a topic are predicted as predict does it, to a topic or to files, each once, by the model that is current;
// what is kept is kept to the last digit, and a record that is no row has a reason.
func TestScoreOfATopic(t *testing.T) {
	t.Parallel()
	s := topicOf(t, cluster(t).ListenAddrs()[0], 60, "")
	s.send(t, "no row", `{"x1": 1, "id": "text"}`, `{"x1": "text", "x2": 1}`)
	lake := s.toLake(t, "first", "lake-of-topic", "")
	found := map[string]func() []predictedRecord{
		s.score: func() []predictedRecord { return s.found(t, "predictions") }, lake: func() []predictedRecord { return s.foundInFiles(t, "lake-of-topic") },
	}
	for score, found := range found {
		pacsgp(t, "score", "-c", score, "--once").says(t, 0, "predictions of 63 rows, 3 without one")
		all := found()
		if by := s.agree(t, all); by[pointed(t, s.pointers[0]).ID] != 60 {
			t.Errorf("by model %v", by)
		}
		null := map[string]string{s.score: "null"}[score]
		want := []string{
			"it is no JSON object " + null + " true true", `x2 is null "text" true true`,
			`column "x1" is the text "text"; numbers, true, false and times as in 2026-01-31T12:00:00Z are read ` + null + " true true",
		}
		if diff := cmp.Diff(want, reasonsOf(all)); diff != "" {
			t.Error(diff)
		}
	}
	// A new champion predicts what comes, and nothing again; to files whatever group asks, behind those that stand.
	point(t, s.dir, s.pointers[1])
	s.send(t)
	second := s.toLake(t, "second", "lake-of-topic", "poll: 1ms\n")
	for score, found := range map[string]func() []predictedRecord{s.score: found[s.score], second: found[lake]} {
		succeed(t, "score", "-c", score, "--once")
		if by := s.agree(t, found()); by[pointed(t, s.pointers[0]).ID] != 60 || by[pointed(t, s.pointers[1]).ID] != 60 {
			t.Errorf("by model %v", by)
		}
	}
	// A group goes on where it was when somebody has moved its files elsewhere.
	for _, name := range names(t, filepath.Join(s.dir, "lake-of-topic")) {
		if strings.HasSuffix(name, ".parquet") {
			fatal.If(t, os.Remove(filepath.Join(s.dir, "lake-of-topic", name)))
		}
	}
	succeed(t, "score", "-c", second, "--once")
	if left := s.foundInFiles(t, "lake-of-topic"); len(left) > 0 {
		t.Errorf("%d rows are predicted again", len(left))
	}
	// What these predictions are about is kept: a model about something else is refused.
	succeed(t, "train", "-c", tiny(jobFile{"loss": "{epsilon: 0.8}"}).write(t, s.dir))
	s.send(t)
	pacsgp(t, "score", "-c", second, "--once").says(t, exitFailure, "loss or tolerance differ")
}

// Killed before, after and within each operation on files, and run again by the group or
// by another one, each row has one prediction.
func TestScoreOfATopicToALakeKilled(t *testing.T) {
	t.Parallel()
	repeats(t)
	s := topicOf(t, cluster(t).ListenAddrs()[0], 40, "")
	s.send(t)
	s.send(t)
	rng := rand.New(rand.NewPCG(8, 2))
	kills := 0
	for _, how := range []string{howBefore, howAfter, howHalf} {
		survived := false
		for at := 1; !survived; at++ {
			if !*soak && rng.IntN(12) > 0 {
				if at > 60 {
					break
				}
				continue // a few, by a seed
			}
			name := fmt.Sprintf("%s%d", how, at)
			score := s.toLake(t, name, name, "session_timeout: 1s\npoll: 1ms\n")
			survived, _ = dies(t, order{Args: []string{"score", "-c", score, "--once"}, At: at, How: how})
			kills++
			again := score
			if kills%2 == 0 { // the files alone say how far it is
				again = s.toLake(t, name+"-again", name, "")
			}
			succeed(t, "score", "-c", again, "--once")
			s.agree(t, s.foundInFiles(t, name))
			if left := slices.DeleteFunc(names(t, filepath.Join(s.dir, name)), func(name string) bool {
				return !strings.HasSuffix(name, ".tmp")
			}); len(left) > 0 {
				t.Errorf("%s: %q are left over", name, left)
			}
			if t.Failed() {
				t.Fatal("killed: ", name)
			}
		}
	}
	if kills < 4 {
		t.Errorf("only %d kills", kills)
	}
}
