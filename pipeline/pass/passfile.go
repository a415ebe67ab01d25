package pass

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/frame"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A pass as bytes is the content of a [frame]:
//
//	arithmetic its name (its length as u64, then the text)
//	subject    rows, rejected rows, outside rows, shards, columns (u64); layout, model, configuration, sample,
//	           secret (32 bytes each); constant (f64); values of groups, their number (u64) and each (f64)
//	shards     their number (u64), then each, by index
//	loss sums  [certify.LossSums.MarshalPart] (its length as u64, then the text)
//	held       0, or of a first pass 1 and the multisets of [HeldOut] (5 u64 each)
//	duplicates 1 and the counts of the whole sample, or 0, the number of rows (u64),
//	           and mark and ordinal of each, sorted (16 bytes)
//
// The order of everything is fixed, so that equal passes have equal bytes.
const partFormat = "pacsgp-part/14"

// longestArithmetic is the largest length of the name of an arithmetic, in bytes.
const longestArithmetic = 64

// sameArithmetic returns an error unless the arithmetic with is that of this program. made says what was made with it.
func sameArithmetic(made, with string) error {
	if with == model.Arithmetic {
		return nil
	}
	return fmt.Errorf("%s by a program with arithmetic %q, and this one has %q: one certificate needs training, parts and merging by programs with the same", made, with, model.Arithmetic)
}

// Write writes the pass without holding all its bytes in memory. They do not depend on parts and workers.
func (p *Pass) Write(ctx context.Context, out io.Writer) error {
	e := encoder{frame.NewWriter(out, partFormat)}
	e.Text(model.Arithmetic)
	e.subject(p.of)
	e.Integers(int64(len(p.shards)))
	for _, i := range slices.Sorted(maps.Keys(p.shards)) {
		e.Integers(int64(i))
		e.shard(p.shards[i])
	}
	lossSums, err := p.lossSums.MarshalPart()
	e.Fail(err)
	e.Text(string(lossSums))
	if p.held == nil {
		e.Integers(0)
	} else {
		e.Integers(1)
		e.multiset(p.held[0])
		e.multiset(p.held[1])
	}
	if p.marks == nil {
		e.Integers(1, p.duplicates.Rows, p.duplicates.Distinct)
	} else {
		e.Integers(0, p.marks.rows)
		e.Fail(p.marks.each(ctx, func(r rowRecord) error {
			e.Numbers(r[:]...)
			return e.Err()
		}))
	}
	return e.Close()
}

// An encoder writes the parts of a pass.
type encoder struct{ *frame.Writer }

func (e encoder) subject(s subject) {
	e.Integers(s.rows, s.bad, s.outside, int64(s.shards), int64(s.columns))
	for _, d := range []job.Digest{s.layout, s.model, s.configuration, s.sample, s.secret} {
		e.Bytes(d[:])
	}
	e.Floats(s.constant)
	e.Integers(int64(len(s.groups) / 8))
	e.Bytes([]byte(s.groups))
}

func (e encoder) shard(s *ShardPass) {
	e.Integers(s.first, s.rows)
	for _, d := range s.Columns {
		e.Bytes(d[:])
	}
	e.multiset(s.targets)
	order := &s.targetsInOrder
	e.Integers(order.Rows, order.Sum, order.Squares)
	e.Integers(order.Products[:]...)
	e.Integers(order.first[:]...)
	e.Integers(order.last[:]...)
	e.Integers(int64(len(s.Kept)))
	e.Floats(s.Kept...)
	e.Integers(int64(len(s.summaries)))
	for _, each := range s.summaries {
		one := int64(0)
		if each.one {
			one = 1
		}
		e.Integers(one)
		e.Floats(each.first)
	}
}

func (e encoder) multiset(m dataset.Multiset) {
	e.Numbers(m.Count)
	e.Numbers(m.Sum[:]...)
}

