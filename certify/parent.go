package certify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Parent is the model of an earlier certificate with which training began. Training may begin with any Q,
// since no part of a parent, not even its inducing points, enters P (docs/explanation/theory.md). But no parent
// may have been trained on held-out rows.
type Parent struct {
	Certificate string `json:"certificate"` // SHA-256 of the certificate
	Model       string `json:"model"`       // SHA-256 of the model file
	// Rows are ranges that cover the training rows of this model and of its parents, in the
	// order of topics, partitions and offsets. Ranges of one partition do not touch.
	Rows []Span `json:"ranges"`
}

// A Span is a range of a log.
type Span struct {
	Topic     string `json:"topic"`
	Partition int64  `json:"partition"`
	First     int64  `json:"first"` // offset
	End       int64  `json:"end"`   // offset behind the last
}

// String names the topic, the partition and the offsets.
func (s Span) String() string {
	return fmt.Sprintf("topic %s, partition %d, offsets %d to %d", s.Topic, s.Partition, s.First, s.End-1)
}

// valid reports whether a log can have the range: Kafka numbers partitions with 32 bits, and has no topics . and ..
func (s Span) valid() bool {
	return topicForm.MatchString(s.Topic) && s.Topic != "." && s.Topic != ".." && 0 <= s.Partition && s.Partition <= math.MaxInt32 && 0 <= s.First && s.First < s.End
}

func (s Span) compare(other Span) int {
	return cmp.Or(cmp.Compare(s.Topic, other.Topic), cmp.Compare(s.Partition, other.Partition), cmp.Compare(s.First, other.First))
}

// Seen returns ranges that cover the training rows of the certificate's model and of its parents: one for each
// partition, from the first to the last of these rows, so that their number does not grow with the parents. It
// is nil for rows that came from no log.
func (c Certificate) Seen() []Span {
	if len(c.Sample.Segments) == 0 {
		return nil
	}
	var all []Span
	if a := c.Publisher.Training.Parent; a != nil {
		all = slices.Clone(a.Rows)
	}
	for _, g := range c.Sample.Segments {
		if g.First < g.End {
			all = append(all, Span{g.Topic, g.Partition, g.First, g.End})
		}
	}
	slices.SortFunc(all, Span.compare)
	var merged []Span
	for _, s := range all {
		last := len(merged) - 1
		if last >= 0 && merged[last].Topic == s.Topic && merged[last].Partition == s.Partition {
			merged[last].End = max(merged[last].End, s.End)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// HasSeen reports whether the parent, or one of its own parents, may have been trained on a row of the segments.
func (a *Parent) HasSeen(segments []Segment) bool {
	return slices.ContainsFunc(segments, func(g Segment) bool {
		return slices.ContainsFunc(a.Rows, func(s Span) bool {
			return s.Topic == g.Topic && s.Partition == g.Partition && s.First < g.End && g.First < s.End
		})
	})
}

// validate checks the form, and that no parent may have been trained on a held-out row of the sample.
func (a *Parent) validate(sample Sample, holdout int64) error {
	if a == nil {
		return nil
	}
	var faults faultList
	faults.when(!digestForm.MatchString(a.Certificate) || !digestForm.MatchString(a.Model), "training began with the model %q of the certificate %q: want two SHA-256", a.Model, a.Certificate)
	faults.when(len(a.Rows) == 0, "training began with a model whose rows are not named")
	for i, s := range a.Rows {
		if !s.valid() {
			faults.add(fmt.Errorf("rows of a parent: %v is no range of a log", s))
			continue
		}
		before := a.Rows[max(0, i-1)]
		faults.when(i > 0 && (before.compare(s) >= 0 || before.Topic == s.Topic && before.Partition == s.Partition && s.First <= before.End),
			"rows of a parent: %v does not follow %v", s, before)
	}
	faults.when(holdout > 0 && (len(sample.Segments) == 0 || a.HasSeen(sample.Segments)),
		"there are held-out rows, and training began with a model that may have seen them")
	return faults.err()
}
