package pipeline

import (
	"context"
	"fmt"
	"slices"
)

// toldRoles are roles that were found before, by training for the last pass and from the numbers of
// rows for the first: those of all rows follow from them and the hashes.
type toldRoles struct {
	order   []int64 // ordinals of the rows of lowest rank, in their order
	outside int64   // outside rows
}

// tell notes the roles in the handover, unless they depend on the rows' values.
func (h *Handover) tell(job Job, r Roles) {
	if job.sifts() {
		return
	}
	for _, x := range r.order {
		h.Order = append(h.Order, x.ordinal)
	}
	h.Outside = r.Outside()
}

// told are the roles that the handover tells; nil: none.
func (h *Handover) told(job Job) *toldRoles {
	if h.Order == nil || job.sifts() {
		return nil
	}
	return &toldRoles{h.Order, h.Outside}
}

// sameRoles demands that the roles that the handover told to the parts are those of their rows.
func (h *Handover) sameRoles(ctx context.Context, job Job, of subject, res Resources) error {
	if h.told(job) == nil {
		return nil
	}
	job = job.ForRows(of.rows)
	if err := job.rolesFit(of.rows, res); err != nil {
		return err
	}
	r, err := newRoles(ctx, job, of.rows, leftOut{}, res.Workers)
	if err != nil {
		return err
	}
	var found Handover
	if found.tell(job, r); !slices.Equal(found.Order, h.Order) || found.Outside != h.Outside || found.Outside != of.outside {
		return fmt.Errorf("%w: the handover tells other roles than those of %d rows under the key of the job", ErrPart, of.rows)
	}
	return nil
}

// roles are those of n rows, of which no hold-out row and no outside row is known yet.
func (t *toldRoles) roles(job Job, n int64) (Roles, error) {
	r := rolesOf(job, n, leftOut{})
	hasher := newRoleHasher(job.Roles.Key)
	for _, ordinal := range t.order {
		if ordinal < 0 || ordinal >= n {
			return r, fmt.Errorf("%w: the handover has a row %d, and there are %d: were rows changed since training?", ErrPart, ordinal, n)
		}
		r.order = append(r.order, hasher.rank(ordinal))
	}
	if k := min(job.references(n), int64(len(t.order))); k > 0 {
		r.reference = slices.Sorted(slices.Values(t.order[:k]))
	}
	return r, nil
}

// see finds the hold-out rows and the outside rows among those of some shards, if they are unknown.
func (p *rowPass) see(ctx context.Context, shards []int) error {
	if !p.unseen || p.roles.holdout == nil && p.roles.outside == nil {
		return nil
	}
	apart := p.roles.setApart(p.job.rule(p.of.rows))
	for i := 0; i < len(shards); {
		from := p.shards[shards[i]].First
		to := from
		for ; i < len(shards) && p.shards[shards[i]].First == to; i++ {
			to += p.shards[shards[i]].Rows
		}
		if _, err := firstByHash(ctx, p.job.Roles.Key, from, to, 0, apart, p.res.Workers); err != nil {
			return err
		}
	}
	return nil
}
