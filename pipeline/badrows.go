package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pacsgp/pacsgp/internal/words"
)

// A BadRowsDecl declares how many rows may break a row rule. The zero value tolerates none:
// the source stops at the first.
type BadRowsDecl struct {
	// Tolerance is the largest share of bad rows. They are left out, neither trained nor
	// certified on, and counted in the ledger. With a tolerance the source marks bad rows
	// (docs/reference/job.md).
	Tolerance float64 `json:"tolerance"`
}

func (d BadRowsDecl) validate(fault func(string, ...any)) {
	if !(0 <= d.Tolerance && d.Tolerance < 1) {
		fault("bad_rows.tolerance: %v is no share of the rows from 0 to below 1", d.Tolerance)
	}
}

// Some reports whether the job tolerates bad rows.
func (d BadRowsDecl) Some() bool { return d.Tolerance > 0 }

// allow returns an error if there are more bad rows than the job tolerates.
func (d BadRowsDecl) allow(bad, rows int64) error {
	if float64(bad) <= d.Tolerance*float64(rows) {
		return nil
	}
	return fmt.Errorf("%w: %d of %s (%s) break a row rule, and bad_rows.tolerance is %s",
		ErrData, bad, words.Count(rows, "row"), percent(float64(bad)/float64(rows)), percent(d.Tolerance))
}

// stop is the error of allow with a hint; which names bad rows.
func (d BadRowsDecl) stop(bad, rows int64, which string) error {
	err := d.allow(bad, rows)
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; %s\nhint: correct the rows, leave such a column out, or raise the tolerance if a promise about the other rows alone is enough", err, which)
}

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

// badIn calls use with each row of a block that is bad in a used column, and with these
// columns.
func badIn(b block, used []int, use func(i int, columns []int)) {
	if b.reasons == nil || b.reasons.NullN() == b.rows {
		return
	}
	var columns []int
	for i := range b.rows {
		if b.reasons.IsNull(i) {
			continue
		}
		columns = columns[:0]
		for _, c := range used {
			if v := b.columns[c][i]; v-v != 0 {
				columns = append(columns, c)
			}
		}
		if len(columns) > 0 {
			use(i, columns)
		}
	}
}

// A badReport gathers facts about bad rows for people.
type badReport struct {
	mu      sync.Mutex
	ordinal int64 // of the first; -1: there is none
	first   string
	columns map[int]int64 // bad rows by column
}

func (r *badReport) see(s Shard, b block, i int, columns []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range columns {
		r.columns[c]++
	}
	if ordinal := b.first + int64(i); r.ordinal < 0 || ordinal < r.ordinal {
		r.ordinal = ordinal
		r.first = fmt.Sprintf("%s, row %d (from 0): %s", s.Name, ordinal-s.First, b.reasons.Value(i))
	}
}

// words names the first bad row, and the columns with the most bad rows.
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

