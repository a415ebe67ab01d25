package broker_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

func newClient(t *testing.T, config broker.Config) *broker.Client {
	t.Helper()
	c, err := broker.NewClient(config)
	fatal.If(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// values reads all committed records of a partition, limit bytes at a time.
func values(t *testing.T, c *broker.Client, topic string, limit int32) (all []string) {
	t.Helper()
	first, err := c.Offsets(t.Context(), topic, []int{0}, broker.Earliest)
	fatal.If(t, err)
	end, err := c.Offsets(t.Context(), topic, []int{0}, broker.Latest)
	fatal.If(t, err)
	err = c.Read(t.Context(), broker.Range{Topic: topic, First: first[0], End: end[0], FetchBytes: limit}, func(r *broker.Record) error {
		all = append(all, string(r.Value))
		return nil
	})
	fatal.If(t, err)
	return all
}

// apache is the broker that the tests against a real one share.
var apache brokertest.Shared

func TestMain(m *testing.M) { os.Exit(apache.Main(m)) }

// TestApacheKafka: what a client does on Apache Kafka itself, which differs from an
// embedded broker in what it answers while it makes its own topics.
func TestApacheKafka(t *testing.T) {
	s, _ := apache.Lend(t)
	c := newClient(t, broker.Config{Brokers: []string{s.Address}})
	topic := func(t *testing.T, name string, settings broker.Settings) {
		t.Helper()
		if made, err := c.CreateTopic(t.Context(), name, 1, -1, settings); err != nil || !made {
			t.Fatalf("topic %s: %v", name, err)
		}
		for range 100 { // until the broker knows it
			if _, err := c.Partitions(t.Context(), name); err == nil {
				return
			}
		}
		t.Fatalf("topic %s is not known", name)
	}

	t.Run("transactions", func(t *testing.T) { // first, while the broker is young
		topic(t, "transactions", nil)
		w, err := c.NewWriter(t.Context(), "writer")
		fatal.If(t, err)
		var want []string
		for i := range 6 {
			text := string(rune('a' + i))
			fatal.If(t, w.Send(t.Context(), "transactions", 0, broker.Record{Value: []byte(text)}, broker.Record{Value: []byte(text + text)}))
			end := w.Commit
			if i%2 == 1 {
				end = w.Abort
			} else {
				want = append(want, text, text+text)
			}
			fatal.If(t, end(t.Context()))
		}
		fatal.If(t, w.CommitOffsets(t.Context(), nil, "group", "transactions", map[int]int64{0: 3}, "with it"))
		fatal.If(t, w.Commit(t.Context()))
		if at, err := c.CommittedOffsets(t.Context(), "group", "transactions", []int{0}); err != nil || at[0] != 3 {
			t.Errorf("the group is at %v, %v, want 3", at, err)
		}
		fatal.If(t, w.Send(t.Context(), "transactions", 0, broker.Record{Value: []byte("open")}))
		for _, limit := range []int32{0, 1} {
			if got := values(t, c, "transactions", limit); !slices.Equal(got, want) {
				t.Errorf("fetching %d bytes: %q, want %q", limit, got, want)
			}
		}
		later, err := c.NewWriter(t.Context(), "writer") // fences the first one
		fatal.If(t, err)
		if err := w.Commit(t.Context()); err == nil {
			t.Error("a fenced writer commits")
		}
		fatal.If(t, later.Send(t.Context(), "transactions", 0, broker.Record{Value: []byte("last")}))
		fatal.If(t, later.Commit(t.Context()))
		if got := values(t, c, "transactions", 0); !slices.Equal(got, append(want, "last")) {
			t.Errorf("%q, want %q and last", got, want)
		}
	})

	t.Run("codecs", func(t *testing.T) {
		for name, codec := range map[string]kgo.CompressionCodec{
			"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
		} {
			topic(t, name, broker.Settings{"max.message.bytes": "8388608"})
			p, err := kgo.NewClient(kgo.SeedBrokers(s.Address), kgo.DefaultProduceTopic(name), kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(8<<20))
			fatal.If(t, err)
			var want []string
			for i := range 200 {
				text := strings.Repeat(name, i%17)
				if i == 100 {
					large := make([]byte, 4<<20)
					_, err := rand.Read(large)
					fatal.If(t, err)
					text = string(large)
				}
				want = append(want, text)
				fatal.If(t, p.ProduceSync(t.Context(), &kgo.Record{Value: []byte(text)}).FirstErr())
			}
			p.Close()
			for _, limit := range []int32{0, 1} {
				if got := values(t, c, name, limit); !slices.Equal(got, want) {
					t.Errorf("%s: fetching %d bytes: %d records, which are not those that were produced", name, limit, len(got))
				}
			}
		}
	})

	t.Run("fenced", func(t *testing.T) { fencedAtEachStep(t, c) })

	t.Run("members", func(t *testing.T) {
		topic(t, "members", nil)
		assigned := make(chan struct{})
		member, err := kgo.NewClient(kgo.SeedBrokers(s.Address), kgo.ConsumerGroup("manned"), kgo.ConsumeTopics("members"),
			kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { close(assigned) }))
		fatal.If(t, err)
		defer member.Close()
		<-assigned
		for _, transactional := range []string{"", "takes over"} {
			w, err := c.NewWriter(t.Context(), transactional)
			fatal.If(t, err)
			if err := w.CommitOffsets(t.Context(), nil, "manned", "members", map[int]int64{0: 3}, ""); err == nil || !strings.Contains(err.Error(), "has 1 members") {
				t.Errorf("transaction %q: %v, want that the group has a member", transactional, err)
			}
		}
	})

	t.Run("deleted", func(t *testing.T) {
		topic(t, "deleted", nil)
		w, err := c.NewWriter(t.Context(), "")
		fatal.If(t, err)
		for range 5 {
			fatal.If(t, w.Send(t.Context(), "deleted", 0, broker.Record{Value: []byte("v")}, broker.Record{Value: []byte("w")}))
		}
		admin, err := kgo.NewClient(kgo.SeedBrokers(s.Address))
		fatal.If(t, err)
		defer admin.Close()
		request := kmsg.NewDeleteRecordsRequest()
		request.TimeoutMillis = 10_000
		request.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "deleted", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: 5}}}}
		answer, err := request.RequestWith(t.Context(), admin)
		if err != nil || answer.Topics[0].Partitions[0].ErrorCode != 0 {
			t.Fatalf("%v, %+v", err, answer)
		}
		if got := values(t, c, "deleted", 0); len(got) != 5 || got[0] != "w" {
			t.Errorf("%q, want the five records from the offset 5 on", got)
		}
		err = c.Read(t.Context(), broker.Range{Topic: "deleted", First: 3, End: 10}, func(*broker.Record) error { return nil })
		if at, ok := errors.AsType[*broker.OffsetError](err); !ok || at.Offset != 3 {
			t.Errorf("%v, want that there is no offset 3", err)
		}
	})

	t.Run("compacted", func(t *testing.T) {
		topic(t, "compacted", broker.Settings{"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "100", "segment.ms": "100"})
		w, err := c.NewWriter(t.Context(), "")
		fatal.If(t, err)
		send := func(keys ...string) {
			t.Helper()
			var records []broker.Record
			for _, key := range keys {
				records = append(records, broker.Record{Key: []byte(key), Value: []byte(key), Time: time.Now().UnixMilli()})
			}
			fatal.If(t, w.Send(t.Context(), "compacted", 0, records...))
		}
		// The last records of the first batch go: who asks for the offset behind what
		// is left of it gets the same batch again.
		send("a", "b", "c", "c", "b")
		time.Sleep(200 * time.Millisecond) // so that the next batch begins a segment
		send("b", "c")
		time.Sleep(200 * time.Millisecond)
		send("d")
		want := []string{"a", "b", "c", "d"}
		for range 150 {
			if slices.Equal(values(t, c, "compacted", 1), want) {
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
		t.Errorf("%q, want %q after the compaction", values(t, c, "compacted", 1), want)
	})
}

// TestSecurity: a broker that demands TLS and a password is used with them; what is
// wrong is reported.
func TestSecurity(t *testing.T) {
	s := brokertest.StartSecure(t, "reader", "open sesame")
	_, err := newClient(t, broker.Config{Brokers: []string{s.Address}}).CreateTopic(t.Context(), "rows", 1, 1, nil)
	fatal.If(t, err)
	try := func(files broker.TLSFiles, mechanism, password string) error {
		config := broker.Config{Brokers: []string{s.Secure}, Patience: 3 * time.Second}
		var err error
		config.TLS, err = files.Load()
		fatal.If(t, err)
		if mechanism != "" {
			config.SASL, err = broker.Login(mechanism, "reader", password)
			fatal.If(t, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err = newClient(t, config).Partitions(ctx, "rows")
		return err
	}
	good := broker.TLSFiles{CA: s.Authority}
	for _, mechanism := range []string{broker.Plain, broker.ScramSHA256, broker.ScramSHA512} {
		if err := try(good, mechanism, "open sesame"); err != nil {
			t.Errorf("%s: %v", mechanism, err)
		}
		if err := try(good, mechanism, "open barley"); err == nil || !strings.Contains(err.Error(), "password") || strings.Contains(err.Error(), "barley") {
			t.Errorf("%s with a wrong password: %v, want an error that says so, without it", mechanism, err)
		}
	}
	if err := try(broker.TLSFiles{CA: s.Stranger}, broker.Plain, "open sesame"); err == nil || !strings.Contains(err.Error(), "authority") {
		t.Errorf("another authority: %v", err)
	}
}
