package kafkalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// files opens a topic for predictions of files.
func files(ctx context.Context, client *broker.Client, topic string) (*kafkalog.FilePredictions, error) {
	return kafkalog.OpenFiles(ctx, kafkalog.FilesConfig{Client: client, Topic: topic, Told: func(string) {}})
}

// sendFile sends predictions of rows of a file up to a row.
func sendFile(t *testing.T, p *kafkalog.FilePredictions, file string, rows, to int64, done bool) {
	t.Helper()
	if err := p.Begin(t.Context(), "about", "certificate"); err != nil {
		t.Fatal(err)
	}
	objects := make([][]byte, rows)
	for i := range objects {
		objects[i] = fmt.Appendf(nil, `{"file":%q,"row":%d}`, file, to-rows+int64(i))
	}
	parcel, err := p.Pack(file, objects)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Send(t.Context(), parcel); err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(t.Context(), map[string]kafkalog.Progress{kafkalog.FileKey(file, "digest"): {File: file, Rows: to, Done: done}}); err != nil {
		t.Fatal(err)
	}
}

// What is committed is remembered by the next process, also that a file is not done, and what
// is not committed never was.
func TestFilesAreRemembered(t *testing.T) {
	_, client := cluster(t)
	if _, err := client.CreateTopic(t.Context(), "predictions", 3, 1, nil); err != nil {
		t.Fatal(err)
	}
	first, err := files(t.Context(), client, "predictions")
	if err != nil || first.About() != "" {
		t.Fatal(first.About(), err)
	}
	sendFile(t, first, "a", 3, 3, false)
	sendFile(t, first, "b", 5, 5, true)
	sendFile(t, first, "a", 4, 7, true)
	sendFile(t, first, "c", 2, 2, false)
	parcel, err := first.Pack("lost", [][]byte{[]byte("lost")})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Send(t.Context(), parcel); err != nil {
		t.Fatal(err)
	}
	second, err := files(t.Context(), client, "predictions")
	if err != nil || second.About() != "about" || second.Files() != 2 {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"a": "7 true", "b": "5 true", "c": "2 false", "lost": "0 false"} {
		rows, done := second.Progress(kafkalog.FileKey(file, "digest"))
		if got := fmt.Sprint(rows, done); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
	if err := first.Commit(t.Context(), map[string]kafkalog.Progress{"lost digest": {Rows: 1, Done: true}}); !broker.Fenced(err) {
		t.Errorf("the first process commits behind the second: %v", err)
	}
	if err := second.Abort(t.Context()); err != nil {
		t.Error(err)
	}
	if n := len(countedAt(t, client.Kafka.Addr.String(), "predictions")); n != 14 {
		t.Errorf("%d predictions, want 14", n)
	}
}

// A record that is not whole, or is of another topic, is refused.
func TestRecordOfFilesIsWhole(t *testing.T) {
	remove := func(t *testing.T, admin *kgo.Client, client *broker.Client, topic string, partitions int) {
		t.Helper()
		r, one := kmsg.NewPtrDeleteTopicsRequest(), kmsg.NewDeleteTopicsRequestTopic()
		one.Topic = &topic
		r.Topics, r.TopicNames = append(r.Topics, one), []string{topic}
		if answer, err := r.RequestWith(t.Context(), admin); err != nil || answer.Topics[0].ErrorCode != 0 {
			t.Fatalf("%+v: %v", answer, err)
		}
		if partitions > 0 {
			if _, err := client.CreateTopic(t.Context(), topic, partitions, 1, broker.Settings{"cleanup.policy": "compact"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	put := func(t *testing.T, client *broker.Client, key string, value any) {
		t.Helper()
		w, err := client.NewWriter(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Send(t.Context(), "p-files", 0, broker.Record{Key: []byte(key), Value: text}); err != nil {
			t.Fatal(err)
		}
	}
	type object = map[string]any
	for name, c := range map[string]struct {
		spoil func(t *testing.T, admin *kgo.Client, client *broker.Client)
		says  string
	}{
		"nothing":            {func(*testing.T, *kgo.Client, *broker.Client) {}, ""},
		"the record is gone": {func(t *testing.T, a *kgo.Client, c *broker.Client) { remove(t, a, c, "p-files", 0) }, `it is empty, and topic "p" is not`},
		"the record is anew": {func(t *testing.T, a *kgo.Client, c *broker.Client) { remove(t, a, c, "p-files", 1) }, `it is empty, and topic "p" is not`},
		"the topic is anew":  {func(t *testing.T, a *kgo.Client, c *broker.Client) { remove(t, a, c, "p", 0); create(t, c, "p") }, `topic "p" is another one than the one whose record is in topic "p-files"`},
		"a file is missing": {func(t *testing.T, _ *kgo.Client, c *broker.Client) {
			put(t, c, "x digest", object{"format": "pacsgp-scored/1", "number": 4})
		}, "some are missing"},
		"a number is there": {func(t *testing.T, _ *kgo.Client, c *broker.Client) {
			put(t, c, "x digest", object{"format": "pacsgp-scored/1", "number": 2})
		}, "some are missing"},
		"more than there are": {func(t *testing.T, _ *kgo.Client, c *broker.Client) {
			put(t, c, "x digest", object{"format": "pacsgp-scored/1", "number": 3, "rows": 100})
		}, "was never given so many"},
		"another format": {func(t *testing.T, _ *kgo.Client, c *broker.Client) {
			put(t, c, "x digest", object{"format": "pacsgp-scored/2", "number": 3})
		}, "none of format pacsgp-scored/1"},
		"a tombstone": {func(t *testing.T, _ *kgo.Client, c *broker.Client) { put(t, c, "a digest", nil) }, "none of format pacsgp-scored/1"},
		"of another topic": {func(t *testing.T, _ *kgo.Client, c *broker.Client) {
			put(t, c, "predictions", object{"format": "pacsgp-scored/1", "topic": "q", "about": "x"})
		}, `it is that of topic "q"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, client := cluster(t)
			admin, err := kgo.NewClient(kgo.SeedBrokers(client.Kafka.Addr.String()))
			if err != nil {
				t.Fatal(err)
			}
			defer admin.Close()
			create(t, client, "p")
			p, err := files(t.Context(), client, "p")
			if err != nil {
				t.Fatal(err)
			}
			sendFile(t, p, "a", 3, 3, true)
			sendFile(t, p, "b", 3, 3, true)
			c.spoil(t, admin, client)
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
		if _, err := client.CreateTopic(t.Context(), topic, 1, 1, settings); err != nil {
			t.Fatal(err)
		}
	}
	create(t, client, "other")
	for topic, want := range map[string]string{"compacted": "of each file one prediction would be left", "other": "want compact", "none": broker.ErrNoTopic.Error()} {
		if _, err := files(t.Context(), client, topic); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", topic, err, want)
		}
	}
}

func create(t *testing.T, client *broker.Client, topic string) {
	t.Helper()
	if _, err := client.CreateTopic(t.Context(), topic, 3, 1, nil); err != nil {
		t.Fatal(err)
	}
}
