package kafkalog_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// The topics of a stream, as version 1 has written them, are read for ever, and its sequence goes on. The file has the
// records of a stream that has signed and published two windows of 180 rows.
func TestGoldenTopics(t *testing.T) {
	c, client := cluster(t)
	producer, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	fatal.If(t, err)
	defer producer.Close()
	text, err := os.ReadFile("testdata/topics.jsonl")
	fatal.If(t, err)
	for line := range strings.Lines(string(text)) {
		var r struct {
			Topic      string
			Key, Value []byte
			Headers    map[string][]byte
		}
		fatal.If(t, json.Unmarshal([]byte(line), &r))
		record := &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value}
		for key, value := range r.Headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: key, Value: value})
		}
		fatal.If(t, producer.ProduceSync(t.Context(), record).FirstErr())
	}
	sequence := kafkalog.Sequence{Client: client, Topics: topics, Name: "rows/trainers", Model: "small"}
	current, err := sequence.Current(t.Context())
	fatal.If(t, err)
	a, err := sequence.Pull(t.Context(), current.ID)
	fatal.If(t, err)
	document, err := certify.Parse(a.Document)
	fatal.If(t, err)
	m, sum, err := sink.ModelIn("the model", a.Model)
	fatal.If(t, err)
	keys, err := sign.ReadTrusted("../sign/testdata/public.pem")
	fatal.If(t, err)
	_, err = keys.Check(t.Context(), current.ID, sum, a.Signatures)
	fatal.If(t, err)
	fatal.If(t, schedule.Promotable(t.Context(), document, m, current.ID, certify.PredictorDraw))
	if s := document.Delta.Sequence; s == nil || s.Number != 2 || s.Name != sequence.Name || current.Of.Topic == "" {
		t.Errorf("current is %+v, of the topic %+v", s, current.Of)
	}
	if number, err := sequence.TakeNumber(t.Context()); err != nil || number != 3 {
		t.Errorf("the next number is %d, %v", number, err)
	}
}
