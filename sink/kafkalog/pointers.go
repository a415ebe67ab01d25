package kafkalog

import (
	"context"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/sink"
)

// Pointers are those of a name, which are read once in a while. They are for one goroutine.
type Pointers struct {
	client *broker.Client
	topics Topics
	name   string

	looked time.Time
	last   pipeline.Current
}

var _ score.Pointers = (*Pointers)(nil)

// NewPointers reads the topics through a client.
func NewPointers(client *broker.Client, t Topics, name string) *Pointers {
	return &Pointers{client: client, topics: t, name: name}
}

// Current reads the pointer, if it did not just now.
func (t *Pointers) Current(ctx context.Context) (pipeline.Current, error) {
	if t.last.ID != "" && time.Since(t.looked) < score.LookEvery {
		return t.last, nil
	}
	p, err := Current(ctx, t.client, t.topics, t.name)
	if err != nil {
		return pipeline.Current{}, err
	}
	t.looked, t.last = time.Now(), pipeline.Current{ArtifactRef: pipeline.ArtifactRef{ID: p.Certificate}, Predictor: pipeline.JudgeMean}
	return t.last, nil
}

// Artifact reads what a pointer names, and checks every hash.
func (t *Pointers) Artifact(ctx context.Context, p pipeline.Current) (score.Artifact, error) {
	a, err := Pull(ctx, t.client, t.topics, p.ID)
	if broker.Temporary(err) {
		return score.Artifact{}, score.Later(err)
	}
	if err != nil {
		return score.Artifact{}, err
	}
	c, err := certify.Parse(a.Document)
	if err != nil {
		return score.Artifact{}, err
	}
	m, err := sink.DecodeModel(a.Model)
	return score.Artifact{Certificate: c, ID: p.ID, Model: m, Digest: digest(a.Model)}, err
}
