package broker

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/segmentio/kafka-go"
)

// A balancer divides the partitions of a group among its members, by the data that each sends when
// it joins. Members of the latest generation keep their partitions as far as possible, so that work
// does not start again when others join or leave.
type balancer struct{ of *Membership }

// ProtocolName returns the same name in all members.
func (b balancer) ProtocolName() string {
	if b.of.shared {
		return "pacsgp-shared"
	}
	return "pacsgp-one"
}

// UserData returns the last generation in which this member had partitions, and which they were.
func (b balancer) UserData() ([]byte, error) {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	text := binary.BigEndian.AppendUint64(nil, uint64(b.of.had))
	for _, p := range b.of.has {
		text = binary.BigEndian.AppendUint32(text, uint32(p))
	}
	return text, nil
}

// A claimant is a member that gets partitions.
type claimant struct {
	id         string
	generation uint64
	had, has   []int
}

// AssignGroups divides the partitions evenly, or gives all to one member.
func (b balancer) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
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
	// Claims of the latest generation go first: those of an absent member are older.
	slices.SortFunc(among, func(a, b *claimant) int {
		return cmp.Or(cmp.Compare(b.generation, a.generation), cmp.Compare(a.id, b.id))
	})
	var free []int
	for _, p := range partitions {
		free = append(free, p.ID)
	}
	slices.Sort(free)
	if b.of.shared {
		share(among, free)
	} else {
		among[0].has = free
	}
	for _, c := range among {
		all[c.id] = map[string][]int{partitions[0].Topic: c.has}
	}
	return all
}

// share divides partitions evenly and moves as few as possible.
func share(among []*claimant, free []int) {
	each, over := len(free)/len(among), len(free)%len(among)
	for _, c := range among {
		for _, p := range c.had {
			if i, ok := slices.BinarySearch(free, p); ok {
				c.has, free = append(c.has, p), slices.Delete(free, i, i+1)
			}
		}
	}
	// The members with most partitions keep the remainder of an even division.
	slices.SortStableFunc(among, func(a, b *claimant) int { return cmp.Compare(len(b.has), len(a.has)) })
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
	}
}
