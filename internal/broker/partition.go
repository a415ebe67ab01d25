package broker

import "github.com/segmentio/kafka-go"

// PartitionOf is the partition that clients of Kafka give to a key by default, out of ascending
// ones.
func PartitionOf(key []byte, partitions []int) int {
	return kafka.Murmur2Balancer{}.Balance(kafka.Message{Key: key}, partitions...)
}
