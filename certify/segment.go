package certify

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// topicForm is the form of a topic's name.
var topicForm = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// validateSegments returns an error unless the segments, if any, can be the shards of the sample: as
// many, with as many rows, without gap or overlap in a partition. A gap could hide rows that are hard
// to predict.
func (s Sample) validateSegments() error {
	if len(s.Segments) == 0 {
		return nil
	}
	if int64(len(s.Segments)) != s.Shards {
		return fmt.Errorf("%d segments, but %d shards", len(s.Segments), s.Shards)
	}
	type partition struct {
		topic  string
		number int64
	}
	ends := map[partition]int64{}
	rows := int64(0)
	for i, g := range s.Segments {
		if !topicForm.MatchString(g.Topic) || g.Partition < 0 || g.First < 0 || g.End <= g.First || g.Rows < 1 {
			return fmt.Errorf("segment %d: %+v is no range of a topic with rows", i, g)
		}
		of := partition{g.Topic, g.Partition}
		if end, again := ends[of]; again && g.First != end {
			return fmt.Errorf("segment %d: partition %d of %s was read up to the offset %d before, and this one begins at %d", i, g.Partition, g.Topic, end, g.First)
		}
		ends[of] = g.End
		if g.Rows > s.Rows-rows {
			return errors.New("the segments have more rows than the sample")
		}
		rows += g.Rows
	}
	if rows != s.Rows {
		return fmt.Errorf("the segments have %d rows, the sample %d", rows, s.Rows)
	}
	return nil
}

// maxRanges is the largest number of ranges of partitions in a headline. A statement names all of
// them.
const maxRanges = 8

// places names the partitions of the rows, since each may have a population of its own; "" for rows
// from no log. With more ranges than most it gives only the number of partitions.
func (s Sample) places(most int) string {
	var topics []string
	partitions := map[string][]int64{}
	for _, g := range s.Segments {
		if partitions[g.Topic] == nil {
			topics = append(topics, g.Topic)
		}
		partitions[g.Topic] = append(partitions[g.Topic], g.Partition)
	}
	for i, topic := range topics {
		all := slices.Compact(slices.Sorted(slices.Values(partitions[topic])))
		topics[i] = partitionWords(all, most) + " of " + quoted(topic)
	}
	return strings.Join(topics, " and ")
}

// partitionWords names ascending partitions.
func partitionWords(all []int64, most int) string {
	var ranges []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		text := fmt.Sprint(all[i])
		if j > i {
			text += fmt.Sprintf("-%d", all[j])
		}
		ranges, i = append(ranges, text), j+1
	}
	switch {
	case len(all) == 1:
		return "partition " + ranges[0]
	case len(ranges) > most:
		return fmt.Sprintf("%d partitions", len(all))
	default:
		return "partitions " + strings.Join(ranges, ", ")
	}
}
