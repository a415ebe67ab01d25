package certify

import (
	"errors"
	"fmt"
	"regexp"
)

// topicForm is the form of a topic's name.
var topicForm = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// String names the topic, the partition and the offsets.
func (g Segment) String() string { return Span{g.Topic, g.Partition, g.First, g.End}.String() }

// validateSegments returns an error unless the segments, if any, can be the shards of the sample: there is one
// for each shard, together they have all rows, and those of a partition follow each other without gap or
// overlap. A gap could hide rows that are hard to predict.
func (s Sample) validateSegments(all int64) error {
	if len(s.Segments) == 0 {
		return nil
	}
	if int64(len(s.Segments)) != s.Shards {
		return fmt.Errorf("%d segments, but %d shards", len(s.Segments), s.Shards)
	}
	ends := map[Span]int64{} // offset after the last segment so far, by partition
	rows := int64(0)
	for i, g := range s.Segments {
		if !(Span{g.Topic, g.Partition, g.First, g.End}).valid() || g.Rows < 1 || g.Rows > g.End-g.First {
			return fmt.Errorf("segment %d: %v, with %d rows, is no range of a topic with rows", i, g, g.Rows)
		}
		of := Span{Topic: g.Topic, Partition: g.Partition}
		if end, again := ends[of]; again && g.First != end {
			return fmt.Errorf("segment %d: partition %d of %s was read up to the offset %d before, and this one begins at %d", i, g.Partition, g.Topic, end, g.First)
		}
		ends[of] = g.End
		if g.Rows > all-rows {
			return errors.New("the segments have more rows than the sample")
		}
		rows += g.Rows
	}
	if rows != all {
		return fmt.Errorf("the segments have %d rows, the dataset %d", rows, all)
	}
	return nil
}
