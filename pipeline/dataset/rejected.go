package dataset

import (
	"context"
)

// A RejectedRow is one that breaks a row rule.
type RejectedRow struct {
	Shard  int       // index of its shard
	Row    int64     // its number in the shard, 0 first
	Reason string    // names each bad column, and its rule
	Values []float64 // of all columns; a bad one is NaN
}

// A Rejects keeps the rejected rows of a run.
type Rejects interface {
	// Put replaces its content with the rows that each passes to its argument, in their
	// order, atomically and durably. A row's values are valid until that call returns.
	Put(ctx context.Context, columns []string, shards []Shard, each func(func(RejectedRow) error) error) error
}
