package kafkalog_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// Letters are in their topic once, for readers of committed records, also if a first
// process ended in the middle of them and a third one sends them again.
func TestLettersAreSentOnce(t *testing.T) {
	c, client := cluster(t)
	for topic, partitions := range map[string]int{"dead": 2, "rows": 4} {
		if _, err := client.CreateTopic(t.Context(), topic, partitions, 1, nil); err != nil {
			t.Fatal(err)
		}
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
				if i == most {
					return killed
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
	for range 3 {
		if err := send(n); err != nil {
			t.Fatal(err)
		}
	}
	got := counted(t, c, "dead")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d letters, want %d, each once", len(got), n)
	}
}
