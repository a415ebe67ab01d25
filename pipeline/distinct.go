package pipeline

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// A rowRecord is a row's record for finding copies: its mark and, if needed, its ordinal. In sorted
// records rows of equal features are neighbours, and among them equal rows, in the order of their
// ordinals.
type rowRecord interface{ ~[2]uint64 | ~[3]uint64 }

// A variety counts different rows.
type variety struct {
	rows             int64
	distinct         int64 // different rows
	distinctFeatures int64 // different rows, if the target is left out
}

func (v *variety) merge(other variety) {
	v.rows += other.rows
	v.distinct += other.distinct
	v.distinctFeatures += other.distinctFeatures
}

// A counter counts different rows. It keeps the records of all rows in memory if they fit its
// budget. If not, it writes them to a temporary file in sorted runs of the budget's size, and
// merges those. The result is the same. Several goroutines may add records.
type counter[R rowRecord] struct {
	workers int
	budget  int64
	create  func() (temporary, error)
	later   *ordinalSet // gets the rows that equal an earlier one; nil: nobody wants them

	mu     sync.Mutex
	rows   int64 // added
	kept   []R   // not sorted
	runs   []sortedRun[R]
	file   temporary   // nil until the budget is exceeded
	size   int64       // bytes in the file
	merged []io.Closer // files of merged counters
}

// A sortedRun is sorted records: in memory, or in a part of a file.
type sortedRun[R rowRecord] struct {
	kept     []R
	file     io.ReaderAt // nil: in memory
	from, to int64       // bytes
}

// A temporary is a file that is removed when it is closed.
type temporary interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// leastRecords is the least number of records of a run, however small the budget.
const leastRecords = 4096

// newCounter returns a counter for about n rows.
func newCounter[R rowRecord](n int64, res Resources, later *ordinalSet) *counter[R] {
	c := &counter[R]{
		workers: max(res.Workers, 1), budget: res.Memory, later: later,
		create: func() (temporary, error) { return createTemporary(res.Temporary) },
	}
	c.kept = make([]R, 0, min(n, max(leastRecords, c.budget/c.bytes())))
	return c
}

// bytes is the size of a record.
func (c *counter[R]) bytes() int64 {
	var r R
	return int64(8 * len(r))
}

// add adds the records of some rows.
func (c *counter[R]) add(ctx context.Context, records []R) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows += int64(len(records))
	for {
		k := min(len(records), cap(c.kept)-len(c.kept))
		c.kept = append(c.kept, records[:k]...)
		if records = records[k:]; len(records) == 0 {
			return nil
		}
		if err := c.spill(ctx); err != nil {
			return err
		}
	}
}

// spill sorts the kept records and appends them to the file as a run.
func (c *counter[R]) spill(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.file == nil {
		file, err := c.create()
		if err != nil {
			return c.failed(err)
		}
		c.file = file
	}
	c.buckets(c.kept, sortRecords[R])
	out := bufio.NewWriterSize(c.file, 1<<18)
	var b []byte
	for _, r := range c.kept {
		b = b[:0]
		for k := range len(r) {
			b = binary.LittleEndian.AppendUint64(b, r[k])
		}
		if _, err := out.Write(b); err != nil {
			return c.failed(err)
		}
	}
	if err := out.Flush(); err != nil {
		return c.failed(err)
	}
	from := c.size
	c.size += int64(len(c.kept)) * c.bytes()
	c.runs = append(c.runs, sortedRun[R]{file: c.file, from: from, to: c.size})
	c.kept = c.kept[:0]
	return nil
}

// failed explains a fault of the temporary file, with a hint.
func (c *counter[R]) failed(err error) error {
	return fmt.Errorf("pipeline: counting copies, for which %d MiB of memory are too little for so many rows, in a temporary file: %w\n"+
		"hint: give more memory, or set TMPDIR to a folder with room: %d bytes a row", c.budget>>20, err, c.bytes())
}

// seal turns the kept records into a sorted run in memory. No more are added.
func (c *counter[R]) seal() {
	if len(c.kept) > 0 {
		c.buckets(c.kept, sortRecords[R])
		c.runs = append(c.runs, sortedRun[R]{kept: c.kept})
	}
	c.kept = nil
}

// merge moves the records of another counter into this one.
func (c *counter[R]) merge(other *counter[R]) {
	c.seal()
	other.seal()
	c.runs, c.rows = append(c.runs, other.runs...), c.rows+other.rows
	c.merged = append(c.merged, other.merged...)
	if other.file != nil {
		c.merged = append(c.merged, other.file)
	}
	other.runs, other.rows, other.merged, other.file = nil, 0, nil, nil
}

// count counts the different rows among all that were added.
func (c *counter[R]) count(ctx context.Context) (variety, error) {
	if len(c.runs) == 0 {
		return c.countKept(), nil
	}
	s := scanner[R]{later: c.later}
	err := c.each(ctx, func(r R) error { s.add(r); return nil })
	return s.found, err
}

// close removes the files.
func (c *counter[R]) close() error {
	c.kept, c.runs = nil, nil
	var err error
	if c.file != nil {
		err = c.file.Close()
		c.file = nil
	}
	for _, file := range c.merged {
		err = errors.Join(err, file.Close())
	}
	c.merged = nil
	return err
}

