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

// A badReport collects facts about rejected rows for a message.
type badReport struct {
	mu      sync.Mutex
	ordinal int64         // of the first rejected row, or -1
	first   string        // describes that row
	columns map[int]int64 // number of rejected rows by bad column
}

// see returns, ascending, the rows of a block that are bad in one of the columns strict, and adds them to the report.
func (r *badReport) see(s dataset.Shard, b dataset.Block, strict []int) (bad []int) {
	if b.Reasons == nil || b.Reasons.NullN() == b.Rows {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range b.Rows {
		if b.Reasons.IsNull(i) {
			continue
		}
		is := false
		for _, c := range strict {
			if v := b.Columns[c][i]; v-v != 0 {
				is = true
				r.columns[c]++
			}
		}
		if !is {
			continue
		}
		bad = append(bad, i)
		if ordinal := b.First + int64(i); r.ordinal < 0 || ordinal < r.ordinal {
			r.ordinal = ordinal
			at, reason := fmt.Sprintf(", row %d (from 0)", ordinal-s.First), b.Reasons.Value(i)
			if strings.HasPrefix(reason, "offset ") { // the reason has the position, in a topic
				at = ""
			}
			r.first = fmt.Sprintf("%s%s: %s", s.Name, at, reason)
		}
	}
	return bad
}

// words returns a text that names the first rejected row and the columns with the most rejected rows.
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
		text += "; bad values: " + strings.Join(columns, ", ")
	}
	if len(worst) > most {
		text += ", …"
	}
	return text
}

// A rowFilter is the result of reading all rows before the split is known: which rows are left out.
type rowFilter struct {
	out        dataset.LeftOut
	duplicates job.Duplicates           // of the rows that are not rejected; zero unless duplicates are dropped
	bad        string                   // describes the rejected rows
	split      *dataset.UnitSplit       // nil if the split follows from ordinals alone
	columns    [][]dataset.ColumnDigest // of each shard
}

// affordFilter returns an error if the sets of left-out rows need more memory than the job has.
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

// filterRows reads all rows. It finds the rows that are bad in the used columns, the duplicates if the job drops them,
// and the split if it follows from units.
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
	err = dataset.Shards(ctx, src, dataset.Indices(len(shards)), res.Workers, marked, dataset.NewSecret(), func(_, shard int) (func(dataset.Block) error, func([]dataset.ColumnDigest, dataset.Multiset) error) {
		return func(b dataset.Block) error {
				var here []int // rejected rows of the block
				if s.out.Bad != nil {
					here = bad.see(shards[shard], b, strict)
				}
				for _, i := range here {
					s.out.Bad.Add(b.First + int64(i))
				}
				if s.split != nil {
					s.split.Add(b, here)
				}
				if counter == nil {
					return nil
				}
				return counter.add(ctx, b, s.out.Bad)
			}, func(columns []dataset.ColumnDigest, _ dataset.Multiset) error {
				s.columns[shard] = columns // each shard has one goroutine
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

// CountUnits reads the rows of a job once and returns the number of units in each subset, or nil if examples are rows.
// It returns [job.ErrData] if there are too few units.
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
