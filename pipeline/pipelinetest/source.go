package pipelinetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// TestSource checks the contract of [dataset.Source]. open opens the source as another process would, and fails its t if it
// cannot. The source must have rows, of which none may break a row rule.
func TestSource(t *testing.T, open func(t *testing.T) dataset.Source) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, dataset.Source){
		"columns": testColumns, "shards": testShards, "rows": testRows, "concurrent": testConcurrent, "ownership": testOwnership,
		"canceled": testCanceled, "out of range": testOutOfRange, "close early": testCloseEarly,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
	t.Run("again", func(t *testing.T) { testAgain(t, open(t), open(t)) })
}

func testColumns(t *testing.T, src dataset.Source) {
	columns := src.Columns()
	if len(columns) == 0 {
		t.Fatal("Columns() is empty")
	}
	if len(slices.Compact(slices.Sorted(slices.Values(columns)))) != len(columns) {
		t.Errorf("Columns() = %q, a name occurs twice", columns)
	}
	columns[0] += " changed"
	if src.Columns()[0] == columns[0] {
		t.Error("Columns() gives its own slice away: a caller's change is seen by others")
	}
}

func testShards(t *testing.T, src dataset.Source) {
	shards := src.Shards()
	var first int64
	for i, s := range shards {
		if s.First != first {
			t.Errorf("Shards()[%d].First = %d, want %d: ordinals follow one another", i, s.First, first)
		}
		if s.Rows < 0 {
			t.Errorf("Shards()[%d].Rows = %d", i, s.Rows)
		}
		if s.Name == "" {
			t.Errorf("Shards()[%d] has no name for messages", i)
		}
		first += s.Rows
	}
	if first == 0 {
		t.Error("the source has no rows: the test says nothing")
	}
}

func testRows(t *testing.T, src dataset.Source) {
	for i, s := range src.Shards() {
		columns, digests := Read(t, src, i)
		for j, values := range columns {
			if int64(len(values)) != s.Rows {
				t.Errorf("shard %d (%s), column %d: %d rows, want %d", i, s.Name, j, len(values), s.Rows)
			}
			for r, v := range values {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("shard %d (%s), column %d, row %d is %v: a rejected row must be an error", i, s.Name, j, r, v)
				}
			}
			if want := digestRef(values); digests[j] != want {
				t.Errorf("shard %d (%s), column %d: digest %x, want %x of the values delivered", i, s.Name, j, digests[j], want)
			}
		}
	}
}

// digestRef computes the digest of a column directly from its definition.
func digestRef(values []float64) dataset.ColumnDigest {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return sha256.Sum256(b)
}

// Read returns the columns of shard i and their digests. It fails the test if the source breaks its contract.
func Read(t testing.TB, src dataset.Source, i int) ([][]float64, []dataset.ColumnDigest) {
	t.Helper()
	b, err := src.Open(t.Context(), i)
	if err != nil {
		t.Fatalf("Open(%d): %v", i, err)
	}
	columns := make([][]float64, len(src.Columns()))
	if err := each(t.Context(), b, func(record arrow.Record) { appendRecord(t, columns, src.Columns(), record) }); err != nil {
		t.Fatalf("shard %d: Next: %v", i, err)
	}
	for range 2 {
		if _, err := b.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("shard %d: Next after the end = %v, want io.EOF", i, err)
		}
	}
	digests := b.ColumnDigests()
	if len(digests) != len(columns) {
		t.Fatalf("shard %d: %d digests for %d columns", i, len(digests), len(columns))
	}
	if err := b.Close(); err != nil {
		t.Errorf("shard %d: Close: %v", i, err)
	}
	return columns, digests
}

// appendRecord appends a batch to columns and checks its form.
func appendRecord(t testing.TB, columns [][]float64, names []string, record arrow.Record) {
	t.Helper()
	if record.NumRows() == 0 {
		t.Error("an empty batch")
	}
	if int(record.NumCols()) != len(names) {
		t.Fatalf("a batch of %d columns, want %q", record.NumCols(), names)
	}
	for j, name := range names {
		if got := record.ColumnName(j); got != name {
			t.Errorf("column %d of the batch is %q, want %q", j, got, name)
		}
		values, ok := record.Column(j).(*array.Float64)
		if !ok {
			t.Fatalf("column %q is a %T, want *array.Float64", name, record.Column(j))
		}
		if values.NullN() != 0 {
			t.Errorf("column %q has %d nulls", name, values.NullN())
		}
		columns[j] = append(columns[j], values.Float64Values()...)
	}
}

