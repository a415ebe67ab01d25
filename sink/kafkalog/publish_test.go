package kafkalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/stream"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// topics are those of the default names.
var topics = kafkalog.TopicsOf("")

// A cluster is a broker in this process with the topics.
func cluster(t *testing.T) (*kfake.Cluster, *broker.Client) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	fatal.If(t, err)
	t.Cleanup(c.Close)
	client := newClient(t, 20*time.Second, c.ListenAddrs()...)
	fatal.If(t, kafkalog.Create(t.Context(), client, topics, 3, 1, func(string, bool) {}))
	return c, client
}

// begin begins to publish under the name m.
func begin(t *testing.T, client *broker.Client) *kafkalog.Publication {
	t.Helper()
	p, err := kafkalog.Begin(t.Context(), kafkalog.Config{Client: client, Topics: topics, Name: "m"})
	fatal.If(t, err)
	return p
}

// counted reads what a transactional consumer sees of a topic, with another client: so many records, and
// what else comes soon after.
func counted(t *testing.T, address, topic string, want int) (keys []string) {
	t.Helper()
	consumer, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	fatal.If(t, err)
	defer consumer.Close()
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); {
		ctx, cancel := context.WithDeadline(t.Context(), until)
		found := consumer.PollFetches(ctx)
		cancel()
		found.EachRecord(func(r *kgo.Record) { keys = append(keys, string(r.Key)) })
		if found.NumRecords() > 0 && len(keys) >= want {
			until = time.Now().Add(300 * time.Millisecond) // for one too many
		}
	}
	return keys
}

// TestLostAcknowledgements: records whose acknowledgements are lost are stored once.
func TestLostAcknowledgements(t *testing.T) {
	c, client := cluster(t)
	rng := rand.New(rand.NewPCG(7, 8))
	model := make([]byte, 3<<20)
	for i := range model {
		model[i] = byte(rng.Uint32())
	}
	p := begin(t, client)
	// The broker stores the batch and says that it took too long.
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.RequestTimedOut, Count: 4})
	fatal.If(t, p.PutBytes(t.Context(), stream.Artifact{Document: []byte("{}"), Model: model}))
	fatal.If(t, p.Commit(t.Context()))
	if got := counted(t, c.ListenAddrs()[0], "pacsgp-models", 6); len(got) != 6 {
		t.Errorf("%d pieces of the model, want 6: %q", len(got), got)
	}
	if got := counted(t, c.ListenAddrs()[0], "pacsgp-certificates", 1); len(got) != 1 {
		t.Errorf("%d certificates, want 1", len(got))
	}
}

// TestUnfinishedIsNotSeen: what was sent in a transaction that was not committed is
// never seen, and the next process of the name ends it.
func TestUnfinishedIsNotSeen(t *testing.T) {
	c, client := cluster(t)
	a := stream.Artifact{Document: []byte("{}"), Model: bytes.Repeat([]byte("m"), 100)}
	first := begin(t, client)
	fatal.If(t, first.PutBytes(t.Context(), a))
	second := begin(t, client) // as after a crash
	fatal.If(t, second.PutBytes(t.Context(), a))
	fatal.If(t, second.Commit(t.Context()))
	if err := first.Commit(t.Context()); err == nil || !strings.Contains(err.Error(), "another process has begun") {
		t.Errorf("the first process commits after the second one has begun: %v", err)
	}
	if got := counted(t, c.ListenAddrs()[0], "pacsgp-certificates", 1); len(got) != 1 {
		t.Errorf("%d certificates, want 1", len(got))
	}
}

// TestTopicsThatLose: topics that would lose what is sent are refused.
func TestTopicsThatLose(t *testing.T) {
	_, client := cluster(t)
	create(t, client, "short", 1, broker.Settings{"cleanup.policy": "delete", "retention.ms": "1000"})
	for i := range 3 {
		topics := topics
		*[]*string{&topics.Certificates, &topics.Models, &topics.Current}[i] = "short"
		_, err := kafkalog.Begin(t.Context(), kafkalog.Config{Client: client, Topics: topics, Name: "m"})
		if err == nil || !strings.Contains(err.Error(), `"short" has`) {
			t.Errorf("%+v: %v, want a refusal", topics, err)
		}
	}
	if _, err := kafkalog.Current(t.Context(), client, topics, "none"); !errors.Is(err, kafkalog.ErrNotFound) {
		t.Errorf("pointer of a name that is not there: %v", err)
	}
}

