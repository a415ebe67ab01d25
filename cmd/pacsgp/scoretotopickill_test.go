package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Each transaction of these tests has a batch or two of rows, of which a file has some.
const (
	sentTogether = 800
	rowsOfAFile  = 2000
	rowsOfABatch = 400 // those of a row group
)

// batchesToATopic has two files of several batches each.
func batchesToATopic(t *testing.T, address string) *sentFiles {
	t.Helper()
	s := &sentFiles{address: address}
	s.dir, s.pointers, _ = following(t, 2, rowsOfAFile)
	for i := range 2 {
		columns, rows := smallRows(t).Rows(int64(1000+rowsOfAFile*i), rowsOfAFile), make([]map[string]float64, rowsOfAFile)
		for k := range rows {
			rows[k] = map[string]float64{"x1": columns[0][k], "x2": columns[1][k], "y": columns[2][k]}
		}
		var file bytes.Buffer
		schema := parquet.NewSchema("rows", parquet.Group{"x1": parquet.Leaf(parquet.DoubleType), "x2": parquet.Leaf(parquet.DoubleType), "y": parquet.Leaf(parquet.DoubleType)})
		w := parquet.NewGenericWriter[map[string]float64](&file, schema, parquet.MaxRowsPerRowGroup(rowsOfABatch))
		_, err := w.Write(rows)
		fatal.If(t, errors.Join(err, w.Close()))
		writeFile(t, filepath.Join(s.dir, "new", fmt.Sprintf("part-%02d.parquet", i)), file.Bytes())
	}
	s.want = expected(t, s.dir, s.pointers)
	return s
}

// Killed when it has sent a request that changes something on the cluster, and the broker has
// got it or not, and started again while the pointer moves, each row has one prediction, in
// the order of its file, also where the next process goes on within one.
func TestScoreToATopicKilledAtEveryRequest(t *testing.T) {
	t.Parallel()
	repeats(t)
	c := cluster(t)
	s := batchesToATopic(t, c.ListenAddrs()[0])
	at := requestsOf(c)
	createTopic(t, s.address, "whole", 3)
	if log, err := child(t, order{Args: []string{"score", "-c", s.file(t, "whole"), "--once"}, Sent: sentTogether}).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, log)
	}
	s.agree(t, s.found(t, "whole"))
	all := at.sent
	if len(all) < 20 {
		t.Fatalf("it sends %v", all)
	}
	mixed := 0 // files of which one process has sent a part, and another the rest
	for round, n := range some(len(all), 12) {
		for _, reaches := range []bool{false, true} {
			topic := fmt.Sprintf("at%d-%v", n, reaches)
			createTopic(t, s.address, topic, 3)
			score := s.file(t, topic)
			point(t, s.dir, s.pointers[0])
			run := child(t, order{Args: []string{"score", "-c", score, "--once"}, Sent: sentTogether})
			at.kill(run, n, reaches)
			log, err := run.CombinedOutput()
			at.none()
			if !killed(err) {
				t.Fatalf("killed at request %d (%s): %v: %s", n, all[n-1].Name(), err, log)
			}
			point(t, s.dir, s.pointers[round%2])
			succeed(t, "score", "-c", score, "--once")
			succeed(t, "score", "-c", score, "--once") // and nothing is left
			found := s.found(t, topic)
			s.agree(t, found)
			for _, rows := range found {
				if *rows[0].Certificate != *rows[len(rows)-1].Certificate {
					mixed++
				}
			}
			if t.Failed() {
				t.Fatalf("killed at request %d (%s), which reaches the broker: %v", n, all[n-1].Name(), reaches)
			}
		}
	}
	if mixed == 0 {
		t.Error("no process went on within a file")
	}
}

// The same on Apache Kafka, at any requests; and while one process is at work, another one
// begins, and ends it.
func TestScoreToATopicKilled(t *testing.T) {
	t.Parallel()
	_, gate := brokertest.StartGated(t, brokertest.Options{})
	gate.Tell(func(int16) {})
	s := batchesToATopic(t, gate.Address)
	score := func(name string) order {
		createTopic(t, gate.Address, name, 3)
		return order{Args: []string{"score", "-c", s.file(t, name), "--once"}, Sent: sentTogether}
	}
	var seen atomic.Int32
	whole := score("whole")
	gate.Tell(func(int16) { seen.Add(1) })
	if log, err := child(t, whole).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, log)
	}
	requests := int(seen.Load())
	gate.Tell(func(int16) {})
	s.agree(t, s.found(t, "whole"))

	rng := rand.New(rand.NewPCG(7, 6))
	for round, at := range some(requests, max(1, requests/10)) {
		name := fmt.Sprintf("killed%d", at)
		again := score(name)
		alive := round%6 == 0 // it waits for the broker, while the next one begins
		point(t, s.dir, s.pointers[0])
		run := child(t, again)
		reached, ended, free := runTo(t, gate, run, at, round%2 > 0)
		if reached && !alive {
			time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond) // a moment of the kill, drawn at random: nothing is waited for
			_ = run.Process.Kill()
			<-ended
		}
		gate.Tell(func(int16) {})
		if !alive {
			free()
		}
		point(t, s.dir, s.pointers[round%2])
		a := pacsgp(t, again.Args...)
		if alive {
			free()
			<-ended
			for try := 0; try < 5 && strings.Contains(a.message, "another process has begun"); try++ { // it has ended this one
				a = pacsgp(t, again.Args...)
			}
		}
		a.says(t, 0)
		if s.agree(t, s.found(t, name)); t.Failed() {
			t.Fatalf("killed at request %d of %d", at, requests)
		}
	}
}

// A topic that was made anew, or its record, while files are predicted or between two
// processes, is an error that says what to do, and nothing is predicted.
func TestScoreToATopicMadeAnew(t *testing.T) {
	for _, what := range []string{"predictions", "predictions-files"} {
		for _, running := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, running %v", what, running), func(t *testing.T) {
				t.Parallel() // it waits
				s := filesToATopic(t, seededTopics(t), 2, 20)
				createTopic(t, s.address, "predictions", 3)
				score := s.file(t, "predictions")
				ready := func(r *runningService) { r.find(t, "(part-01.parquet: predictions of 20 rows)") }
				message := endsBy(t, score, running, ready, func() {
					s.agree(t, s.found(t, "predictions"))
					remake(t, s.address, what, 3)
					writeFile(t, filepath.Join(s.dir, "new", "later.parquet"), readFile(t, filepath.Join(s.dir, "new", "part-00.parquet")))
				})
				wants := []string{fmt.Sprintf("topic %q is another one than", what), "choose another output topic"}
				if what == "predictions-files" && !running {
					wants[0] = `topic "predictions-files" has cleanup.policy=delete, want compact`
					wants = wants[:1]
				}
				for _, want := range wants {
					if !strings.Contains(message, want) {
						t.Errorf("it says %q, want %q", message, want)
					}
				}
				if n := len(s.found(t, what)); what == "predictions" && n > 0 {
					t.Errorf("%d files have predictions in the new topic", n)
				}
			})
		}
	}
}