func testAgain(t *testing.T, src, other dataset.Source) {
	if a, b := src.Columns(), other.Columns(); !slices.Equal(a, b) {
		t.Fatalf("columns of two openings: %q and %q", a, b)
	}
	if a, b := len(src.Shards()), len(other.Shards()); a != b {
		t.Fatalf("two openings have %d and %d shards", a, b)
	}
	for i := range src.Shards() {
		_, first := Read(t, src, i)
		_, second := Read(t, src, i)
		_, third := Read(t, other, i)
		if !slices.Equal(first, second) || !slices.Equal(first, third) {
			t.Errorf("shard %d: three readings, different digests", i)
		}
	}
}

func testConcurrent(t *testing.T, src dataset.Source) {
	n := len(src.Shards())
	want := make([][]dataset.ColumnDigest, n)
	for i := range want {
		_, want[i] = Read(t, src, i)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for k := range min(n, 8) {
				i := (k*7 + g) % n
				got, err := Each(t.Context(), src, i, nil)
				if err != nil {
					t.Errorf("shard %d next to other readers: %v", i, err)
				} else if !slices.Equal(got, want[i]) {
					t.Errorf("shard %d next to other readers: other digests", i)
				}
			}
		})
	}
	wg.Wait()
}

// Each calls use, unless it is nil, with the batches of shard i, which are valid during the call,
// and returns the digests of the shard's columns.
func Each(ctx context.Context, src dataset.Source, i int, use func(arrow.Record)) ([]dataset.ColumnDigest, error) {
	b, err := src.Open(ctx, i)
	if err != nil {
		return nil, err
	}
	if err := each(ctx, b, use); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b.ColumnDigests(), b.Close()
}

// each calls use with all batches and releases them.
func each(ctx context.Context, b dataset.Batches, use func(arrow.Record)) error {
	for {
		record, err := b.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if use != nil {
			use(record)
		}
		record.Release()
	}
}

// testOwnership holds all batches of a shard until its end. A later Next must not write into an earlier batch.
func testOwnership(t *testing.T, src dataset.Source) {
	for i := range src.Shards() {
		want, _ := Read(t, src, i)
		var kept []arrow.Record
		_, err := Each(t.Context(), src, i, func(record arrow.Record) {
			record.Retain()
			kept = append(kept, record)
		})
		must(t, "Each", err)
		got := make([][]float64, len(want))
		for _, record := range kept {
			appendRecord(t, got, src.Columns(), record)
			record.Release()
		}
		for j := range want {
			if !slices.Equal(got[j], want[j]) {
				t.Errorf("shard %d, column %d: batches changed after they were delivered", i, j)
			}
		}
	}
}

func testCanceled(t *testing.T, src dataset.Source) {
	ctx, cancel := context.WithCancel(t.Context())
	b, err := src.Open(ctx, 0)
	must(t, "Open(0)", err)
	cancel()
	if record, err := b.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next with a canceled context = %v, %v, want context.Canceled", record, err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := src.Open(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with a canceled context: %v, want context.Canceled", err)
	}
}

func testOutOfRange(t *testing.T, src dataset.Source) {
	for _, i := range []int{-1, len(src.Shards())} {
		if _, err := src.Open(t.Context(), i); err == nil {
			t.Errorf("Open(%d) of %d shards: no error", i, len(src.Shards()))
		}
	}
}

func testCloseEarly(t *testing.T, src dataset.Source) {
	b, err := src.Open(t.Context(), 0)
	must(t, "Open(0)", err)
	if record, err := b.Next(t.Context()); err == nil {
		record.Release()
	}
	for range 2 {
		must(t, "Close before the end", b.Close())
	}
	if record, err := b.Next(t.Context()); err == nil {
		t.Errorf("Next after Close = %v, want an error", record)
	}
}