// ReadPass returns the pass that [Pass.Write] has written as size bytes. It reads and checks all of them; an error wraps
// [ErrPart]. Marks remain in in, which must be readable until the pass, or the one that it is merged into, is closed.
func ReadPass(in io.ReaderAt, size int64) (*Pass, error) {
	d := decoder{frame.NewReader(io.NewSectionReader(in, 0, size), size, partFormat)}
	p := d.pass(in)
	err := d.Close()
	if errors.Is(err, frame.ErrFormat) {
		err = fmt.Errorf("no part, or a damaged one: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPart, err)
	}
	return p, nil
}

// A decoder reads the parts of a pass from untrusted bytes. It uses memory in proportion to their number.
type decoder struct{ *frame.Reader }

func (d decoder) digest() (digest job.Digest) {
	d.Bytes(digest[:])
	return digest
}

// natural reads a number that is not negative as an int64.
func (d decoder) natural() int64 { return d.UpTo(math.MaxInt64) }

// index reads a number of shards or columns, or the position of one.
func (d decoder) index() int { return int(d.UpTo(math.MaxInt32)) }

func (d decoder) pass(in io.ReaderAt) *Pass {
	if err := sameArithmetic("it was made", d.Text(longestArithmetic)); err != nil {
		d.Failf("%w", err)
	}
	p := &Pass{of: d.subject(), shards: map[int]*ShardPass{}}
	rows, last := int64(0), -1
	for range d.Count(8) {
		i := d.index()
		s := d.shard(p.of.columns)
		if d.Err() != nil {
			return p
		}
		if i <= last || i >= p.of.shards || s.rows > p.of.rows-rows {
			d.Failf("shard %d with %d rows is one too many, or out of order", i, s.rows)
			return p
		}
		p.shards[i], last, rows = s, i, rows+s.rows
	}
	lossSums := d.Text(d.Left())
	var err error
	if p.lossSums, err = certify.ReadPart([]byte(lossSums), rows); err != nil {
		d.Failf("%w", err)
		return p
	}
	if kind := d.UpTo(1); kind == 1 {
		p.held = &HeldOut{d.multiset(), d.multiset()}
		if p.held[0].Count > p.held[1].Count || p.held[1].Count > uint64(rows) {
			d.Failf("%d of %d rows are held out", p.held[1].Count, rows)
		}
	}
	d.duplicates(p, rows, in)
	return p
}

func (d decoder) multiset() (m dataset.Multiset) {
	m.Count = d.Number()
	for i := range m.Sum {
		m.Sum[i] = d.Number()
	}
	return m
}

func (d decoder) subject() subject {
	s := subject{rows: d.natural(), bad: d.natural(), outside: d.natural(), shards: d.index(), columns: d.index()}
	for _, each := range []*job.Digest{&s.layout, &s.model, &s.configuration, &s.sample, &s.secret} {
		*each = d.digest()
	}
	s.constant = d.Float()
	groups := make([]byte, 8*d.Count(8))
	d.Bytes(groups)
	s.groups = string(groups)
	if s.bad > s.rows || s.outside > s.rows || s.columns < 1 || math.IsNaN(s.constant) || math.IsInf(s.constant, 0) {
		d.Failf("%d of %d rows bad, %d columns, constant %v", s.bad, s.rows, s.columns, s.constant)
	}
	return s
}

func (d decoder) shard(columns int) *ShardPass {
	s := &ShardPass{first: d.natural(), rows: d.natural()}
	if columns < 1 || int64(columns) > d.Left()/sha256.Size {
		d.Failf("it ends too early")
		return s
	}
	for range columns {
		s.Columns = append(s.Columns, dataset.ColumnDigest(d.digest()))
	}
	s.targets = d.multiset()
	order := &s.targetsInOrder
	order.Rows, order.Sum, order.Squares = d.UpTo(s.rows), d.Integer(), d.Integer()
	for _, each := range []*[certify.Lags]int64{&order.Products, &order.first, &order.last} {
		for i := range each {
			each[i] = d.Integer()
		}
	}
	n := d.Count(8)
	if n > 0 {
		s.Kept = make([]float64, n)
		d.Floats(s.Kept)
	}
	if n%columns != 0 || int64(n/columns) > s.rows || s.targets.Count != uint64(s.rows) { //nolint:gosec // not negative
		d.Failf("a shard of %d rows has %d values that were kept and %d targets", s.rows, n, s.targets.Count)
		return s
	}
	n = d.Count(16)
	for range n {
		one := d.Number()
		if one > 1 {
			d.Failf("%d is neither 0 nor 1", one)
		}
		s.summaries = append(s.summaries, summary{d.Float(), one == 1})
	}
	if n != 0 && n != columns {
		d.Failf("%d summaries of %d columns", n, columns)
	}
	return s
}

// duplicates reads the counts of duplicates or the marks. It checks marks and leaves them in in.
func (d decoder) duplicates(p *Pass, rows int64, in io.ReaderAt) {
	switch kind := d.Number(); kind {
	case 1:
		p.duplicates = job.Duplicates{Rows: d.natural(), Distinct: d.natural()}
		if p.duplicates.Rows != p.of.rows-p.of.bad || p.duplicates.Distinct > p.duplicates.Rows {
			d.Failf("%d rows, of which %d are distinct, are no counts of %d rows", p.duplicates.Rows, p.duplicates.Distinct, p.of.rows)
		}
	case 0:
		n := d.Count(16)
		if bad := rows - int64(n); (bad < 0 || bad > p.of.bad) && d.Err() == nil {
			d.Failf("%d marks of %d rows", n, rows)
		}
		from, last := d.Read(), rowRecord{}
		for range n {
			r := rowRecord{d.Number(), d.Number()}
			if d.Err() == nil && r.compare(last) < 0 {
				d.Failf("its marks are not sorted")
			}
			if d.Err() != nil {
				return
			}
			last = r
		}
		p.marks = newCounter(0, job.Resources{}, nil)
		p.marks.rows = int64(n)
		if n > 0 {
			p.marks.runs = []sortedRun{{file: in, from: from, to: from + recordBytes*int64(n)}}
		}
	default:
		d.Failf("duplicates of kind %d", kind)
	}
}
