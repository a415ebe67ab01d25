package broker

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/segmentio/kafka-go"
)

// The members of a group divide its partitions by what each says of itself when it joins,
// and all by the same rule: one of them computes the division, and the group keeps it for a
// generation.

// one gives all partitions to one member: to the one that had them in the latest
// generation, so that work is not begun anew when others come and go.
type one struct{ of *Membership }

// ProtocolName is the same in all members.
func (one) ProtocolName() string { return "pacsgp-one" }

// UserData says when this member had the partitions.
func (b one) UserData() ([]byte, error) {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	return binary.BigEndian.AppendUint64(nil, uint64(b.of.had)), nil
}

// AssignGroups chooses.
func (one) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	led := func(m kafka.GroupMember) uint64 {
		if len(m.UserData) != 8 {
			return 0
		}
		return binary.BigEndian.Uint64(m.UserData)
	}
	all := kafka.GroupMemberAssignments{}
	for _, m := range members {
		all[m.ID] = map[string][]int{}
	}
	if len(members) == 0 {
		return all
	}
	chosen := slices.MinFunc(members, func(a, b kafka.GroupMember) int {
		return cmp.Or(cmp.Compare(led(b), led(a)), cmp.Compare(a.ID, b.ID))
	})
	for _, p := range partitions {
		all[chosen.ID][p.Topic] = append(all[chosen.ID][p.Topic], p.ID)
	}
	return all
}

// fair shares the partitions evenly, and moves as few as it can: who keeps its partitions
// keeps its windows.
type fair struct{ of *Membership }

// ProtocolName is the same in all members.
func (fair) ProtocolName() string { return "pacsgp-shared" }

// UserData says which partitions this member has had, and when.
func (b fair) UserData() ([]byte, error) {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	text := binary.BigEndian.AppendUint64(nil, uint64(b.of.had))
	for _, p := range b.of.has {
		text = binary.BigEndian.AppendUint32(text, uint32(p))
	}
	return text, nil
}

// A claimant is a member that partitions are shared among.
type claimant struct {
	id         string
	generation uint64
	had, has   []int
}

// AssignGroups divides.
func (fair) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	all := kafka.GroupMemberAssignments{}
	if len(members) == 0 || len(partitions) == 0 {
		return all
	}
	var among []*claimant
	for _, m := range members {
		c := &claimant{id: m.ID}
		if len(m.UserData) >= 8 {
			c.generation = binary.BigEndian.Uint64(m.UserData)
			for rest := m.UserData[8:]; len(rest) >= 4; rest = rest[4:] {
				c.had = append(c.had, int(binary.BigEndian.Uint32(rest)))
			}
		}
		among = append(among, c)
	}
	// Who had a partition in the latest generation has more right to it than a member that
	// was away since.
	slices.SortFunc(among, func(a, b *claimant) int {
		return cmp.Or(cmp.Compare(b.generation, a.generation), cmp.Compare(a.id, b.id))
	})
	var free []int
	for _, p := range partitions {
		free = append(free, p.ID)
	}
	slices.Sort(free)
	for _, c := range among {
		for _, p := range c.had {
			if i, ok := slices.BinarySearch(free, p); ok {
				c.has, free = append(c.has, p), slices.Delete(free, i, i+1)
			}
		}
	}
	// Those that have most keep the ones that are left over when all have as many.
	slices.SortStableFunc(among, func(a, b *claimant) int { return cmp.Compare(len(b.has), len(a.has)) })
	each, over := len(partitions)/len(members), len(partitions)%len(members)
	room := func(i int) int {
		if i < over {
			return each + 1
		}
		return each
	}
	for i, c := range among {
		if n := room(i); len(c.has) > n {
			c.has, free = c.has[:n], append(free, c.has[n:]...)
		}
	}
	slices.Sort(free)
	for i, c := range among {
		n := room(i) - len(c.has)
		c.has, free = append(c.has, free[:n]...), free[n:]
		all[c.id] = map[string][]int{partitions[0].Topic: c.has}
	}
	return all
}
