package kafkalog_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// apache is the broker that the tests against a real one share.
var apache brokertest.Shared

func TestMain(m *testing.M) { os.Exit(apache.Main(m)) }

// DeadLetters are in their topic once, for readers of committed records, also if earlier
// processes failed or were killed in the middle of them and later ones send them again: in
// this process, and on Apache Kafka.
func TestDeadLettersAreSentOnce(t *testing.T) {
	t.Run("kfake", func(t *testing.T) {
		c, client := cluster(t)
		deadLettersAreSentOnce(t, client, c.ListenAddrs()[0])
	})
	t.Run("Apache Kafka", func(t *testing.T) {
		s, _ := apache.Lend(t)
		deadLettersAreSentOnce(t, newClient(t, 0, s.Address), s.Address)
	})
}

func deadLettersAreSentOnce(t *testing.T, client *broker.Client, address string) {
	t.Helper()
	for topic, partitions := range map[string]int{"dead": 2, "rows": 4} {
		create(t, client, topic, partitions, nil)
	}
	const n = 1200
	want := make([]string, 0, n)
	for i := range n {
		want = append(want, fmt.Sprintf("%04d", i))
	}
	killed := errors.New("killed")
	send := func(last int) error {
		cfg := kafkalog.DeadLettersConfig{Client: client, Topic: "dead", ID: "window", Source: "rows"}
		return kafkalog.PutDeadLetters(t.Context(), cfg, map[int]int64{0: 800, 3: 900}, func(use func(int, broker.Record) error) error {
			for i, key := range want {
				switch i {
				case last:
					return killed
				case -last:
					runtime.Goexit()
				}
				if err := use(i/900*3, broker.Record{Key: []byte(key), Value: []byte("as it was")}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := send(1100); !errors.Is(err, killed) {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { // a process that is gone ends no transaction
		defer close(gone)
		_ = send(-1000)
	}()
	<-gone
	for range 3 {
		fatal.If(t, send(n))
	}
	got := counted(t, address, "dead", n)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d dead letters, want %d, each once", len(got), n)
	}
}

// A letter that the topic does not take is its position and its reason.
func TestLetterThatIsTooLarge(t *testing.T) {
	c, client := cluster(t)
	create(t, client, "rows", 1, nil)
	create(t, client, "dead", 1, broker.Settings{"max.message.bytes": "20000"})
	noise := make([]byte, 30_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	cfg := kafkalog.DeadLettersConfig{Client: client, Topic: "dead", ID: "window", Source: "rows"}
	fatal.If(t, kafkalog.PutDeadLetters(t.Context(), cfg, map[int]int64{0: 800}, func(use func(int, broker.Record) error) error {
		for _, value := range [][]byte{[]byte("before"), noise, []byte("behind")} {
			headers := []broker.Header{{Key: "own", Value: value}, {Key: "topic"}, {Key: "partition"}, {Key: "offset", Value: []byte("7")}, {Key: "time"}, {Key: "reason", Value: []byte("no row")}}
			if err := use(0, broker.Record{Key: []byte("key"), Value: value, Headers: headers}); err != nil {
				return err
			}
		}
		return nil
	}))
	consumer, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("dead"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	fatal.If(t, err)
	defer consumer.Close()
	var all []*kgo.Record
	for len(all) < 3 && t.Context().Err() == nil {
		all = append(all, consumer.PollFetches(t.Context()).Records()...)
	}
	if r := all[1]; len(r.Value)+len(r.Key) > 0 || len(r.Headers) != 5 || string(r.Headers[2].Value) != "7" ||
		!strings.HasPrefix(string(r.Headers[4].Value), "no row; the record is not here: it has 60") {
		t.Errorf("the letter is %s with %q", r.Value, r.Headers)
	}
	if string(all[0].Value) != "before" || string(all[2].Value) != "behind" || len(all[2].Headers) != 6 {
		t.Errorf("the others are %q and %q", all[0].Value, all[2].Value)
	}
}
