package kafkalog

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A cluster is a broker in this process and a topic of it.
type cluster struct {
	*kfake.Cluster

	client *broker.Client
}

func newCluster(t *testing.T, partitions int32, options ...kfake.Opt) *cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(partitions, "rows")}, options...)...)
	fatal.If(t, err)
	t.Cleanup(c.Close)
	client, err := broker.NewClient(broker.Config{Brokers: c.ListenAddrs()})
	fatal.If(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return &cluster{c, client}
}

// producer is an independent one.
func (c *cluster) producer(t *testing.T, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	p, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("rows"), kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}, options...)...)
	fatal.If(t, err)
	t.Cleanup(p.Close)
	return p
}

func produce(t *testing.T, p *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	fatal.If(t, p.ProduceSync(t.Context(), records...).FirstErr())
}

// fill produces so many rows, whose x are their numbers.
func fill(t *testing.T, p *kgo.Client, n, partitions int) {
	t.Helper()
	var records []*kgo.Record
	for i := range n {
		records = append(records, row(int32(i%partitions), float64(i), 1/float64(i+1)))
	}
	produce(t, p, records...)
}

// row is the record of a row (x, y).
func row(partition int32, x, y float64) *kgo.Record {
	return &kgo.Record{Partition: partition, Value: fmt.Appendf(nil, `{"x":%v,"note":"a \"b\" [{","in":{"y":%v}}`, x, y)}
}

func (c *cluster) config(t *testing.T) Config {
	t.Helper()
	return configIn(c.client, filepath.Join(t.TempDir(), "spool"))
}

func configIn(client *broker.Client, folder string) Config {
	return Config{
		Client: client, Topic: "rows", From: Position{Time: broker.Earliest}, To: Position{Time: broker.Latest},
		Columns: []string{"x", "in.y"}, Folder: folder, segmentRows: 100,
	}
}

// values reads all rows of a window, in order.
func values(t *testing.T, w *Window) (rows [][2]float64, digests []dataset.ColumnDigest) {
	t.Helper()
	src, err := w.Open(t.Context(), dataset.Choice{Features: []string{"x"}, Target: "in.y"})
	fatal.If(t, err)
	return read(t, src)
}

func read(t *testing.T, src dataset.Source) (rows [][2]float64, digests []dataset.ColumnDigest) {
	t.Helper()
	for i := range src.Shards() {
		some, err := pipelinetest.Each(t.Context(), src, i, func(record arrow.Record) {
			x, y := record.Column(0).(*array.Float64), record.Column(1).(*array.Float64)
			for k := range x.Len() {
				rows = append(rows, [2]float64{x.Value(k), y.Value(k)})
			}
		})
		fatal.If(t, err)
		digests = append(digests, some...)
	}
	return rows, digests
}
