package certify

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

const (
	// MaxGroupValues is the largest number of values that have a group of their own.
	MaxGroupValues = 20
	// leastGroup is the least number of held-out rows for which a group has a bound below 1.
	leastGroup = 30

	maxGroupText = 64 // characters
)

// groups bounds the risk of predictions for each group of rows, under the assumptions of holdout. Given which
// rows belong to a group, they are independent draws of that group's distribution (docs/explanation/theory.md,
// 22). The claim's Bound is the largest of all groups.
func groups() method {
	return method{id: MethodGroups, needs: LossKey{PredictorMean, SubsetHoldout}, claims: func(ev Evidence, needs LossKey, share Share) ([]Claim, error) {
		t := ev.LossSums.Of(needs.Predictor, needs.Subset)
		each := slices.Clone(t.Groups)
		if len(each) == 0 {
			return nil, errors.New("certify: groups without counts")
		}
		bounded := ev.Grouping.bounded()
		g := ev.claim(needs, ClaimGroups, LossSum{Risk: t.Risk.whole(), Groups: slices.Clone(each)}, product(share, partOf(1, bounded)))
		for i := range each {
			of := &each[i]
			if of.Bound = 1; !ev.Grouping.empty(i) && !ev.Delta.Reuse.ended() {
				var err error
				if of.Bound, err = groupUpper(of.Misses, of.N, bounded, ev.Delta.Declared, share); err != nil {
					return nil, err
				}
			}
			g.Bound = max(g.Bound, of.Bound)
		}
		g.Groups = each
		return []Claim{g}, nil
	}}
}

// A Grouping divides rows by the values in one column. Each listed value has a group of its own; rows with any
// other value form one more group, the last.
type Grouping struct {
	Column      string    `json:"column"`
	NotAFeature bool      `json:"not_a_feature,omitempty"` // the column is not a feature of the model
	Values      []float64 `json:"values"`                  // ascending, raw units
	Texts       []string  `json:"texts,omitempty"`         // texts whose labels are the values, in their order ([Label]); nil for a column of numbers
	Prior       []int64   `json:"prior,omitempty"`         // prior rows of each group; nil if the dataset has no prior rows
}

// empty reports whether group i has no prior rows in a dataset that has some. Such a group gets no part of δ
// and no bound below 1.
func (g *Grouping) empty(i int) bool { return g.Prior != nil && g.Prior[i] == 0 }

// bounded returns the number of groups that get a part of δ.
func (g *Grouping) bounded() (n int64) {
	for i := range len(g.Values) + 1 {
		if !g.empty(i) {
			n++
		}
	}
	return n
}

// A Group has the counts of held-out rows of one group.
type Group struct {
	N      int64   `json:"n"`
	Misses int64   `json:"misses"`          // rows with a loss of 1
	Bound  float64 `json:"bound,omitempty"` // in a claim, upper bound on the risk for a new row of the group; 0 in a loss sum
}

// GroupValues returns the values that have a group of their own; nil without groups.
func (ev Evidence) GroupValues() []float64 {
	if ev.Grouping == nil {
		return nil
	}
	return ev.Grouping.Values
}

// Of returns the index of the group to which rows with this value belong.
func (g *Grouping) Of(value float64) int {
	if at, ok := slices.BinarySearch(g.Values, value); ok {
		return at
	}
	return len(g.Values)
}

// AddGroup counts a held-out row of the group with index number, of the given number of groups.
func (t *LossSum) AddGroup(number, groups int, lost bool) {
	if t.Groups == nil {
		t.Groups = make([]Group, groups)
	}
	t.Groups[number].N++
	if lost {
		t.Groups[number].Misses++
	}
}

// groupUpper returns the bound for one of the given number of groups, with n held-out rows of which k are
// missed. It is 1 for n below leastGroup. Numbers out of range, NaN included, are an error.
func groupUpper(k, n, groups int64, delta float64, share Share) (float64, error) {
	if n < leastGroup {
		return 1, nil
	}
	return BinomialUpper(k, n, delta, product(share, partOf(1, groups)))
}

