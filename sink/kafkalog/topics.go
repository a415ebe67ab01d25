package kafkalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// Topics are the names of the topics of certificates, models and pointers.
type Topics struct{ Certificates, Models, Current string }

// TopicsOf returns the topics whose names begin with prefix; "" means pacsgp.
func TopicsOf(prefix string) Topics {
	prefix = cmp.Or(prefix, "pacsgp")
	return Topics{prefix + "-certificates", prefix + "-models", prefix + "-current"}
}

const (
	keepForEver = "-1"
	// documentBytes bounds a certificate, in bytes. It grows with its segments.
	documentBytes = 16 << 20
	// pieceBytes bounds a piece of a model, in bytes. A topic may accept less.
	pieceBytes = 512 << 10
	// otherBytes bounds the bytes of a record other than its value.
	otherBytes = 4 << 10
)

type topicSettings struct {
	topic string
	with  broker.Settings
}

// settings returns the settings with which Create makes the topics.
func (t Topics) settings() []topicSettings {
	size := strconv.Itoa(documentBytes)
	return []topicSettings{
		{t.Certificates, broker.Settings{"cleanup.policy": "delete", "retention.ms": keepForEver, "retention.bytes": keepForEver, "max.message.bytes": size}},
		{t.Models, broker.Settings{"cleanup.policy": "delete", "retention.ms": keepForEver, "retention.bytes": keepForEver}},
		{t.Current, broker.Settings{"cleanup.policy": "compact", "max.message.bytes": size}},
	}
}

// Create makes the topics that are absent. It calls report for each of the three.
func Create(ctx context.Context, client *broker.Client, t Topics, partitions, replicas int, report func(topic string, made bool)) error {
	for _, s := range t.settings() {
		made, err := client.CreateTopic(ctx, s.topic, partitions, replicas, s.with)
		if err != nil {
			return err
		}
		report(s.topic, made)
	}
	return nil
}

// Check returns an error if a topic is absent or its settings would lose records.
func Check(ctx context.Context, client *broker.Client, t Topics) error {
	_, _, err := check(ctx, client, t)
	return err
}

// check is [Check]. It also returns the most bytes of a piece of a model and of a document.
func check(ctx context.Context, client *broker.Client, t Topics) (piece, document int, err error) {
	var faults []error
	room := map[string]int{}
	for _, s := range t.settings() {
		if _, err := client.Partitions(ctx, s.topic); err != nil {
			return 0, 0, fmt.Errorf("%w (hint: pacsgp topics -c job.yaml makes it)", err)
		}
		has, err := client.TopicSettings(ctx, s.topic)
		if err != nil {
			return 0, 0, err
		}
		for name, want := range s.with {
			if name == "max.message.bytes" {
				continue
			}
			if got, known := has[name]; known && got != want {
				faults = append(faults, fmt.Errorf("topic %q has %s=%s, want %s: what is published there would be lost", s.topic, name, got, want))
			}
		}
		room[s.topic] = largest(has, pieceBytes+otherBytes)
		if n := room[s.topic]; n < 16*otherBytes {
			faults = append(faults, fmt.Errorf("topic %q has max.message.bytes=%d, want at least %d", s.topic, n, 16*otherBytes))
		}
	}
	return min(pieceBytes, room[t.Models]-otherBytes), min(room[t.Certificates], room[t.Current]) - otherBytes, errors.Join(faults...)
}

// largest returns the largest batch of a topic in bytes, or usual if brokers do not report it.
func largest(settings broker.Settings, usual int) int {
	if n, err := strconv.Atoi(settings["max.message.bytes"]); err == nil {
		return n
	}
	return usual
}
