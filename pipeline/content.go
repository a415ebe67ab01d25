package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
)

// With [RolesByContent] the role of a row follows from a keyed hash of its features: rows of equal
// features have one role, which is known before their targets. Rows of the highest hashes are
// hold-out rows, as by ordinal; those of the lowest are reference rows, in the share that
// [ReferenceCount] is of all rows; the others are train rows. The number of each depends on the
// rows. docs/format.md, section "Roles", specifies it.

// stated is a certificate's statement about the roles.
func (d RolesDecl) stated() certify.Roles {
	r := certify.Roles{Key: d.Key, ByContent: d.By == RolesByContent, Last: d.Last}
	if r.ByContent {
		r.Holdout = d.Holdout
	}
	return r
}

// contentRoles gathers roles while all rows are read, in whatever order.
type contentRoles struct {
	key         string
	features    []int  // columns
	hash        byHash // the rule for hold-out rows
	referenceTo uint64 // reference rows have lower hashes

	mu        sync.Mutex
	holdout   *ordinalSet
	reference []int64
	lowest    rankHeap // the rows of lowest rank, without hold-out rows
}

// maxReferenceByContent bounds the reference rows: rows of frequent features may be among them.
const maxReferenceByContent = 2 * MaxReference

// A siftedRoles gathers roles that follow from values while all rows are read.
type siftedRoles interface {
	add(b block, but []int)
	roles(n int64, out leftOut) (Roles, error)
}

// siftedRoles is nil where roles follow from ordinals alone.
func (j Job) siftedRoles(n int64, columns int, used []int) siftedRoles {
	switch {
	case j.Unit.given():
		return newUnitRoles(j, n, columns)
	case j.Roles.By == RolesByContent:
		return newContentRoles(j, n, used)
	}
	return nil
}

// newContentRoles is for rows whose last used column is the target.
func newContentRoles(job Job, n int64, used []int) *contentRoles {
	c := &contentRoles{key: job.Roles.Key, features: used[:len(used)-1], holdout: newOrdinalSet(n)}
	c.hash = byHash{held: hashUnits(job.Roles.Holdout), last: n}
	if job.Scaling.byReference() {
		c.referenceTo = hashUnits(float64(ReferenceCount(n)) / float64(n))
	}
	return c
}

// add adds the rows of a block, except some, ascending.
func (c *contentRoles) add(b block, but []int) {
	text := append([]byte("pacsgp/roles/features/1\x00"+c.key), 0)
	prefix := len(text)
	var ranks []rank
	var reference []int64
	for i := range b.rows {
		if len(but) > 0 && but[0] == i {
			but = but[1:]
			continue
		}
		text = text[:prefix]
		for _, column := range c.features {
			text = binary.LittleEndian.AppendUint64(text, numberBits(b.columns[column][i]))
		}
		sum := sha256.Sum256(text)
		x := rank{binary.BigEndian.Uint64(sum[:8]), b.first + int64(i)}
		if c.hash.heldOut(x) {
			c.holdout.add(x.ordinal)
			continue
		}
		if ranks = append(ranks, x); x.hash < c.referenceTo {
			reference = append(reference, x.ordinal)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reference = append(c.reference, reference[:min(len(reference), maxReferenceByContent+1)]...)
	for _, x := range ranks {
		c.lowest.keep(x, maxReferenceByContent)
	}
}

// roles are the roles of a sample of n rows, once all are added.
func (c *contentRoles) roles(n int64, out leftOut) (Roles, error) {
	r := Roles{Rows: n, reference: c.reference, out: out}
	if len(c.reference) > maxReferenceByContent {
		return r, fmt.Errorf("%w: more than %s are reference rows, for few features repeat so often: leave roles.by out", ErrData, certify.Count(maxReferenceByContent, "row"))
	}
	if c.hash.held > 0 {
		c.holdout.seal()
		r.holdout = c.holdout
	}
	slices.Sort(r.reference)
	r.order = c.lowest
	slices.SortFunc(r.order, rank.compare)
	r.order = r.order[:min(len(r.order), max(startRows, len(r.reference)))]
	return r, nil
}
