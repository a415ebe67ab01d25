package kafkalog

import (
	"context"

	"github.com/pacsgp/pacsgp/pipeline/stream"
)

// PutBytes sends an artifact.
func (p *Publication) PutBytes(ctx context.Context, a stream.Artifact) error { return p.put(ctx, a) }
