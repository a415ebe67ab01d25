package broker

import "github.com/segmentio/kafka-go"

// PartitionOf is the partition that clients of Kafka give to a key by default, of the numbers
// of a topic's partitions in ascending order.
func PartitionOf(key []byte, partitions []int) int {
	return kafka.Murmur2Balancer{}.Balance(kafka.Message{Key: key}, partitions...)
}
