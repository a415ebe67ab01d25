package kafkalog

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// fetchedRows is the number of rows of a topic of the benchmark, of ten numbers each.
const fetchedRows = 300_000

// BenchmarkFetch reads a topic of Apache Kafka: as kafka-go's connection and franz-go's
// consumer do, values untouched, and as a window is read: fetched and checked, decoded,
// and spooled, also from two partitions. Beside the rows a second it says what processor time a row takes in this
// process, which counts on a machine that does other things too.
func BenchmarkFetch(b *testing.B) {
	s := brokertest.Start(b, brokertest.Options{})
	client, err := broker.NewClient(broker.Config{Brokers: []string{s.Address}})
	fatal.If(b, err)
	defer client.Close()
	names, rows := jsonMessages()
	schema, values := avroMessages(b)
	for _, f := range []struct {
		format, schema string
		messages       [][]byte
	}{{FormatJSON, "", rows}, {FormatAvro, schema, values}} {
		format, messages := f.format, f.messages
		n := fetchedRows / benchRows * len(messages)
		fillTopic(b, client, s.Address, format, 1, messages, n)
		fillTopic(b, client, s.Address, format+"-2", 2, messages, n)
		cfg := Config{
			Client: client, Topic: format, Format: format, Schema: f.schema, Columns: names,
			From: Position{Time: broker.Earliest}, To: Position{Time: broker.Latest},
		}
		read := func(use func(*broker.Record) error) error {
			return client.Read(b.Context(), broker.Range{Topic: format, End: int64(n)}, use)
		}
		decode, err := cfg.decoder(b.Context(), nil)
		fatal.If(b, err)
		spool := func(cfg Config) error {
			cfg.Folder = filepath.Join(b.TempDir(), "spool")
			_, err := Spool(b.Context(), cfg)
			return err
		}
		columns := make([][]float64, len(names))
		for _, way := range []struct {
			name string
			run  func() error
		}{
			{"kafka-go", func() error { return rawFetch(b.Context(), s.Address, format, int64(n)) }},
			{"franz-go", func() error { return franzFetch(b.Context(), s.Address, format, n) }},
			{"fetched", func() error { return read(func(*broker.Record) error { return nil }) }},
			{"decoded", func() error {
				return read(func(r *broker.Record) error {
					if len(columns[0]) > MaxSegmentRows {
						for j := range columns {
							columns[j] = columns[j][:0]
						}
					}
					return decode.read(r.Value, columns)
				})
			}},
			{"spooled", func() error { return spool(cfg) }},
			{"spooled-2-partitions", func() error {
				cfg := cfg
				cfg.Topic += "-2"
				return spool(cfg)
			}},
		} {
			b.Run(format+"/"+way.name, func(b *testing.B) {
				before := processorTime(b)
				for b.Loop() {
					fatal.If(b, way.run())
				}
				all := float64(b.N) * fetchedRows
				b.ReportMetric(all/b.Elapsed().Seconds(), "rows/s")
				b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/all, "cpu-ns/row")
			})
		}
	}
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	fatal.If(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// fillTopic makes a topic of so many partitions with so many messages.
func fillTopic(b *testing.B, client *broker.Client, address, topic string, partitions int32, messages [][]byte, n int) {
	b.Helper()
	if _, err := client.CreateTopic(b.Context(), topic, int(partitions), -1, nil); err != nil {
		b.Fatal(err)
	}
	p, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	fatal.If(b, err)
	defer p.Close()
	var failed error
	for i := range n {
		p.Produce(b.Context(), &kgo.Record{Partition: int32(i) % partitions, Value: messages[i%len(messages)]}, func(_ *kgo.Record, err error) {
			failed = errors.Join(failed, err)
		})
	}
	fatal.If(b, errors.Join(p.Flush(b.Context()), failed))
}

// rawFetch reads the values by kafka-go's connection, which does not look at checksums.
// (Its Fetch cannot be used beside the client of this module, which decodes the answers.)
func rawFetch(ctx context.Context, address, topic string, end int64) error {
	conn, err := kafka.DialLeader(ctx, "tcp", address, topic, 0)
	if err != nil {
		return err
	}
	defer conn.Close()
	buf := make([]byte, 1<<20)
	for offset := int64(0); offset < end; {
		if _, err := conn.Seek(offset, kafka.SeekAbsolute|kafka.SeekDontCheck); err != nil {
			return err
		}
		batch := conn.ReadBatchWith(kafka.ReadBatchConfig{MinBytes: 1, MaxBytes: firstBytes, MaxWait: time.Second})
		for err == nil {
			_, err = batch.Read(buf)
		}
		offset = batch.Offset()
		if err = batch.Close(); err != nil {
			return err
		}
	}
	return nil
}

const firstBytes = 4 << 20 // as the client asks for

// franzFetch reads them by franz-go's consumer.
func franzFetch(ctx context.Context, address, topic string, n int) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}),
		kgo.FetchMaxPartitionBytes(firstBytes))
	if err != nil {
		return err
	}
	defer c.Close()
	for n > 0 {
		found := c.PollFetches(ctx)
		if err := found.Err(); err != nil {
			return err
		}
		n -= found.NumRecords()
	}
	return nil
}
