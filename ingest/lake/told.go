package lake

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/ingest"
)

// Told has the statistics of a used column by the footers.
type Told struct {
	Column        string
	Nulls         int64
	UncountedRows int64   // rows of row groups whose footer does not count their nulls
	Least, Most   float64 // of all values; NaN if a footer does not tell
	TooLong       string  // a row group with a number beyond [ingest.MaxInteger]; "" if none is known
	// Ordered says that row groups are in the order of the column, as they usually are if it is a
	// time.
	Ordered bool
}

// A telling adds up the statistics of row groups.
type telling struct {
	Told

	lo, hi  float64 // of the last row group
	groups  int     // row groups with values
	rising  int     // those whose values are not below those of the row group before
	falling int     // those whose values are not above them
}

// leastOrdered is the least number of row groups that show an order.
const leastOrdered = 4

// Told returns the statistics of each used column by the footers, which it reads again. In Parquet
// NaN is not null and not counted.
func (s *Source) Told(ctx context.Context) ([]Told, error) {
	sums := make([]telling, len(s.columns))
	for j, name := range s.columns {
		sums[j].Told = Told{Column: name, Least: math.Inf(1), Most: math.Inf(-1)}
	}
	var file *dataFile
	var foot *footer
	for _, sh := range s.shards {
		err := ctx.Err()
		if sh.file != file && !sh.file.arrow && err == nil {
			file = sh.file
			foot, err = s.footer(ctx, file)
		}
		if err != nil {
			return nil, fmt.Errorf("lake: %s: %w", sh.file.path, err)
		}
		for j := range sums {
			if err := sums[j].add(sh.file, foot, sh.group); err != nil {
				return nil, fmt.Errorf("lake: %s, row group %d, column %q: %w", sh.file.path, sh.group.index, sums[j].Column, err)
			}
		}
	}
	told := make([]Told, len(sums))
	for j, n := range sums {
		n.Ordered = n.groups >= leastOrdered && n.Least < n.Most && max(n.rising, n.falling) == n.groups-1
		told[j] = n.Told
	}
	return told, nil
}

// add adds a row group.
func (n *telling) add(file *dataFile, foot *footer, g group) error {
	c := file.column(n.Column)
	if c.leaf < 0 {
		key := file.key(n.Column)
		if ingest.FaultOf(key) == ingest.Null {
			n.Nulls += g.rows
			return nil
		}
		n.extend(key, key)
		return nil
	}
	if file.arrow { // its footer says nothing of values
		n.UncountedRows += g.rows
		n.extend(math.NaN(), math.NaN())
		return nil
	}
	ch, err := foot.chunk(g.index, c)
	if err != nil {
		return err
	}
	n.Nulls += ch.nulls
	if c.deep > 0 && !ch.counted {
		n.UncountedRows += g.rows
	}
	if ch.nulls == ch.rows {
		return nil // it has no value
	}
	for _, bound := range []float64{ch.lo.value, ch.hi.value} {
		if ingest.FaultOf(bound) == ingest.TooLong && n.TooLong == "" {
			n.TooLong = fmt.Sprintf("%s, row group %d", file.path, g.index)
		}
	}
	n.extend(ch.lo.value, ch.hi.value)
	return nil
}

// extend adds the bounds of a row group's values; NaN means unknown.
func (n *telling) extend(lo, hi float64) {
	if n.groups > 0 && lo >= n.hi {
		n.rising++
	}
	if n.groups > 0 && hi <= n.lo {
		n.falling++
	}
	n.groups, n.lo, n.hi = n.groups+1, lo, hi
	n.Least, n.Most = min(n.Least, lo), max(n.Most, hi)
}

// footer reads the footer of a Parquet file again.
func (s *Source) footer(ctx context.Context, f *dataFile) (*footer, error) {
	file, err := s.store.open(ctx, f.path)
	if err != nil {
		return nil, err
	}
	k, err := s.cache.find(f, file)
	return k.foot, errors.Join(err, file.Close())
}
