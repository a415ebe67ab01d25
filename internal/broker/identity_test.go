package broker

import (
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// identityBytes is an answer about a topic, as another library writes it.
func identityBytes(topics ...kmsg.MetadataResponseTopic) []byte {
	answer := kmsg.NewPtrMetadataResponse()
	answer.Version = identityVersion
	cluster, rack := "cluster-7", "rack"
	answer.ClusterID, answer.ControllerID = &cluster, 3
	for i := range int32(200) {
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port = i, "broker.example.org", 9092
		if i%2 == 0 {
			b.Rack = &rack
		}
		answer.Brokers = append(answer.Brokers, b)
	}
	answer.Topics = topics
	head := append(binary.BigEndian.AppendUint32(nil, identityCorrelation), 0)
	return answer.AppendTo(head)
}

func identityTopic() kmsg.MetadataResponseTopic {
	topic := kmsg.NewMetadataResponseTopic()
	name := "rows"
	topic.Topic, topic.TopicID = &name, [16]byte{15: 1}
	for i := range int32(300) {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Replicas, p.ISR = i, []int32{1, 2, 3}, []int32{1, 2}
		topic.Partitions = append(topic.Partitions, p)
	}
	return topic
}

// TestIdentityAnswer: what another library writes is read, and what is cut short, or speaks of
// no topic, is an error.
func TestIdentityAnswer(t *testing.T) {
	whole := identityBytes(identityTopic())
	got, err := decodeIdentity(whole)
	if err != nil || got.Identity != (Identity{"cluster-7", "AAAAAAAAAAAAAAAAAAAAAQ"}) || got.code != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	missing := identityTopic()
	missing.ErrorCode, missing.TopicID, missing.Partitions = 3, [16]byte{}, nil
	if got, err := decodeIdentity(identityBytes(missing)); err != nil || got.code != 3 || got.Topic != "" {
		t.Errorf("a topic that is missing: %+v, %v", got, err)
	}
	if got, err := decodeIdentity(identityBytes()); err == nil {
		t.Errorf("an answer about no topic: %+v", got)
	}
	for n := range whole {
		if got, err := decodeIdentity(whole[:n]); err == nil {
			t.Fatalf("cut after %d bytes: %+v", n, got)
		}
	}
}

func FuzzIdentityAnswer(f *testing.F) {
	f.Add(identityBytes(identityTopic()))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeIdentity(data)
		if err == nil && len(got.Cluster) > len(data) {
			t.Errorf("%+v from %d bytes", got, len(data))
		}
	})
}
