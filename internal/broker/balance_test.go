package broker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/segmentio/kafka-go"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// TestFairShares: each partition has one owner, shares differ by one at most, and members keep
// what their share has room for.
func TestFairShares(t *testing.T) {
	const topic = "rows"
	divide := func(members []*Membership, partitions int) {
		t.Helper()
		var joined []kafka.GroupMember
		for i, m := range members {
			data, err := balancer{m}.UserData()
			fatal.If(t, err)
			joined = append(joined, kafka.GroupMember{ID: fmt.Sprint("member-", i), UserData: data})
		}
		var all []kafka.Partition
		for p := range partitions {
			all = append(all, kafka.Partition{Topic: topic, ID: p})
		}
		found := balancer{members[0]}.AssignGroups(joined, all)
		owners := map[int]int{}
		for i, m := range members {
			has := found[joined[i].ID][topic]
			if least := partitions / len(members); len(has) < least || len(has) > least+1 {
				t.Fatalf("member %d of %d has %v of %d partitions", i, len(members), has, partitions)
			}
			for _, p := range has {
				owners[p]++
			}
			m.changed = make(chan struct{})
			m.begin(Member{joined[i].ID, m.had + 1}, has)
		}
		for p := range partitions {
			if owners[p] != 1 {
				t.Fatalf("partition %d has %d owners", p, owners[p])
			}
		}
	}
	for partitions := range 9 {
		a, b, c := &Membership{shared: true}, &Membership{shared: true}, &Membership{shared: true}
		divide([]*Membership{a}, max(1, partitions))
		divide([]*Membership{a, b}, max(1, partitions))
		divide([]*Membership{b, a}, max(1, partitions))
		divide([]*Membership{a, b, c}, max(1, partitions))
		before := slices.Clone(b.has)
		divide([]*Membership{c, b}, max(1, partitions)) // a has gone
		for _, p := range before {
			if !slices.Contains(b.has, p) {
				t.Errorf("of %d partitions b had %v, and has %v when another member has gone", partitions, before, b.has)
			}
		}
		a.had, a.has = 1, []int{0, 1, 2, 3} // it was away, and claims what others have
		before = slices.Clone(b.has)
		divide([]*Membership{a, b, c}, max(1, partitions))
		for _, p := range b.has {
			if !slices.Contains(before, p) {
				t.Errorf("of %d partitions b had %v, and has %v when a third member came", partitions, before, b.has)
			}
		}
	}
}
