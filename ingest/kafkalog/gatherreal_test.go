package kafkalog

import (
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// TestOpenWindowsOnApacheKafka: windows of so many rows and of so much time are those of
// the committed records, and rows of an open transaction behind them are not waited for.
func TestOpenWindowsOnApacheKafka(t *testing.T) {
	s, _ := apache.Lend(t)
	client, err := broker.NewClient(broker.Config{Brokers: []string{s.Address}})
	fatal.If(t, err)
	defer client.Close()
	_, err = client.CreateTopic(t.Context(), "rows", 2, 1, nil)
	fatal.If(t, err)
	producer := func(options ...kgo.Opt) *kgo.Client {
		p, err := kgo.NewClient(append(options, kgo.SeedBrokers(s.Address), kgo.DefaultProduceTopic("rows"), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
		fatal.If(t, err)
		t.Cleanup(p.Close)
		return p
	}
	p, begin := producer(), time.Now().Add(-time.Hour)
	var records []*kgo.Record
	for i := range 600 { // five minutes in each partition
		r := row(int32(i%2), float64(i), 1)
		r.Timestamp = begin.Add(time.Duration(i) * 500 * time.Millisecond)
		records = append(records, r)
	}
	produce(t, p, records...)
	open := producer(kgo.TransactionalID("open"))
	fatal.If(t, open.BeginTransaction())
	produce(t, open, row(0, -1, 1), row(1, -1, 1))

	cfg := configIn(client, filepath.Join(t.TempDir(), "spool"))
	cfg.To, cfg.Rows = Position{}, 600
	w, err := Spool(t.Context(), cfg)
	fatal.If(t, err)
	if want := map[int]int64{0: 300, 1: 300}; w.Rows() != 600 || !maps.Equal(w.Ends, want) {
		t.Errorf("%d rows up to %v, want 600 up to %v", w.Rows(), w.Ends, want)
	}
}
