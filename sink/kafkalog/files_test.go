package kafkalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/pipeline/score/scoretest"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// files opens a topic for predictions of files.
func files(ctx context.Context, client *broker.Client, topic string) (*kafkalog.FilePredictions, error) {
	return kafkalog.OpenFiles(ctx, kafkalog.FilesConfig{Client: client, Topic: topic, Told: func(string) {}})
}

// aPiece is predictions of rows of a file up to a row; done says that these were its last ones.
func aPiece(file string, rows, to int64, done bool) score.Piece[score.Columns[parquet.Node, parquet.Value]] {
	by := &score.Predictor{Artifact: score.Artifact{ID: "certificate"}, Subject: "about"}
	return score.Piece[score.Columns[parquet.Node, parquet.Value]]{
		File: score.File{Path: file, Name: file, Digest: "digest"}, By: by, First: to - rows, Last: done,
		Predict: func(_ context.Context, use func([]pipeline.Prediction, score.Columns[parquet.Node, parquet.Value]) error) error {
			batch := make([]pipeline.Prediction, rows)
			for i := range batch {
				batch[i].Ordinal = to - rows + int64(i)
			}
			return use(batch, score.Columns[parquet.Node, parquet.Value]{})
		},
	}
}

// put sends predictions of rows of a file up to a row.
func put(t *testing.T, p *kafkalog.FilePredictions, file string, rows, to int64, done bool) {
	t.Helper()
	send, _, err := p.Pack(t.Context(), aPiece(file, rows, to, done))
	if err == nil {
		err = send(t.Context())
	}
	fatal.If(t, err)
}

// sendFile does so for good.
func sendFile(t *testing.T, p *kafkalog.FilePredictions, file string, rows, to int64, done bool) {
	t.Helper()
	put(t, p, file, rows, to, done)
	fatal.If(t, p.Commit(t.Context()))
}

// What is committed is remembered by the next process, also that a file is not done, and what
// is not committed never was.
func TestFilesAreRemembered(t *testing.T) {
	_, client := cluster(t)
	create(t, client, "predictions", 3, nil)
	first, err := files(t.Context(), client, "predictions")
	if err != nil || first.About() != "" {
		t.Fatal(first.About(), err)
	}
	sendFile(t, first, "a", 3, 3, false)
	sendFile(t, first, "b", 5, 5, true)
	sendFile(t, first, "a", 4, 7, true)
	sendFile(t, first, "c", 2, 2, false)
	put(t, first, "lost", 1, 1, true)
	second, err := files(t.Context(), client, "predictions")
	if err != nil || second.About() != "about" || second.Files() != 2 {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"a": "1 true", "b": "3 true", "c": "6 false", "lost": "8 false"} { // of eight rows, those that are left
		_, n, err := second.Pack(t.Context(), aPiece(file, 8, 8, false))
		done, _ := second.Has(score.File{Name: file, Digest: "digest"})
		if got := fmt.Sprint(n.Rows, done); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", file, got, err, want)
		}
	}
	if err := first.Commit(t.Context()); !broker.Fenced(err) {
		t.Errorf("the first process commits behind the second: %v", err)
	}
	if err := second.Abort(t.Context()); err != nil {
		t.Error(err)
	}
	if n := len(countedAt(t, client.Kafka.Addr.String(), "predictions", 14)); n != 14 {
		t.Errorf("%d predictions, want 14", n)
	}
}

