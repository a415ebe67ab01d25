package kafkalog

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A block has the rows of one segment, until it is stored.
type block struct {
	names   []string    // of the decoded columns
	columns [][]float64 // [len(names)][rows]
	offsets []int64     // [rows]
	times   []int64     // [rows], milliseconds since 1970
	topic   string
	reasons map[int]string // of rejected rows, by row
	encoded job.Encodings
}

func (b *block) rows() int { return len(b.offsets) }

// add appends the row of a record, or a row of NaN if it cannot be read. Bad cells become NaN too.
// It returns the first fault.
func (b *block) add(r *broker.Record, by decoder) (first error) {
	row := b.rows()
	b.offsets, b.times = append(b.offsets, r.Offset), append(b.times, r.Time)
	if err := decodeRow(by, r.Value, row, b.columns); err != nil {
		return err
	}
	for j, column := range b.columns {
		f := ingest.FaultOf(column[row])
		if f == ingest.None {
			continue
		}
		if first == nil && !b.encoded.Fills(b.names[j]) {
			first = fmt.Errorf("column %q %v", b.names[j], f)
		}
		column[row] = math.NaN()
	}
	return first
}

func (b *block) clear() {
	for j, column := range b.columns {
		b.columns[j] = column[:0]
	}
	b.offsets, b.times = b.offsets[:0], b.times[:0]
	clear(b.reasons)
}

// schema returns the schema of a spool's files: columns as doubles, and each row's position.
func (b *block) schema() *parquet.Schema {
	g := parquet.Group{
		columnTopic:     parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
		columnPartition: parquet.Leaf(parquet.Int32Type),
		columnOffset:    parquet.Leaf(parquet.Int64Type),
		columnTime:      parquet.Timestamp(parquet.Millisecond),
	}
	if len(b.reasons) > 0 {
		g[columnReason] = parquet.Encoded(parquet.Optional(parquet.String()), &parquet.RLEDictionary)
	}
	for _, name := range b.names {
		g[name] = parquet.Leaf(parquet.DoubleType)
	}
	return parquet.NewSchema("row", g)
}

// store writes a segment's file and then adds the segment to the manifest.
func (s *spool) store(g segment, b *block) error {
	err := s.write(g.File, func(p *durable.Pending) error {
		err := b.write(p, g.Partition)
		g.Bytes += p.Size()
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m.Segments = append(s.m.Segments, g)
	var bytes int64
	for _, g := range s.m.Segments {
		bytes += g.Bytes
	}
	s.cfg.Quota.set(s.cfg.Folder, bytes)
	if s.cfg.Limit > 0 && bytes > s.cfg.Limit {
		return fmt.Errorf("the spool in %s needs more than its limit of %d MiB; raise spool.limit, or choose a smaller window", s.cfg.Folder, s.cfg.Limit>>20)
	}
	if s.cfg.Progress != nil {
		s.cfg.Progress(s.read.Load())
	}
	return s.save()
}

// packed is the codec of all spools. They share it to reuse its encoders of several megabytes.
var packed = &zstd.Codec{Level: zstd.SpeedFastest}

// write writes the rows as one row group.
func (b *block) write(to io.Writer, partition int64) error {
	schema := b.schema()
	w := parquet.NewGenericWriter[any](to, schema,
		parquet.CreatedBy("pacsgp", "1", ""),
		parquet.Compression(packed),
		parquet.MaxRowsPerRowGroup(maxSegmentRows),
	)
	var values [1024]parquet.Value
	for i, path := range schema.Columns() {
		value := b.values(path[0], partition)
		for from := 0; from < b.rows(); from += len(values) {
			piece := values[:min(len(values), b.rows()-from)]
			for k := range piece {
				piece[k] = value(from + k)
			}
			if _, err := w.ColumnWriters()[i].WriteRowValues(piece); err != nil {
				return fmt.Errorf("column %q: %w", path[0], err)
			}
		}
	}
	return w.Close()
}

// values returns a function that returns the value of a column in a row.
func (b *block) values(name string, partition int64) func(row int) parquet.Value {
	switch j := slices.Index(b.names, name); {
	case j >= 0:
		return func(row int) parquet.Value { return parquet.DoubleValue(b.columns[j][row]) }
	case name == columnTopic:
		topic := parquet.ByteArrayValue([]byte(b.topic))
		return func(int) parquet.Value { return topic }
	case name == columnPartition:
		return func(int) parquet.Value { return parquet.Int32Value(int32(partition)) } //nolint:gosec // as Kafka numbers them
	case name == columnReason:
		return func(row int) parquet.Value {
			if reason, ok := b.reasons[row]; ok {
				return parquet.ByteArrayValue([]byte(reason)).Level(0, 1, 0)
			}
			return parquet.Value{}
		}
	case name == columnTime:
		return func(row int) parquet.Value { return parquet.Int64Value(b.times[row]) }
	default:
		return func(row int) parquet.Value { return parquet.Int64Value(b.offsets[row]) }
	}
}