// countKept counts over the records in memory.
func (c *counter[R]) countKept() variety {
	var found variety
	var mu sync.Mutex
	c.buckets(c.kept, func(bucket []R, digit int) {
		part := c.different(bucket, digit)
		mu.Lock()
		found.merge(part)
		mu.Unlock()
	})
	return found
}

// groupRecords is the largest group that is searched for equal features at once: it fits the
// second cache.
const groupRecords = 1 << 12

// different counts over records that agree in the digits before this one. It sorts only groups
// with equal features; most samples have few.
func (c *counter[R]) different(records []R, digit int) variety {
	var found variety
	if len(records) > groupRecords && digit < 8 { // by features alone: equal ones stay together
		bounds := partition(records, digit)
		for i := range 256 {
			found.merge(c.different(records[bounds[i]:bounds[i+1]], digit+1))
		}
		return found
	}
	if len(records) <= groupRecords && !equalFeatures(records) {
		n := int64(len(records))
		return variety{n, n, n}
	}
	sortRecords(records, digit)
	s := scanner[R]{later: c.later}
	for _, r := range records {
		s.add(r)
	}
	return s.found
}

// equalFeatures reports whether two of at most groupRecords records have equal features. It hashes
// by the last bits; the group agrees in the first ones.
func equalFeatures[R rowRecord](records []R) bool {
	var table [2 * groupRecords]uint16 // place in records + 1; 0: free
	for i, r := range records {
		at := r[0] % uint64(len(table))
		for ; table[at] != 0; at = (at + 1) % uint64(len(table)) {
			if records[table[at]-1][0] == r[0] {
				return true
			}
		}
		table[at] = uint16(i + 1)
	}
	return false
}

// A scanner counts records in sorted order.
type scanner[R rowRecord] struct {
	found variety
	last  R
	later *ordinalSet
}

func (s *scanner[R]) add(r R) {
	features := s.found.rows == 0 || r[0] != s.last[0]
	row := features || r[1] != s.last[1]
	s.found.rows++
	if row {
		s.found.distinct++
	}
	if features {
		s.found.distinctFeatures++
	}
	if s.later != nil && !row {
		s.later.add(int64(r[len(r)-1])) //nolint:gosec // an ordinal
	}
	s.last = r
}

// mergeBuffers is the memory of a merge, in bytes.
const mergeBuffers = 8 << 20

// each calls use with all records, in their order. It may be called again.
func (c *counter[R]) each(ctx context.Context, use func(R) error) error {
	c.seal()
	if len(c.runs) == 0 {
		return nil
	}
	// The runs of files share mergeBuffers, whatever the budget.
	size := max(1<<12, min(1<<18, mergeBuffers/len(c.runs)))
	heap := make([]*reader[R], 0, len(c.runs))
	for _, part := range c.runs {
		r := &reader[R]{kept: part.kept}
		if part.file != nil {
			r.in = bufio.NewReaderSize(io.NewSectionReader(part.file, part.from, part.to-part.from), size)
		}
		more, err := r.next()
		if err != nil {
			return c.failed(err)
		}
		if more {
			heap = append(heap, r)
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		settle(heap, i)
	}
	var given int64
	for ; len(heap) > 0; given++ {
		if given%(1<<20) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := use(heap[0].record); err != nil {
			return err
		}
		more, err := heap[0].next()
		if err != nil {
			return c.failed(err)
		}
		if !more {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		settle(heap, 0)
	}
	if given != c.rows {
		return c.failed(fmt.Errorf("it has %d records, %d were written", given, c.rows))
	}
	return nil
}

// A reader reads a run; record is the latest.
type reader[R rowRecord] struct {
	kept   []R
	in     *bufio.Reader // nil: the run is kept
	record R
	begun  bool
}

// next reads the next record, if there is one.
func (r *reader[R]) next() (bool, error) {
	if r.in == nil {
		if len(r.kept) == 0 {
			return false, nil
		}
		r.record, r.kept = r.kept[0], r.kept[1:]
		return true, nil
	}
	var b [24]byte
	last := r.record
	text := b[:8*len(last)]
	if _, err := io.ReadFull(r.in, text); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return false, err
	}
	for k := range len(last) {
		r.record[k] = binary.LittleEndian.Uint64(text[8*k:])
	}
	if r.begun && compareRecords(r.record, last) < 0 {
		return false, errors.New("its records have changed")
	}
	r.begun = true
	return true, nil
}

// settle restores a heap of readers below reader i; the least record is on top.
func settle[R rowRecord](heap []*reader[R], i int) {
	for {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(heap) && compareRecords(heap[child].record, heap[least].record) < 0 {
				least = child
			}
		}
		if least == i {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}

// An unnamed file is removed as soon as it is open, so that not even a killed process leaves it;
// on systems without that, when it is closed.
type unnamed struct {
	*os.File
	gone bool // removed
}

func createTemporary(folder string) (temporary, error) {
	f, err := os.CreateTemp(folder, "pacsgp-copies-*")
	if err != nil {
		return nil, err
	}
	return &unnamed{f, os.Remove(f.Name()) == nil}, nil
}

// Close closes and removes the file.
func (f *unnamed) Close() error {
	err := f.File.Close()
	if !f.gone {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
