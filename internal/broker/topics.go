package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
)

// Settings are settings of a topic, with the names and values of Kafka.
type Settings map[string]string

// CreateTopic makes a topic unless it exists. For replicas, −1 means the cluster's default.
func (c *Client) CreateTopic(ctx context.Context, topic string, partitions, replicas int, settings Settings) (made bool, err error) {
	config := kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: replicas}
	for name, value := range settings {
		config.ConfigEntries = append(config.ConfigEntries, kafka.ConfigEntry{ConfigName: name, ConfigValue: value})
	}
	err = c.Retry(ctx, ask(c.kafka.CreateTopics, kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{config}}, func(answer *kafka.CreateTopicsResponse) error {
		err, spoken := answer.Errors[topic]
		if !spoken {
			return errors.New("the answer does not speak of the topic")
		}
		made = err == nil
		if errors.Is(err, kafka.TopicAlreadyExists) {
			return nil
		}
		return err
	}))
	if err != nil {
		return false, fmt.Errorf("kafka: create topic %q: %w", topic, err)
	}
	return made, nil
}

// TopicSettings returns the settings of a topic.
func (c *Client) TopicSettings(ctx context.Context, topic string) (Settings, error) {
	found := Settings{}
	err := c.Retry(ctx, ask(c.kafka.DescribeConfigs, kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic}},
	}, func(answer *kafka.DescribeConfigsResponse) error {
		for _, r := range answer.Resources {
			if r.Error != nil {
				return r.Error
			}
			for _, entry := range r.ConfigEntries {
				found[entry.ConfigName] = entry.ConfigValue
			}
		}
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("kafka: settings of topic %q: %w", topic, err)
	}
	return found, nil
}
