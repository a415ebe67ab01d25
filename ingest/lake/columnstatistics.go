package lake

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/ingest"
)

// ColumnStatistics has the statistics of a used column by the footers.
type ColumnStatistics struct {
	Column        string
	Nulls         int64
	UncountedRows int64   // rows of row groups whose footer does not count their nulls
	Least, Most   float64 // of all values; NaN if a footer does not state it
	TooLong       string  // a row group with a number beyond [ingest.MaxInteger]; "" if none is known
}

// Statistics returns the statistics of each used column by the footers, which it reads again. In Parquet
// NaN is not null and not counted.
func (s *Source) Statistics(ctx context.Context) ([]ColumnStatistics, error) {
	sums := make([]ColumnStatistics, len(s.columns))
	for j, name := range s.columns {
		sums[j] = ColumnStatistics{Column: name, Least: math.Inf(1), Most: math.Inf(-1)}
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
			return nil, fmt.Errorf("%s: %w", sh.file.Path, err)
		}
		for j := range sums {
			if err := sums[j].add(sh.file, foot, sh.group); err != nil {
				return nil, fmt.Errorf("%s, row group %d, column %q: %w", sh.file.Path, sh.group.index, sums[j].Column, err)
			}
		}
	}
	return sums, nil
}

func (n *ColumnStatistics) add(file *dataFile, foot *footer, g group) error {
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
			n.TooLong = fmt.Sprintf("%s, row group %d", file.Path, g.index)
		}
	}
	n.extend(ch.lo.value, ch.hi.value)
	return nil
}

// extend adds the bounds of a row group's values; NaN means unknown.
func (n *ColumnStatistics) extend(lo, hi float64) {
	n.Least, n.Most = min(n.Least, lo), max(n.Most, hi)
}

// footer reads the footer of a Parquet file again.
func (s *Source) footer(ctx context.Context, f *dataFile) (*footer, error) {
	file, err := s.store.Open(ctx, f.Path)
	if err != nil {
		return nil, err
	}
	k, err := s.cache.find(f, file)
	return k.foot, errors.Join(err, file.Close())
}