// putAway puts the bad rows of a survey into the quarantine. It reads shards with bad rows
// again, one after the other: there is no memory for all of them.
func (s *Survey) putAway(ctx context.Context, src Source, to Quarantine, res Resources) error {
	bad, shards := s.Roles.out.bad, src.Shards()
	if to == nil || bad == nil {
		return nil
	}
	var order []int
	for i, shard := range shards {
		if bad.countBefore(shard.First+shard.Rows) > bad.countBefore(shard.First) {
			order = append(order, i)
		}
	}
	if order == nil {
		order = []int{} // no shard; nil would be all
	}
	err := to.Put(ctx, s.Columns, shards, func(use func(BadRow) error) error {
		return stream(ctx, src, order, res.Workers, func(b block) error {
			for i := range b.rows {
				ordinal := b.first + int64(i)
				if !bad.has(ordinal) {
					continue
				}
				if b.reasons == nil || b.reasons.IsNull(i) {
					return fmt.Errorf("%w: row %d of the sample was bad, and is not any more", ErrChanged, ordinal)
				}
				row := BadRow{Shard: b.shard, Row: ordinal - shards[b.shard].First, Reason: b.reasons.Value(i)}
				for _, column := range b.columns {
					row.Values = append(row.Values, column[i])
				}
				if err := use(row); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("pipeline: quarantine of bad rows: %w", err)
	}
	return nil
}

// A sieve is the result of a separate pass before roles are known: the rows that are left out.
type sieve struct {
	out     leftOut
	copies  Copies           // of the rows that are not bad; if copies are dropped
	bad     string           // names the bad rows, in words
	roles   *unitRoles       // nil: roles follow from ordinals alone
	columns [][]ColumnDigest // of the rows read, by shard
}

// affordSieve refuses sets of rows beyond the memory of the job.
func affordSieve(job Job, rows int64, res Resources) error {
	need := int64(0)
	if job.BadRows.Some() {
		need = rows / 8
	}
	if job.drops() {
		need += rows / 8
	}
	if need > max(res.Memory, 1<<26) {
		return fmt.Errorf("%w: leaving rows out takes a bit a row for copies, and one for bad rows, %d MiB for %d rows, and the job has %d: give more memory, or drop no copies and tolerate no bad rows",
			ErrData, need>>20, rows, res.Memory>>20)
	}
	return nil
}

// recordsBut appends the records of the rows of a block, except those of which but is true.
func recordsBut(to []rowRecord, b block, but func(i int) bool) []rowRecord {
	for i, m := range b.marks {
		if !but(i) {
			to = append(to, rowRecord{uint64(m), uint64(b.first + int64(i))}) //nolint:gosec // not negative
		}
	}
	return to
}

// sift finds the rows that are bad in the used columns, the copies if the job drops them, and
// the roles if they follow from units.
func sift(ctx context.Context, src Source, job Job, used []int, res Resources) (s *sieve, err error) {
	n, shards := rowsOf(src), src.Shards()
	s = &sieve{columns: make([][]ColumnDigest, len(shards))}
	if job.Unit.given() {
		s.roles = newUnitRoles(job, n, len(src.Columns()))
	}
	if err := affordSieve(job, n, res); err != nil {
		return nil, err
	}
	strict := job.Encode.strict(src.Columns(), used)
	var marked []int
	var counter *counter
	if job.BadRows.Some() {
		s.out.bad = newOrdinalSet(n)
	}
	if job.drops() {
		s.out.copies, marked = newOrdinalSet(n), used
		counter = newCounter(n, res, s.out.copies)
		defer func() { err = errors.Join(err, counter.close()) }()
	}
	bad := badReport{ordinal: -1, columns: map[int]int64{}}
	reading := newReading(src, indices(len(shards)), res.Workers, marked, newMarker(newSecret()))
	err = reading.shards(ctx, func(_, shard int) (func(block) error, func(ending) error) {
		var here []int // rows of the block that are bad, ascending
		var records []rowRecord
		return func(b block) error {
				here = here[:0]
				if s.out.bad != nil {
					badIn(b, strict, func(i int, columns []int) {
						here = append(here, i)
						s.out.bad.add(b.first + int64(i))
						bad.see(shards[shard], b, i, columns)
					})
				}
				if s.roles != nil {
					s.roles.add(b, here)
				}
				if counter == nil {
					return nil
				}
				records = recordsBut(records[:0], b, func(i int) bool { return s.out.bad.has(b.first + int64(i)) })
				return counter.add(ctx, records)
			}, func(e ending) error {
				s.columns[shard] = e.columns // each shard has one goroutine
				return nil
			}
	})
	if err != nil {
		return nil, err
	}
	if s.out.bad != nil {
		s.out.bad.seal()
		s.bad = bad.words(src.Columns())
	}
	if counter != nil {
		if s.copies, err = counter.count(ctx); err != nil {
			return nil, err
		}
		s.out.copies.seal()
	}
	return s, nil
}
