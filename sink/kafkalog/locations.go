package kafkalog

import (
	"context"
	"errors"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/stream"
)

// Locations returns the current certificate of each name. It waits until open transactions end,
// since they may hide later records.
func Locations(ctx context.Context, client *broker.Client, t Topics, names []string) ([]stream.Location, error) {
	if err := settled(ctx, client, t.Current); err != nil {
		return nil, err
	}
	var locations []stream.Location
	for _, n := range names {
		at := stream.Location{Name: n}
		p, err := Current(ctx, client, t, n)
		if err == nil {
			at.Current = stream.Pointer{ID: p.Certificate, Of: pipeline.TopicIdentity(p.Source)}
		} else if !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		locations = append(locations, at)
	}
	return locations, nil
}

// settled waits until each record that a topic has now is committed or aborted.
func settled(ctx context.Context, client *broker.Client, topic string) error {
	partitions, err := client.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	written, err := client.Written(ctx, topic, partitions)
	if err != nil {
		return err
	}
	for {
		_, decided, err := client.Bounds(ctx, topic, partitions)
		if err != nil {
			return err
		}
		open := false
		for p, end := range written {
			open = open || decided[p] < end
		}
		if !open {
			return nil
		}
		if err := broker.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