// GroupUses returns entries for [Reuse.Earlier] that charge at least as much as one use that showed rows and
// misses of each group. Such a use has C(n+m, m) = Π (n+i)/i possible answers, i = 1 … m, with m = 2·groups −
// 1. An entry of n/i, rounded up, pays for the factor i.
func GroupUses(n int64, groups int) []int64 {
	var all []int64
	for i := int64(1); i < 2*int64(groups); i++ {
		all = append(all, (n+i-1)/i)
	}
	return all
}

// validate checks the form of a grouping, and its column against the sample. A nil grouping is valid.
func (g *Grouping) validate(s Sample, extra *Mean, l Counts) error {
	if g == nil {
		return nil
	}
	faults := faultList{ColumnName(g.Column), GroupValues(g.Values), g.validateTexts()}
	at := slices.Index(s.inputs(l), g.Column)
	want := len(s.features(extra, nil, l)) - 1
	faults.when(at < 0 || at > want || g.NotAFeature && at != want, "the column %q of the groups is neither a feature nor behind the features in %s", g.Column, List(s.Columns))
	rows := int64(0)
	for _, n := range g.Prior {
		rows += n
		if n < 0 || n > l.Prior {
			rows = -1
			break
		}
	}
	faults.when(rows != l.Prior || g.Prior != nil && len(g.Prior) != len(g.Values)+1, "%d groups with the prior rows %v, of %d", len(g.Values)+1, g.Prior, l.Prior)
	return faults.err()
}

// validateTexts reports faults of the texts, if there are any.
func (g *Grouping) validateTexts() error {
	if g.Texts == nil {
		return nil
	}
	if len(g.Texts) != len(g.Values) || !g.NotAFeature {
		return fmt.Errorf("groups by %d texts and %d values, a feature: %t", len(g.Texts), len(g.Values), !g.NotAFeature)
	}
	for i, text := range g.Texts {
		if err := GroupText(text); err != nil {
			return err
		}
		if Label(text) != g.Values[i] {
			return fmt.Errorf("the value %v of the groups is not the label of %q", g.Values[i], text)
		}
	}
	return nil
}

// GroupText returns an error unless the text may name a group: 1 to 64 printable characters without quotes and
// backslashes.
func GroupText(text string) error { return word("text", text, maxGroupText) }

// Label returns the number that stands for a text in a column of labels: the first 53 bits of
// SHA-256("pacsgp/label/1" 0x00 ‖ text). Texts with the same number are one label.
func Label(text string) float64 {
	sum := sha256.Sum256([]byte("pacsgp/label/1\x00" + text))
	return float64(binary.BigEndian.Uint64(sum[:8]) >> 11)
}

// GroupValues returns an error unless values are 1 to [MaxGroupValues] finite numbers, ascending.
func GroupValues(values []float64) error {
	if n := len(values); n < 1 || n > MaxGroupValues {
		return fmt.Errorf("groups by %d values, want 1 to %d", n, MaxGroupValues)
	}
	for i, v := range values {
		if !(math.Abs(v) <= math.MaxFloat64) || v == 0 && math.Signbit(v) || i > 0 && !(values[i-1] < v) {
			return fmt.Errorf("the values %v of the groups are not finite and ascending", values)
		}
	}
	return nil
}

// validateGroups reports faults of the counts by group, if there are any.
func (t *LossSum) validateGroups(n int64, ev Evidence) error {
	if t.Groups == nil {
		return nil
	}
	if ev.Grouping == nil || len(t.Groups) != len(ev.Grouping.Values)+1 || !ev.Loss.Kind.Counts() {
		return fmt.Errorf("counts of %d groups do not go with groups by %d values and the loss %s", len(t.Groups), len(ev.GroupValues()), ev.Loss.Kind)
	}
	misses := t.Risk.ones()
	for _, of := range t.Groups {
		if of.Misses < 0 || of.Misses > of.N || of.N > n || of.Misses > misses || of.Bound != 0 {
			return fmt.Errorf("a group misses %d of %d rows, of %d of %d that are left", of.Misses, of.N, misses, n)
		}
		n, misses = n-of.N, misses-of.Misses
	}
	if n != 0 || misses != 0 {
		return fmt.Errorf("%d rows and %d misses are in no group", n, misses)
	}
	return nil
}
