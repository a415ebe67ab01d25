package pass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// badIn calls use with each row of a block that is bad in a used column, and with these
// columns.
func badIn(b dataset.Block, used []int, use func(i int, columns []int)) {
	if b.Reasons == nil || b.Reasons.NullN() == b.Rows {
		return
	}
	var columns []int
	for i := range b.Rows {
		if b.Reasons.IsNull(i) {
			continue
		}
		columns = columns[:0]
		for _, c := range used {
			if v := b.Columns[c][i]; v-v != 0 {
				columns = append(columns, c)
			}
		}
		if len(columns) > 0 {
			use(i, columns)
		}
	}
}

// A badReport gathers facts about rejected rows for people.
type badReport struct {
	mu      sync.Mutex
	ordinal int64 // of the first; -1: there is none
	first   string
	columns map[int]int64 // rejected rows by column
}

func (r *badReport) see(s dataset.Shard, b dataset.Block, i int, columns []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range columns {
		r.columns[c]++
	}
	if ordinal := b.First + int64(i); r.ordinal < 0 || ordinal < r.ordinal {
		r.ordinal = ordinal
		r.first = fmt.Sprintf("%s, row %d (from 0): %s", s.Name, ordinal-s.First, b.Reasons.Value(i))
	}
}

// words names the first rejected row, and the columns with the most rejected rows.
func (r *badReport) words(names []string) string {
	if r.ordinal < 0 {
		return ""
	}
	const most = 3
	worst := slices.SortedFunc(maps.Keys(r.columns), func(a, b int) int {
		return cmp.Or(cmp.Compare(r.columns[b], r.columns[a]), cmp.Compare(a, b))
	})
	var columns []string
	for _, c := range worst[:min(most, len(worst))] {
		columns = append(columns, fmt.Sprintf("%q in %s", names[c], words.Count(r.columns[c], "row")))
	}
	text := "the first is " + r.first
	if len(columns) > 0 {
		text += "; bad are " + strings.Join(columns, ", ")
	}
	if len(worst) > most {
		text += ", …"
	}
	return text
}

// A rowFilter is the result of a separate pass before the split is known: the rows that are left out.
type rowFilter struct {
	out        dataset.LeftOut
	duplicates job.Duplicates           // of the rows that are not bad; if duplicates are dropped
	bad        string                   // names the rejected rows, in words
	split      *dataset.UnitSplit       // nil: the split follows from ordinals alone
	columns    [][]dataset.ColumnDigest // of the rows read, by shard
}

// affordFilter refuses sets of rows beyond the memory of the job.
func affordFilter(j job.Job, rows int64, res job.Resources) error {
	need := int64(0)
	if j.Rejected.Some() {
		need = rows / 8
	}
	if j.Drops() {
		need += rows / 8
	}
	if need > max(res.Memory, 1<<26) {
		return fmt.Errorf("%w: leaving rows out takes a bit a row for duplicates, and one for rejected rows, %d MiB for %d rows, and the job has %d: give more memory, or drop no duplicates and tolerate no rejected rows",
			job.ErrData, need>>20, rows, res.Memory>>20)
	}
	return nil
}

// recordsBut appends the records of the rows of a block, except those of which but is true.
func recordsBut(to []rowRecord, b dataset.Block, but func(i int) bool) []rowRecord {
	for i, m := range b.Marks {
		if !but(i) {
			to = append(to, rowRecord{m, uint64(b.First + int64(i))}) //nolint:gosec // not negative
		}
	}
	return to
}

// filterRows finds the rows that are bad in the used columns, the duplicates if the job drops them, and
// the split if it follows from units.
func filterRows(ctx context.Context, src dataset.Source, job job.Job, used []int, res job.Resources) (s *rowFilter, err error) {
	n, shards := dataset.RowsOf(src), src.Shards()
	s = &rowFilter{columns: make([][]dataset.ColumnDigest, len(shards))}
	if job.Unit.Given() {
		s.split = dataset.NewUnitSplit(job, n, len(src.Columns()))
	}
	if err := affordFilter(job, n, res); err != nil {
		return nil, err
	}
	strict := job.Encode.Strict(src.Columns(), used)
	var marked []int
	var counter *counter
	if job.Rejected.Some() {
		s.out.Bad = dataset.NewRowSet(n)
	}
	if job.Drops() {
		s.out.Duplicates, marked = dataset.NewRowSet(n), used
		counter = newCounter(n, res, s.out.Duplicates)
		defer func() { err = errors.Join(err, counter.close()) }()
	}
	bad := badReport{ordinal: -1, columns: map[int]int64{}}
	err = dataset.Shards(ctx, src, dataset.Indices(len(shards)), res.Workers, marked, dataset.NewSecret(), func(_, shard int) (func(dataset.Block) error, func(dataset.Ending) error) {
		var here []int // rows of the block that are bad, ascending
		var records []rowRecord
		return func(b dataset.Block) error {
				here = here[:0]
				if s.out.Bad != nil {
					badIn(b, strict, func(i int, columns []int) {
						here = append(here, i)
						s.out.Bad.Add(b.First + int64(i))
						bad.see(shards[shard], b, i, columns)
					})
				}
				if s.split != nil {
					s.split.Add(b, here)
				}
				if counter == nil {
					return nil
				}
				records = recordsBut(records[:0], b, func(i int) bool { return s.out.Bad.Has(b.First + int64(i)) })
				return counter.add(ctx, records)
			}, func(e dataset.Ending) error {
				s.columns[shard] = e.Columns // each shard has one goroutine
				return nil
			}
	})
	if err != nil {
		return nil, err
	}
	if s.out.Bad != nil {
		s.out.Bad.Seal()
		s.bad = bad.words(src.Columns())
	}
	if counter != nil {
		if s.duplicates, err = counter.count(ctx); err != nil {
			return nil, err
		}
		s.out.Duplicates.Seal()
	}
	return s, nil
}

// CountUnits reads the rows of a job by units once, and returns the units of each subset; nil without units.
// Too few units are [job.ErrData].
func CountUnits(ctx context.Context, j job.Job, src dataset.Source, res job.Resources) (*certify.UnitCounts, error) {
	if !j.Unit.Given() {
		return nil, nil
	}
	n := dataset.RowsOf(src)
	s, err := filterRows(ctx, src, j.ForRows(n), dataset.Indices(len(src.Columns())), res.WithDefaults())
	if err != nil {
		return nil, err
	}
	r, err := s.split.Split(n, s.out)
	return r.Units, err
}
