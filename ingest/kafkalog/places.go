package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
)

// PlacesTold are the columns of a spool, or of a copy of it, that say where each row stood
// in a topic; nil: no file has any.
func PlacesTold(files []lake.File) []string {
	var told []string
	for _, name := range []string{columnTopic, columnPartition, columnOffset} {
		if slices.ContainsFunc(files, func(f lake.File) bool {
			return slices.ContainsFunc(f.Columns, func(c ingest.Column) bool { return c.Name == name })
		}) {
			told = append(told, name)
		}
	}
	return told
}

// CheckPlaces demands that these columns of a spool say of each row what the segments say,
// which are its shards: the topic, the partition, and an offset of the segment that is not before
// that of the row before. An error that wraps [pipeline.ErrRefused] names
// the first row that stood elsewhere.
func CheckPlaces(ctx context.Context, paths, told []string, segments []pipeline.Segment) error {
	var topics []string
	for _, g := range segments {
		if !slices.Contains(topics, g.Topic) {
			topics = append(topics, g.Topic)
		}
	}
	for _, topic := range topics {
		src, err := lake.Open(ctx, lake.Config{Paths: paths, Features: told, Texts: map[string]string{columnTopic: topic}, NoDigests: true})
		if _, ok := errors.AsType[*ingest.ChoiceError](err); ok {
			return fmt.Errorf("%w: the columns %s do not tell where the rows stood: %w", pipeline.ErrRefused, strings.Join(told, ", "), err)
		}
		if err != nil {
			return err
		}
		if n := len(src.Shards()); n != len(segments) {
			return fmt.Errorf("%w: %d shards, and %d segments", pipeline.ErrRefused, n, len(segments))
		}
		for i, g := range segments {
			if g.Topic != topic {
				continue
			}
			if err := checkPlaces(ctx, src, i, told, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPlaces is CheckPlaces of one shard.
func checkPlaces(ctx context.Context, src *lake.Source, shard int, told []string, g pipeline.Segment) (err error) {
	batches, err := src.Open(ctx, shard)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, batches.Close()) }()
	before, row := float64(g.First), int64(0)
	for {
		record, err := batches.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if bad, ok := errors.AsType[*ingest.BadRowError](err); ok {
			return fmt.Errorf("%w: %w", pipeline.ErrRefused, bad)
		}
		if err != nil {
			return err
		}
		for j, name := range told {
			for i, v := range record.Column(j).(*array.Float64).Float64Values() {
				var right bool
				switch name {
				case columnTopic:
					right = v == 1
				case columnPartition:
					right = v == float64(g.Partition)
				default:
					right = v >= before && v < float64(g.End)
					before = v
				}
				if !right {
					record.Release()
					return fmt.Errorf("%w: %s, row %d of the shard: the column %s says another place than the certificate, by which the shard is topic %q, partition %d, offsets %d to %d, in their order",
						pipeline.ErrRefused, src.Shards()[shard].Name, row+int64(i), name, g.Topic, g.Partition, g.First, g.End-1)
				}
			}
		}
		row += record.NumRows()
		record.Release()
	}
}
