package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Expected opens shard i of a source. At the end of the shard, Next returns an error that wraps [job.ErrRefused] and names
// the shard if the digest over all columns is not the given one.
func Expected(ctx context.Context, src dataset.Source, i int, digest string) (dataset.Batches, error) {
	b, err := src.Open(ctx, i)
	if err != nil {
		return nil, err
	}
	return expected{b, src.Shards()[i], digest}, nil
}

type expected struct {
	dataset.Batches
	shard  dataset.Shard
	digest string
}

// Next returns the next rows, or an error instead of io.EOF if the digest is not the expected one.
func (e expected) Next(ctx context.Context) (arrow.Record, error) {
	r, err := e.Batches.Next(ctx)
	if errors.Is(err, io.EOF) {
		if got := dataset.ShardDigest(e.shard.First, e.shard.Rows, e.ColumnDigests()); got.String() != e.digest {
			return nil, fmt.Errorf("%w: %s: its values have changed: it has the digest %s, and %s is expected", job.ErrRefused, e.shard.Name, got, e.digest)
		}
	}
	return r, err
}
