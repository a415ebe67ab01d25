package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
)

// PlacesTold returns the names of the columns, or keys of paths, that have the places of rows in a
// topic, of those that some file has; nil if none has any.
func PlacesTold(files []lake.File) []string {
	var told []string
	for _, name := range []string{columnTopic, columnPartition, columnOffset} {
		if slices.ContainsFunc(files, func(f lake.File) bool { return len(called(f, name)) > 0 }) {
			told = append(told, name)
		}
	}
	return told
}

// called returns the columns of a file, and the keys of its path, of a name.
func called(f lake.File, name string) []ingest.Column {
	return slices.DeleteFunc(slices.Clone(f.Columns), func(c ingest.Column) bool { return c.Name != name })
}

// CheckPlaces returns an error unless the columns of files agree with the segments, one a shard: the
// topic as text, partition and offset as exact integers. Offsets must be within the segment and not
// fall. most bounds the bytes of pages in memory. An error that wraps [pipeline.ErrRefused] names the
// first row of another place.
func CheckPlaces(ctx context.Context, files []lake.File, told []string, segments []pipeline.Segment, most int64) error {
	for _, f := range files {
		if f.RowGroups > len(segments) {
			return fmt.Errorf("%w: more shards than the %d segments", pipeline.ErrRefused, len(segments))
		}
		of := segments[:f.RowGroups]
		segments = segments[f.RowGroups:]
		if err := checkPlaces(ctx, f, told, of, most); err != nil {
			return err
		}
	}
	if len(segments) > 0 {
		return fmt.Errorf("%w: %d segments more than shards", pipeline.ErrRefused, len(segments))
	}
	return nil
}

// checkPlaces is CheckPlaces of one file.
func checkPlaces(ctx context.Context, f lake.File, told []string, segments []pipeline.Segment, most int64) (err error) {
	for _, name := range told {
		if n := len(called(f, name)); n != 1 {
			return fmt.Errorf("%w: %s has %d columns %s, and has to have one, as other files do", pipeline.ErrRefused, f.Path, n, name)
		}
	}
	src, err := lake.OpenStored(ctx, f.Path, told, most/int64(len(told)))
	if errors.Is(err, lake.ErrNotKept) {
		return fmt.Errorf("%w: of the columns that say where rows stood, $topic has to be text, $partition and $offset integers: %w", pipeline.ErrRefused, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	for _, c := range src.Columns() {
		switch typ := c.Node.Type().LogicalType(); {
		case c.Key:
			return fmt.Errorf("%w: %s: %s is a key of the path and no column: where a row stood is not read from there", pipeline.ErrRefused, f.Path, c.Name)
		case c.Name == columnTopic && !isA[*format.StringType](typ):
			return fmt.Errorf("%w: %s: the column %s is %v, and has to be text", pipeline.ErrRefused, f.Path, c.Name, c.Node.Type())
		case c.Name != columnTopic && !isA[*format.IntType](typ):
			return fmt.Errorf("%w: %s: the column %s is %v, and has to be integers", pipeline.ErrRefused, f.Path, c.Name, c.Node.Type())
		}
	}
	for _, g := range segments {
		if err := checkSegment(ctx, f, src, g); err != nil {
			return err
		}
	}
	return nil
}

// isA reports whether a logical type is one of a kind.
func isA[T format.LogicalTypeValue](typ *format.LogicalType) bool {
	if typ == nil {
		return false
	}
	_, ok := typ.Value.(T)
	return ok
}

// placesAtOnce is the number of rows that are compared at a time.
const placesAtOnce = 4096

// checkSegment compares the next rows of a file with their segment.
func checkSegment(ctx context.Context, f lake.File, src *lake.Stored, g pipeline.Segment) error {
	before := g.First
	for row := int64(0); row < g.Rows; {
		n := min(g.Rows-row, placesAtOnce)
		values, err := src.Next(ctx, int(n))
		if err != nil {
			return err
		}
		for j, c := range src.Columns() {
			for i, v := range values[j] {
				right := !v.IsNull()
				switch {
				case !right:
				case c.Name == columnTopic:
					right = string(v.ByteArray()) == g.Topic
				case c.Name == columnPartition:
					right = integerOf(c.Node, v) == g.Partition
				default:
					offset := integerOf(c.Node, v)
					right = offset >= before && offset < g.End
					before = offset
				}
				if !right {
					return fmt.Errorf("%w: %s, row %d of the shard: the column %s says another place than the certificate, by which the shard is topic %q, partition %d, offsets %d to %d, in their order",
						pipeline.ErrRefused, f.Path, row+int64(i), c.Name, g.Topic, g.Partition, g.First, g.End-1)
				}
			}
		}
		row += n
	}
	return nil
}

// integerOf returns a value of a column of integers; −1, which is no place, for values beyond int64.
func integerOf(of parquet.Node, v parquet.Value) int64 {
	signed := of.Type().LogicalType().Value.(*format.IntType).IsSigned
	switch {
	case v.Kind() == parquet.Int32 && signed:
		return int64(v.Int32())
	case v.Kind() == parquet.Int32:
		return int64(v.Uint32())
	case !signed && v.Uint64() > math.MaxInt64:
		return -1
	default:
		return v.Int64()
	}
}
