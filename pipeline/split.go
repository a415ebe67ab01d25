package pipeline

import (
	"context"

	"github.com/pacsgp/pacsgp/certify"
)

// A PlacedRole is the role of a row, with the row's place.
type PlacedRole struct {
	File    string
	Row     int64  // in the file, from 0 on
	Ordinal int64  // in the sample
	Role    string // reference, train, holdout, outside, or bad of a row without a unit
}

// Split calls use with the role of each row of a sample, in their order. It reads rows only by unit, as a
// run does before it trains: otherwise bad rows and copies have the roles of their places.
func (j Job) Split(ctx context.Context, src Source, res Resources, use func(PlacedRole) error) error {
	roles, err := j.split(ctx, src, res.WithDefaults())
	if err != nil {
		return err
	}
	for _, shard := range src.Shards() {
		for i := range shard.Rows {
			if i%hashedAtOnce == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			at := shard.First + i
			if err := use(PlacedRole{shard.Place.In, shard.Place.At + i, at, roles.of(at)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// split is the roles of a sample, those of a run if they go by unit.
func (j Job) split(ctx context.Context, src Source, res Resources) (Roles, error) {
	if j.Unit.given() {
		s, err := survey(ctx, src, j, res, nil)
		if err != nil {
			return Roles{}, err
		}
		return s.Roles, nil
	}
	n := rowsOf(src)
	j = j.ForRows(n)
	roles, err := newRoles(ctx, j, n, leftOut{}, res.Workers)
	if err != nil {
		return roles, err
	}
	return roles, j.separable(roles)
}

// of is the role of a row that is no copy.
func (r Roles) of(ordinal int64) string {
	switch {
	case r.out.bad.has(ordinal):
		return "rejected"
	case r.holdout.has(ordinal):
		return string(certify.RoleHoldout)
	case r.outside.has(ordinal):
		return "outside"
	case len(r.referenceIn(ordinal, ordinal+1)) > 0:
		return "prior"
	default:
		return string(certify.RoleTrain)
	}
}