// Predictions of files are there once.
func TestFilesContract(t *testing.T) {
	type columns = score.Columns[parquet.Node, parquet.Value]
	_, client := cluster(t)
	create(t, client, "predictions", 3, nil)
	open := func(t *testing.T) (scoretest.FileWriter[columns], func()) {
		p, err := files(t.Context(), client, "predictions")
		fatal.If(t, err)
		return p, func() {
			if err := p.Abort(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	scoretest.TestFileWriter(t, false, open, func(int) columns { return columns{} }, func(t *testing.T, f score.File) (numbers []int64) {
		partitions := []int{0, 1, 2}
		ends, err := client.Offsets(t.Context(), "predictions", partitions, broker.Latest)
		fatal.If(t, err)
		for _, p := range partitions {
			err := client.Read(t.Context(), broker.Range{Topic: "predictions", Partition: p, End: ends[p]}, func(r *broker.Record) error {
				var row struct {
					File string
					Row  int64
				}
				if err := json.Unmarshal(r.Value, &row); err != nil {
					return err
				}
				if row.File == f.Name {
					numbers = append(numbers, row.Row)
				}
				return nil
			})
			fatal.If(t, err)
		}
		return numbers
	})
}

// A record that is not whole, or is of another topic, is refused.
func TestRecordOfFilesIsWhole(t *testing.T) {
	remove := func(t *testing.T, client *broker.Client, topic string, partitions int) {
		t.Helper()
		brokertest.DeleteTopic(t, client.Kafka.Addr.String(), topic)
		if partitions > 0 {
			create(t, client, topic, partitions, broker.Settings{"cleanup.policy": "compact"})
		}
	}
	put := func(t *testing.T, client *broker.Client, key string, value any) {
		t.Helper()
		w, err := client.NewWriter(t.Context(), "")
		fatal.If(t, err)
		text, err := json.Marshal(value)
		fatal.If(t, err)
		fatal.If(t, w.Send(t.Context(), "p-files", 0, broker.Record{Key: []byte(key), Value: text}))
	}
	type object = map[string]any
	for name, c := range map[string]struct {
		spoil func(t *testing.T, client *broker.Client)
		says  string
	}{
		"nothing":            {func(*testing.T, *broker.Client) {}, ""},
		"the record is gone": {func(t *testing.T, c *broker.Client) { remove(t, c, "p-files", 0) }, `it is empty, and topic "p" is not`},
		"the record is anew": {func(t *testing.T, c *broker.Client) { remove(t, c, "p-files", 1) }, `it is empty, and topic "p" is not`},
		"the topic is anew":  {func(t *testing.T, c *broker.Client) { remove(t, c, "p", 0); create(t, c, "p", 3, nil) }, `topic "p" is another one than the one whose record is in topic "p-files"`},
		"a file is missing": {func(t *testing.T, c *broker.Client) {
			put(t, c, "x digest", object{"format": "pacsgp-scored/1", "number": 4})
		}, "some are missing"},
		"a number is there": {func(t *testing.T, c *broker.Client) {
			put(t, c, "x digest", object{"format": "pacsgp-scored/1", "number": 2})
		}, "some are missing"},
		"more than there are": {func(t *testing.T, c *broker.Client) {
			put(t, c, "x digest", object{"format": "pacsgp-scored/1", "number": 3, "rows": 100})
		}, "was never given so many"},
		"another format": {func(t *testing.T, c *broker.Client) {
			put(t, c, "x digest", object{"format": "pacsgp-scored/2", "number": 3})
		}, "none of format pacsgp-scored/1"},
		"a tombstone": {func(t *testing.T, c *broker.Client) { put(t, c, "a digest", nil) }, "none of format pacsgp-scored/1"},
		"of another topic": {func(t *testing.T, c *broker.Client) {
			put(t, c, "predictions", object{"format": "pacsgp-scored/1", "topic": "q", "about": "x"})
		}, `it is that of topic "q"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, client := cluster(t)
			create(t, client, "p", 3, nil)
			p, err := files(t.Context(), client, "p")
			fatal.If(t, err)
			sendFile(t, p, "a", 3, 3, true)
			sendFile(t, p, "b", 3, 3, true)
			c.spoil(t, client)
			_, err = files(t.Context(), client, "p")
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, want %q", err, c.says)
			}
			if c.says != "" && !errors.Is(err, kafkalog.ErrRecord) && !errors.Is(err, broker.ErrAnother) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Topics that would lose what is sent to them are refused.
func TestTopicsOfFilesKeep(t *testing.T) {
	_, client := cluster(t)
	for topic, settings := range map[string]broker.Settings{"compacted": {"cleanup.policy": "compact"}, "other-files": {"cleanup.policy": "delete"}} {
		create(t, client, topic, 1, settings)
	}
	create(t, client, "other", 3, nil)
	for topic, want := range map[string]string{"compacted": "of each file one prediction would be left", "other": "want compact", "none": broker.ErrNoTopic.Error()} {
		if _, err := files(t.Context(), client, topic); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", topic, err, want)
		}
	}
}

func create(t *testing.T, client *broker.Client, topic string, partitions int, settings broker.Settings) {
	t.Helper()
	_, err := client.CreateTopic(t.Context(), topic, partitions, 1, settings)
	fatal.If(t, err)
}