// TestRecordsOfTheFormats: an artifact and a pointer are read from records as docs/reference/formats.md
// has them, no matter who has sent them.
func TestRecordsOfTheFormats(t *testing.T) {
	c, client := cluster(t)
	document, err := os.ReadFile("../../cmd/pacsgp/testdata/corpus/window/certificate.json")
	fatal.If(t, err)
	model, err := os.ReadFile("../../cmd/pacsgp/testdata/corpus/window/model.parquet")
	fatal.If(t, err)
	id, digest := digest.Of(document), digest.Of(model)
	pointer := fmt.Sprintf(`{"format":"pacsgp-pointer/1","name":"m","certificate":%q,"model":%q,"predictor":"draw","status":"certified","bound":0.25,`+
		`"segments":[{"topic":"rows","partition":1,"first":0,"end":9,"rows":8}],"source":{"cluster":"c","topic":"t"}}`, id, digest)
	producer, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	fatal.If(t, err)
	defer producer.Close()
	piece := func(i, count string, data []byte) *kgo.Record {
		return &kgo.Record{Topic: "pacsgp-models", Key: []byte(digest + "/" + i), Value: data, Headers: []kgo.RecordHeader{{Key: "number", Value: []byte(i)}, {Key: "count", Value: []byte(count)}, {Key: "sha256", Value: []byte(digest)}}}
	}
	for i := range 10 { // others claim many pieces
		fatal.If(t, producer.ProduceSync(t.Context(), piece("0", strconv.Itoa(1<<20-i), nil)).FirstErr())
	}
	fatal.If(t, producer.ProduceSync(t.Context(), piece("0", "2", model[:1000]), piece("1", "2", model[1000:]),
		&kgo.Record{Topic: "pacsgp-certificates", Key: []byte(id), Value: document}, &kgo.Record{Topic: "pacsgp-current", Key: []byte("m"), Value: []byte(pointer)}).FirstErr())
	var a stream.Artifact
	allocated.Within(t, 64<<20, func() { a, err = kafkalog.Pull(t.Context(), client, topics, id) })
	if err != nil || !bytes.Equal(a.Document, document) || !bytes.Equal(a.Model, model) {
		t.Errorf("%d and %d bytes, %v", len(a.Document), len(a.Model), err)
	}
	p, err := kafkalog.Current(t.Context(), client, topics, "m")
	fatal.If(t, err)
	if again, err := json.Marshal(p); err != nil || string(again) != pointer {
		t.Errorf("%s, %v", again, err)
	}
}

// TestClocksThatJump: the pointer that was moved last is the current one, also where anyone who
// moved it before had a clock that was an hour ahead.
func TestClocksThatJump(t *testing.T) {
	c, client := cluster(t)
	producer, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("pacsgp-current"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	fatal.If(t, err)
	defer producer.Close()
	now := time.Now()
	for i, ahead := range []time.Duration{0, time.Hour, -time.Hour, 0} {
		id := strings.Repeat(strconv.Itoa(i), 64)
		value := fmt.Appendf(nil, `{"format":%q,"name":"m","certificate":%q}`, kafkalog.PointerFormat, id)
		fatal.If(t, producer.ProduceSync(t.Context(), &kgo.Record{Partition: 2, Key: []byte("m"), Value: value, Timestamp: now.Add(ahead)}).FirstErr())
		if p, err := kafkalog.Current(t.Context(), client, topics, "m"); err != nil || p.Certificate != id {
			t.Errorf("the pointer that was moved with a clock %v ahead is not current, but %+v (%v)", ahead, p, err)
		}
	}
}

// TestPointerSaysWhatIsRequired: status and bound of a pointer are those of the required predictor, by
// the rule for the pointer of an output.
func TestPointerSaysWhatIsRequired(t *testing.T) {
	_, client := cluster(t)
	c := certify.Certificate{Claims: []certify.Claim{
		{ID: "a", Predictor: certify.PredictorMean, Status: certify.StatusVacuous, Bound: 0.5598},
		{ID: "b", Predictor: certify.PredictorMean, Status: certify.StatusCertified, Bound: 0.152},
		{ID: "c", Predictor: certify.PredictorDraw, Status: certify.StatusCertified, Bound: 0.2799},
	}}
	document, err := certify.Marshal(c)
	fatal.If(t, err)
	for required, want := range map[certify.Predictor]kafkalog.Pointer{
		"": {Predictor: "prediction", Status: "certified", Bound: 0.152}, certify.PredictorMean: {Predictor: "prediction", Status: "certified", Bound: 0.152},
		certify.PredictorDraw: {Predictor: "draw", Status: "certified", Bound: 0.2799},
	} {
		p := begin(t, client)
		fatal.If(t, p.PutBytes(t.Context(), stream.Artifact{Document: document, Model: []byte("model")}))
		fatal.If(t, p.Point(t.Context(), "m", c, required))
		fatal.If(t, p.Commit(t.Context()))
		got, err := kafkalog.Current(t.Context(), client, topics, "m")
		fatal.If(t, err)
		if got.Predictor != want.Predictor || got.Status != want.Status || got.Bound != want.Bound || got.Bound != c.About(required).Bound {
			t.Errorf("required %q: the pointer says %s, %s, %v", required, got.Predictor, got.Status, got.Bound)
		}
	}
}

func create(t *testing.T, client *broker.Client, topic string, partitions int, settings broker.Settings) {
	t.Helper()
	_, err := client.CreateTopic(t.Context(), topic, partitions, 1, settings)
	fatal.If(t, err)
}
