package pipeline

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// A PlacedRole is the role of a row, with the row's place.
type PlacedRole struct {
	File    string
	Row     int64 // in the file, from 0 on
	Ordinal int64 // in the sample
	Role    string
}

// Split calls use with the role of each row of a sample, in their order. It reads no row: bad
// rows and copies have the roles of their places.
func (j Job) Split(ctx context.Context, src Source, workers int, use func(PlacedRole) error) error {
	if j.Roles.By == RolesByContent || j.Unit.given() || j.Copies.Policy == CopiesDropped {
		return fmt.Errorf("%w: roles follow from the values of rows, which are not read here: leave out unit and roles.by %s, and remove copies from the files in place of copies: drop, or a model that is fitted on the train rows has seen copies of hold-out rows", ErrConfig, RolesByContent)
	}
	n := rowsOf(src)
	j = j.ForRows(n)
	roles, err := newRoles(ctx, j, n, leftOut{}, workers)
	if err != nil {
		return err
	}
	if err := j.separable(roles); err != nil {
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

// of is the role of a row that is not left out.
func (r Roles) of(ordinal int64) string {
	switch {
	case r.holdout.has(ordinal):
		return string(certify.RoleHoldout)
	case r.outside.has(ordinal):
		return "outside"
	case len(r.referenceIn(ordinal, ordinal+1)) > 0:
		return "reference"
	default:
		return string(certify.RoleTrain)
	}
}
