package kafkalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/stream"
)

// testedFormat names the version of a [tested].
const testedFormat = "pacsgp-tested/1"

// tested is the value of the record that says what rows have said of what is current under a name.
// The topic of pointers keeps it under a key that is no name of a model.
type tested struct {
	Format string `json:"format"`
	Name   string `json:"name"`
	stream.Known
}

func testedKey(name string) string { return "tested\n" + name }

// Tested notes what rows have said of what is current under a name.
func (p *Publication) Tested(ctx context.Context, name string, now stream.Known) error {
	value, err := json.Marshal(tested{testedFormat, name, now})
	if err != nil {
		return err
	}
	key := testedKey(name)
	return p.send(ctx, p.cfg.Topics.Current, key, broker.Record{Key: []byte(key), Value: value})
}

// A NamedPlace is a [stream.Place] to be read.
type NamedPlace struct {
	Name      string
	Partition int
}

// EndEarlier ends what earlier owners of the same rows have left open: a transaction of somebody
// dead hides for a minute what was committed behind it.
func EndEarlier(ctx context.Context, cfg Config) error {
	if cfg.Share == nil {
		_, err := cfg.Client.NewWriter(ctx, cfg.transactional())
		return err
	}
	return EndOthers(ctx, cfg)
}

// Places reads what is current under names, and what rows have said of it. It awaits the ends of
// all open transactions, for they may hide what was committed behind them.
func Places(ctx context.Context, client *broker.Client, t Topics, names []NamedPlace) ([]stream.Place, error) {
	t = t.WithDefaults()
	if err := settled(ctx, client, t.Current); err != nil {
		return nil, err
	}
	var places []stream.Place
	for _, n := range names {
		at := stream.Place{Name: n.Name, Partition: n.Partition}
		p, err := Current(ctx, client, t, n.Name)
		if err == nil {
			at.Current = stream.Pointer{ID: p.Certificate, Of: pipeline.TopicIdentity(p.Rows)}
		} else if !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		value, err := last(ctx, client, t.Current, testedKey(n.Name))
		if err != nil {
			return nil, err
		}
		if value != nil {
			found := tested{}
			if err = json.Unmarshal(value, &found); err == nil && (found.Format != testedFormat || found.Name != n.Name) {
				err = errors.New("its format is another one")
			}
			if err == nil {
				err = found.Validate()
			}
			if err != nil {
				return nil, fmt.Errorf("kafka: topic %q: what has tested model %q is no record of format %s: %w", t.Current, n.Name, testedFormat, err)
			}
			at.Known = found.Known
		}
		places = append(places, at)
	}
	return places, nil
}

// settled waits until all that a topic has now is decided: committed or aborted.
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
