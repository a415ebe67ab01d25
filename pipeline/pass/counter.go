package pass

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A rowRecord is the mark and the ordinal of a row. When records are sorted, equal rows are neighbours, in the order of
// their ordinals.
type rowRecord [2]uint64

// recordBytes is the size of a record.
const recordBytes = 16

func (r rowRecord) compare(other rowRecord) int {
	if r[0] != other[0] {
		return cmp.Compare(r[0], other[0])
	}
	return cmp.Compare(r[1], other[1])
}

// A counter counts distinct rows. It holds the records of all rows in memory if they fit its budget. If not, it writes
// them to a temporary file in sorted runs of the budget's size, and merges these. Several goroutines may add records.
type counter struct {
	workers int
	budget  int64
	create  func() (temporary, error)
	later   *dataset.RowSet // gets the rows that equal an earlier one; may be nil

	mu     sync.Mutex
	rows   int64       // number of records
	kept   []rowRecord // not sorted
	runs   []sortedRun
	file   temporary   // nil until the budget is exceeded
	size   int64       // bytes in the file
	merged []io.Closer // files of merged counters
}

// A sortedRun is a sequence of sorted records, in memory or in a part of a file.
type sortedRun struct {
	kept     []rowRecord
	file     io.ReaderAt // nil if the records are in memory
	from, to int64       // the part of the file, in bytes
}

// A temporary is a file without a name.
type temporary interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// leastRecords is the least number of records of a run, even if the budget is smaller.
const leastRecords = 4096

// newCounter returns a counter for about n rows.
func newCounter(n int64, res job.Resources, later *dataset.RowSet) *counter {
	c := &counter{
		workers: max(res.Workers, 1), budget: res.Memory, later: later,
		create: createTemporary,
	}
	c.kept = make([]rowRecord, 0, min(n, max(leastRecords, c.budget/recordBytes)))
	return c
}

// add adds the records of a block's rows, except rejected rows.
func (c *counter) add(ctx context.Context, b dataset.Block, bad *dataset.RowSet) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, mark := range b.Marks {
		ordinal := b.First + int64(i)
		if bad.Has(ordinal) {
			continue
		}
		if len(c.kept) == cap(c.kept) {
			if err := c.spill(ctx); err != nil {
				return err
			}
		}
		c.kept = append(c.kept, rowRecord{mark, uint64(ordinal)}) //nolint:gosec // not negative
		c.rows++
	}
	return nil
}

// spill sorts the records in memory and appends them to the file as runs.
func (c *counter) spill(ctx context.Context) error {
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
	out := bufio.NewWriterSize(c.file, 1<<18)
	var b []byte
	for _, run := range c.sorted() {
		from := c.size
		for _, r := range run {
			b = binary.LittleEndian.AppendUint64(b[:0], r[0])
			b = binary.LittleEndian.AppendUint64(b, r[1])
			if _, err := out.Write(b); err != nil {
				return c.failed(err)
			}
		}
		c.size += int64(len(run)) * recordBytes
		c.runs = append(c.runs, sortedRun{file: c.file, from: from, to: c.size})
	}
	if err := out.Flush(); err != nil {
		return c.failed(err)
	}
	c.kept = c.kept[:0]
	return nil
}

// failed returns an error of the temporary file with an explanation and a hint.
func (c *counter) failed(err error) error {
	return fmt.Errorf("counting duplicates, for which %d MiB of memory are too little for so many rows, in a temporary file: %w\n"+
		"hint: give more memory, or set TMPDIR to a folder with room: %d bytes a row", c.budget>>20, err, recordBytes)
}

// seal sorts the remaining records into runs in memory. No more records may be added.
func (c *counter) seal() {
	for _, run := range c.sorted() {
		c.runs = append(c.runs, sortedRun{kept: run})
	}
	c.kept = nil
}

// merge moves the records of another counter into this one.
func (c *counter) merge(other *counter) {
	c.seal()
	other.seal()
	c.runs, c.rows = append(c.runs, other.runs...), c.rows+other.rows
	c.merged = append(c.merged, other.merged...)
	if other.file != nil {
		c.merged = append(c.merged, other.file)
	}
	other.runs, other.rows, other.merged, other.file = nil, 0, nil, nil
}

