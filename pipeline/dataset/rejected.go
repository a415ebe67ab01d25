package dataset

import (
	"context"
)

// A BadRow is one that breaks a row rule.
type BadRow struct {
	Shard  int       // index of its shard
	Row    int64     // its number in the shard, 0 first
	Reason string    // names each bad column, and its rule
	Values []float64 // of all columns; a bad one is NaN
}

// A Quarantine keeps the bad rows of a run.
type Quarantine interface {
	// Put replaces its content with the rows that each passes to its argument, in their
	// order, atomically and durably. A row's values are valid until that call returns.
	Put(ctx context.Context, columns []string, shards []Shard, each func(func(BadRow) error) error) error
}
