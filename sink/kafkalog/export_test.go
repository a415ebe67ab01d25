package kafkalog

import "context"

// Put sends an artifact.
func (p *Publication) Put(ctx context.Context, a Artifact) error {
	return p.put(ctx, a, digest(a.Model))
}