// count returns the number of rows and of distinct rows, and adds duplicates to later.
func (c *counter) count(ctx context.Context) (found job.Duplicates, err error) {
	var last rowRecord
	err = c.each(ctx, func(r rowRecord) error {
		if found.Rows == 0 || r[0] != last[0] {
			found.Distinct++
		} else if c.later != nil {
			c.later.Add(int64(r[1])) //nolint:gosec // an ordinal
		}
		found.Rows++
		last = r
		return nil
	})
	return found, err
}

// close removes the files.
func (c *counter) close() error {
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

// sorted sorts the records in memory, in up to as many runs as there are workers.
func (c *counter) sorted() (runs [][]rowRecord) {
	var running sync.WaitGroup
	for part := range slices.Chunk(c.kept, max(leastRecords, (len(c.kept)+c.workers-1)/c.workers)) {
		runs = append(runs, part)
		running.Go(func() { sortRecords(part, 0) })
	}
	running.Wait()
	return runs
}

// sortRecords sorts records whose marks are equal in the bytes before the byte digit, from the highest (McIlroy, Bostic
// and McIlroy, 1993, "American flag sort").
func sortRecords(records []rowRecord, digit int) {
	const few = 128
	if len(records) <= few || digit == 8 {
		slices.SortFunc(records, rowRecord.compare)
		return
	}
	of := func(r rowRecord) int { return int(r[0] >> (56 - 8*digit) & 0xff) }
	var next, ends [256]int
	for _, r := range records {
		ends[of(r)]++
	}
	total := 0
	for i, n := range ends {
		next[i], ends[i] = total, total+n
		total += n
	}
	from := 0
	for i, end := range ends {
		for next[i] < end {
			r := records[next[i]]
			for at := of(r); at != i; at = of(r) { // move records to their buckets until one belongs here
				r, records[next[at]] = records[next[at]], r
				next[at]++
			}
			records[next[i]] = r
			next[i]++
		}
		sortRecords(records[from:end], digit+1)
		from = end
	}
}

// mergeBuffers is the memory for reading files in a merge, in bytes.
const mergeBuffers = 8 << 20

// each calls use with all records in sorted order. It may be called more than once.
func (c *counter) each(ctx context.Context, use func(rowRecord) error) error {
	c.seal()
	if len(c.runs) == 0 {
		return nil
	}
	// The runs of files share mergeBuffers, whatever the budget.
	size := max(1<<12, min(1<<18, mergeBuffers/len(c.runs)))
	heap := make([]*reader, 0, len(c.runs))
	for _, part := range c.runs {
		r := &reader{kept: part.kept}
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

// A reader reads a run. record is the one that was read last.
type reader struct {
	kept   []rowRecord
	in     *bufio.Reader // nil if the run is in memory
	record rowRecord
	begun  bool
}

// next reads the next record, and reports whether there was one.
func (r *reader) next() (bool, error) {
	if r.in == nil {
		if len(r.kept) == 0 {
			return false, nil
		}
		r.record, r.kept = r.kept[0], r.kept[1:]
		return true, nil
	}
	var text [recordBytes]byte
	last := r.record
	if _, err := io.ReadFull(r.in, text[:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return false, err
	}
	for k := range len(last) {
		r.record[k] = binary.LittleEndian.Uint64(text[8*k:])
	}
	if r.begun && r.record.compare(last) < 0 {
		return false, errors.New("its records have changed")
	}
	r.begun = true
	return true, nil
}

// settle restores the order of the heap below reader i. The reader with the least record is on top.
func settle(heap []*reader, i int) {
	for {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(heap) && heap[child].record.compare(heap[least].record) < 0 {
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

// createTemporary returns a file that is removed already, so that it does not remain even if the process is killed.
func createTemporary() (temporary, error) {
	f, err := os.CreateTemp("", "pacsgp-duplicates-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
