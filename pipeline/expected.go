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

// Expected is a source with the expected digest over all columns of each shard. At the end of another shard, Next
// returns an error that wraps [job.ErrRefused] and names the shard.
type Expected struct {
	dataset.Opened
	Digests []string
}

// Open reads a shard.
func (e Expected) Open(ctx context.Context, i int) (dataset.Batches, error) {
	b, err := e.Opened.Open(ctx, i)
	if err != nil {
		return nil, err
	}
	return expected{b, e.Shards()[i], e.Digests[i]}, nil
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
