package kafkalog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
)

// Headers of a dead letter, which follow those of the record.
const (
	headerTopic     = "pacsgp.topic"
	headerPartition = "pacsgp.partition"
	headerOffset    = "pacsgp.offset"
	headerTime      = "pacsgp.timestamp"
	headerReason    = "pacsgp.reason"
)

// deadLetters writes the dead letters of a segment. The first one creates the file.
type deadLetters struct {
	file *durable.Pending
	out  *bufio.Writer
}

// letterOf returns a record with headers added for its position and the reason why it is not a row.
func letterOf(topic string, partition int, r *broker.Record, reason string) broker.Record {
	letter := *r
	letter.Headers = append(slices.Clip(r.Headers),
		broker.Header{Key: headerTopic, Value: []byte(topic)},
		broker.Header{Key: headerPartition, Value: strconv.AppendInt(nil, int64(partition), 10)},
		broker.Header{Key: headerOffset, Value: strconv.AppendInt(nil, r.Offset, 10)},
		broker.Header{Key: headerTime, Value: strconv.AppendInt(nil, r.Time, 10)},
		broker.Header{Key: headerReason, Value: []byte(reason)},
	)
	return letter
}

// put appends a record with the reason why it is not a row.
func (l *deadLetters) put(cfg Config, partition int, r *broker.Record, reason error) error {
	if l.file == nil {
		file, err := durable.Create(cfg.files, filepath.Join(cfg.Folder, "_letters"))
		if err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		l.file, l.out = file, bufio.NewWriter(file)
	}
	letter := letterOf(cfg.Topic, partition, r, reason.Error())
	batch := broker.EncodeBatch(broker.Producer{ID: -1, Epoch: -1}, -1, []broker.Record{letter})
	binary.BigEndian.PutUint64(batch, uint64(r.Offset)) //nolint:gosec // not negative; the checksum leaves it out, as brokers number batches
	if _, err := l.out.Write(batch); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// store commits the file under a name and enters it in the segment, if there are dead letters.
func (l *deadLetters) store(into *segment, name string) error {
	if l.file == nil {
		return nil
	}
	defer l.drop()
	err := l.out.Flush()
	if into.DeadLetters, into.Bytes = name, l.file.Size(); err == nil {
		err = l.file.CommitAs(name)
	}
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

func (l *deadLetters) drop() {
	if l.file != nil {
		l.file.Abort()
		l.file = nil
	}
}

// DeadLetters calls use, in the order of segments, for each record of the window that is not a row
// or has a rejected row. Added headers have its position and the reason. use may keep the record.
func (w *Window) DeadLetters(use func(partition int, r broker.Record) error) error {
	for i, path := range w.deadLetters {
		if path == "" {
			continue
		}
		if err := readDeadLetters(path, func(r broker.Record) error { return use(int(w.Segments[i].Partition), r) }); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func readDeadLetters(path string, use func(broker.Record) error) (err error) {
	file, err := os.Open(path) //nolint:gosec // of the spool
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	in := bufio.NewReader(file)
	for {
		head, err := in.Peek(12)
		if len(head) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		batch, err := io.ReadAll(io.LimitReader(in, int64(binary.BigEndian.Uint32(head[8:]))+12))
		if err != nil {
			return err
		}
		b, _, err := broker.NextBatch(batch, new([]byte))
		var r broker.Record
		if err == nil {
			err = b.Next(&r)
		}
		if err == nil {
			err = use(r)
		}
		if err != nil {
			return err
		}
	}
}
