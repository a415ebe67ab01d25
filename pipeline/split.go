package pipeline

import (
	"context"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
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
func Split(ctx context.Context, j job.Job, src dataset.Source, res job.Resources, use func(PlacedRole) error) error {
	roles, err := split(ctx, j, src, res.WithDefaults())
	if err != nil {
		return err
	}
	for _, shard := range src.Shards() {
		for i := range shard.Rows {
			if i%dataset.HashedAtOnce == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			at := shard.First + i
			if err := use(PlacedRole{shard.Place.In, shard.Place.At + i, at, roles.Of(at)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// split is the roles of a sample, those of a run if they go by unit.
func split(ctx context.Context, j job.Job, src dataset.Source, res job.Resources) (dataset.Roles, error) {
	if j.Unit.Given() {
		s, err := pass.First(ctx, src, j, res, nil)
		if err != nil {
			return dataset.Roles{}, err
		}
		return s.Roles, nil
	}
	n := dataset.RowsOf(src)
	j = j.ForRows(n)
	roles, err := dataset.NewRoles(ctx, j, n, dataset.LeftOut{}, res.Workers)
	if err != nil {
		return roles, err
	}
	return roles, pass.Separable(j, roles)
}
