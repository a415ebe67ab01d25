package kafkalog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/ingest/arrowipc"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// SpoolStream consumes a stream into the folder. The first byte decides whether it is an Arrow IPC
// stream or JSON objects, one a line. It removes the spool of an earlier stream from the folder:
// streams cannot be resumed. It uses the fields Columns, Encoded, Tolerant, Folder, Limit and Progress.
func SpoolStream(ctx context.Context, cfg Config, from io.Reader) (*Window, error) {
	cfg = Config{Columns: cfg.Columns, Encoded: cfg.Encoded, Tolerant: cfg.Tolerant, Folder: cfg.Folder, Limit: cfg.Limit, Progress: cfg.Progress, piped: true, segmentRows: cfg.segmentRows}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(cfg.decoded()) != len(cfg.Columns) {
		return nil, fmt.Errorf("stream: rows of a stream have none of %q, which are of records of a topic", placeColumns)
	}
	s, err := openSpool(cfg)
	if err != nil {
		return nil, err
	}
	s.m.Complete, s.m.Segments = false, nil
	s.read.Store(0)
	if err := errors.Join(s.save(), s.clean()); err != nil {
		return nil, err
	}
	r := &streamReader{spool: s, block: newBlock(cfg)}
	if err := r.read(ctx, bufio.NewReaderSize(from, 1<<16)); err != nil {
		return nil, err
	}
	if len(s.m.Segments) == 0 {
		return nil, errors.New("stream: no row came")
	}
	s.m.Complete = true
	if err := s.save(); err != nil {
		return nil, err
	}
	w := s.window()
	w.Segments, w.Ends = nil, nil
	return w, nil
}

// A streamReader cuts the rows of a stream into segments.
type streamReader struct {
	spool *spool
	block *block
	rows  int64 // in the segments before the block
}

// maxLine bounds a line of JSON.
const maxLine = 16 << 20

func (r *streamReader) read(ctx context.Context, in *bufio.Reader) error {
	head, err := in.Peek(6)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		return errors.New("stream: nothing came")
	case len(head) == 0:
		return fmt.Errorf("stream: %w", err)
	case string(head) == "ARROW1":
		return errors.New("stream: this is an Arrow file, which is not read in order; write an Arrow stream, or name the file under source.paths")
	case string(head[:min(4, len(head))]) == "PAR1":
		return errors.New("stream: this is a Parquet file, which is not read in order; name the file under source.paths")
	case head[0] == 0xFF:
		err = r.arrow(ctx, in)
	default:
		err = r.json(ctx, in)
	}
	if err == nil && r.block.rows() > 0 {
		err = r.flush()
	}
	return err
}

// json reads lines of JSON.
func (r *streamReader) json(ctx context.Context, in *bufio.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	decode := newJSONReader(r.block.names)
	n := 0
	for lines.Scan() {
		n++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		err := r.block.add(func(columns [][]float64) error { return decode.read(text, columns) })
		if err != nil && !r.spool.cfg.Tolerant {
			return fmt.Errorf("stream: line %d: %w", n, err)
		}
		if err := r.place(ctx, 1); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("stream: line %d is longer than %d MiB; JSON is read with one object a line", n+1, maxLine>>20)
	} else if err != nil {
		return fmt.Errorf("stream: line %d: %w", n+1, err)
	}
	return nil
}

// maxArrowBytes bounds an unpacked message.
const maxArrowBytes = 256 << 20

// arrow reads record batches, in slices that fill a segment.
func (r *streamReader) arrow(ctx context.Context, in *bufio.Reader) (err error) {
	defer func() { // the border to a library that panics on damaged streams
		if p := recover(); p != nil {
			err = fmt.Errorf("stream: it is no Arrow IPC stream: %v", p)
		}
	}()
	room := &arrowipc.Allowance{Left: maxArrowBytes}
	stream, whole, err := arrowipc.Follow(in, room)
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	defer stream.Release()
	fields, err := r.block.fields(stream.Schema())
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	for stream.Next() {
		batch := stream.Record()
		for at, n := int64(0), int64(0); at < batch.NumRows(); at += n {
			have := r.block.rows()
			n = min(batch.NumRows()-at, int64(r.spool.cfg.segmentRows-have))
			slice := batch.NewSlice(at, at+n)
			err := r.block.append(slice, fields)
			slice.Release()
			if err != nil {
				return fmt.Errorf("stream: %w", err)
			}
			if row, err := r.block.faults(have); err != nil && !r.spool.cfg.Tolerant {
				return fmt.Errorf("stream: row %d: %w", r.rows+int64(row), err)
			}
			if err := r.place(ctx, int(n)); err != nil {
				return err
			}
		}
		room.Left = maxArrowBytes
	}
	if err := stream.Err(); err != nil {
		return fmt.Errorf("stream: it is no whole Arrow IPC stream: %w", err)
	}
	if !whole() {
		return errors.New("stream: the Arrow IPC stream has no end mark: who wrote it was stopped")
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.New("stream: there are bytes behind the Arrow IPC stream's end mark")
	}
	return nil
}

// fields returns the indices of the columns in a schema.
func (b *block) fields(schema *arrow.Schema) ([]int, error) {
	fields := make([]int, len(b.names))
	for j, name := range b.names {
		found := schema.FieldIndices(name)
		if len(found) != 1 {
			return nil, fmt.Errorf("it has %d columns named %q, want one", len(found), name)
		}
		fields[j] = found[0]
	}
	return fields, nil
}

// append appends the rows of a batch, without their places.
func (b *block) append(batch arrow.Record, fields []int) (err error) {
	n := int(batch.NumRows())
	for j, name := range b.names {
		column, before := batch.Column(fields[j]), len(b.columns[j])
		if column.Len() != n {
			return fmt.Errorf("column %q has %d values in %d rows", name, column.Len(), n)
		}
		if b.columns[j], err = arrowipc.Append(b.columns[j], column); err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
		if got := len(b.columns[j]) - before; got != n {
			return fmt.Errorf("column %q has %d values in %d rows", name, got, n)
		}
	}
	return nil
}

// place counts rows that were appended to the columns, and stores a full segment.
func (r *streamReader) place(ctx context.Context, rows int) error {
	r.block.place(&broker.Record{}, rows)
	r.spool.progress(rows)
	if r.block.rows() == r.spool.cfg.segmentRows {
		return errors.Join(ctx.Err(), r.flush())
	}
	return ctx.Err()
}

func (r *streamReader) flush() error {
	rows := int64(r.block.rows())
	g := segment{File: fileName(len(r.spool.m.Segments), 0), Segment: dataset.Segment{First: r.rows, End: r.rows + rows, Rows: rows}}
	if err := r.spool.store(g, r.block); err != nil {
		return err
	}
	r.block.clear()
	r.rows += rows
	return nil
}
