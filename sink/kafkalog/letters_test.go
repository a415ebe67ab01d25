package kafkalog_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// apache is the broker that the tests against a real one share.
var apache brokertest.Shared

func TestMain(m *testing.M) { os.Exit(apache.Main(m)) }

// Letters are in their topic once, for readers of committed records, also if earlier
// processes failed or were killed in the middle of them and later ones send them again: in
// this process, and on Apache Kafka.
func TestLettersAreSentOnce(t *testing.T) {
	t.Run("kfake", func(t *testing.T) {
		c, client := cluster(t)
		lettersAreSentOnce(t, client, c.ListenAddrs()[0])
	})
	t.Run("Apache Kafka", func(t *testing.T) {
		s, _ := apache.Lend(t)
		client, err := broker.NewClient(broker.Config{Brokers: []string{s.Address}})
		fatal.If(t, err)
		t.Cleanup(func() { _ = client.Close() })
		lettersAreSentOnce(t, client, s.Address)
	})
}

func lettersAreSentOnce(t *testing.T, client *broker.Client, address string) {
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
	send := func(most int) error {
		d := kafkalog.DeadLetters{Client: client, Topic: "dead", ID: "window", Source: "rows", Ends: map[int]int64{0: 800, 3: 900}}
		return d.Put(t.Context(), func(use func(int, broker.Record) error) error {
			for i, key := range want {
				switch i {
				case most:
					return killed
				case -most:
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
	got := countedAt(t, address, "dead", n)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d letters, want %d, each once", len(got), n)
	}
}
