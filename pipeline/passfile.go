package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// A pass as bytes, all numbers little endian:
//
//	magic      16 bytes
//	subject    rows, bad rows, shards, columns (u64); layout, model, configuration, sample,
//	           secret (32 bytes each); constant (f64)
//	shards     their number (u64), then each, by index
//	tallies    their number (u64), then each, by key
//	copies     1 and the counts of the whole sample, or 0, the number of marks
//	           (u64) and the marks, sorted (16 bytes each)
//	checksum   SHA-256 of all the above
//
// All that is written is in one order, so that equal passes have equal bytes.
const partHeader = "pacsgp-part/1\x00\x00\x00"

// MarshalBinary returns the bytes of the pass, which do not depend on how it was made.
func (p *Pass) MarshalBinary() ([]byte, error) {
	var out bytes.Buffer
	err := p.Write(context.Background(), &out)
	return out.Bytes(), err
}

// UnmarshalBinary reads what MarshalBinary writes. Any other bytes are an error that
// wraps [ErrPart].
func (p *Pass) UnmarshalBinary(data []byte) error {
	read, err := ReadPass(bytes.NewReader(bytes.Clone(data)), int64(len(data)))
	if err == nil {
		*p = *read
	}
	return err
}

// Write writes the bytes of the pass without holding them in memory.
func (p *Pass) Write(ctx context.Context, out io.Writer) error {
	e := encoder{sum: sha256.New(), out: bufio.NewWriterSize(out, 1<<16)}
	e.write([]byte(partHeader))
	e.subject(p.of)
	e.number(uint64(len(p.shards)))
	for _, i := range slices.Sorted(maps.Keys(p.shards)) {
		e.number(uint64(i)) //nolint:gosec // not negative
		e.shard(p.shards[i])
	}
	e.number(uint64(len(p.tallies)))
	for _, key := range slices.SortedFunc(maps.Keys(p.tallies), TallyKey.compare) {
		t := p.tallies[key]
		e.number(uint64(key.Predictor), uint64(key.Role), uint64(t.Unproven)) //nolint:gosec // not negative
		e.write(t.Upper.AppendBinary(nil))
		e.write(t.Lower.AppendBinary(nil))
	}
	if p.marks == nil {
		e.number(1, uint64(p.copies.Rows), uint64(p.copies.Distinct), uint64(p.copies.DistinctFeatures)) //nolint:gosec // not negative
	} else {
		e.number(0, uint64(p.marks.rows)) //nolint:gosec // not negative
		err := p.marks.each(ctx, func(m mark) error {
			e.number(m[0], m[1])
			return e.err
		})
		e.fail(err)
	}
	sum := e.sum.Sum(nil)
	e.write(sum)
	if e.err == nil {
		e.err = e.out.Flush()
	}
	return e.err
}

// An encoder writes and adds up what it writes. After an error it does nothing.
type encoder struct {
	out    *bufio.Writer
	sum    hash.Hash
	buffer []byte
	err    error
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *encoder) write(data []byte) {
	if e.err != nil {
		return
	}
	e.sum.Write(data)
	_, e.err = e.out.Write(data)
}

func (e *encoder) number(values ...uint64) {
	e.buffer = e.buffer[:0]
	for _, v := range values {
		e.buffer = binary.LittleEndian.AppendUint64(e.buffer, v)
	}
	e.write(e.buffer)
}

func (e *encoder) floats(values ...float64) {
	e.buffer = e.buffer[:0]
	for _, v := range values {
		e.buffer = binary.LittleEndian.AppendUint64(e.buffer, math.Float64bits(v))
	}
	e.write(e.buffer)
}

func (e *encoder) subject(s subject) {
	e.number(uint64(s.rows), uint64(s.bad), uint64(s.shards), uint64(s.columns)) //nolint:gosec // not negative
	for _, d := range []Digest{s.layout, s.model, s.configuration, s.sample, s.secret} {
		e.write(d[:])
	}
	e.floats(s.constant)
}

func (e *encoder) shard(s *shardPass) {
	e.number(uint64(s.first), uint64(s.rows)) //nolint:gosec // not negative
	for _, d := range s.columns {
		e.write(d[:])
	}
	e.number(s.targets.count)
	e.number(s.targets.sum[:]...)
	b := s.beside
	e.number(uint64(b.rows)) //nolint:gosec // not negative
	e.floats(b.first, b.last, b.sum, b.squares, b.products, s.squares)
	e.number(uint64(len(s.kept)))
	e.floats(s.kept...)
	e.number(uint64(len(s.summaries)))
	for _, each := range s.summaries {
		one := uint64(0)
		if each.one {
			one = 1
		}
		e.number(one)
		e.floats(each.first, each.moments.n, each.moments.mean, each.moments.m2)
	}
}

// ReadPass reads what Write writes, all of it once; any other bytes are an error that
// wraps [ErrPart]. Marks stay where they are: in must be readable until the pass, or the
// one that it is merged into, is closed.
func ReadPass(in io.ReaderAt, size int64) (*Pass, error) {
	body := size - sha256.Size
	if body < int64(len(partHeader)) {
		return nil, fmt.Errorf("%w: %d bytes are no part, or the beginning of one", ErrPart, size)
	}
	sum := sha256.New()
	d := decoder{in: bufio.NewReaderSize(io.TeeReader(io.NewSectionReader(in, 0, body), sum), 1<<16), left: body}
	if magic := d.take(len(partHeader)); d.err == nil && string(magic) != partHeader {
		return nil, fmt.Errorf("%w: it does not begin with %q: no part, or one of another version", ErrPart, partHeader[:13])
	}
	p := d.pass(in, body)
	if d.err == nil && d.left > 0 {
		d.fail("%d bytes too many", d.left)
	}
	// Damage shows in the sum first: what else is wrong follows from it.
	if _, err := io.Copy(io.Discard, d.in); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPart, err)
	}
	want := make([]byte, sha256.Size)
	if _, err := in.ReadAt(want, body); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %w", ErrPart, err)
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return nil, fmt.Errorf("%w: its checksum does not agree: it was cut short, or its bytes have changed", ErrPart)
	}
	if d.err != nil {
		return nil, d.err
	}
	return p, nil
}

// A decoder reads bytes that anybody may have written. It takes no more memory than
// they have bytes. After an error it gives zeros.
type decoder struct {
	in     *bufio.Reader
	left   int64
	buffer [sha256.Size]byte
	err    error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: "+format, append([]any{ErrPart}, args...)...)
	}
}

// take reads n bytes, at most 32. They are valid until the next call.
func (d *decoder) take(n int) []byte {
	data := d.buffer[:n]
	if d.err == nil && int64(n) > d.left {
		d.fail("it ends too early")
	}
	if d.err == nil {
		if _, err := io.ReadFull(d.in, data); err != nil {
			d.fail("%w", err)
		}
		d.left -= int64(n)
	}
	if d.err != nil {
		clear(data)
	}
	return data
}

func (d *decoder) number() uint64 { return binary.LittleEndian.Uint64(d.take(8)) }
func (d *decoder) float() float64 { return math.Float64frombits(d.number()) }
func (d *decoder) digest() Digest { return Digest(d.take(sha256.Size)) }

// count reads a number of things of which each has so many bytes that are still to
// come.
func (d *decoder) count(bytes int64) int {
	n := d.number()
	if d.err == nil && n > uint64(d.left/bytes) { //nolint:gosec // not negative
		d.fail("it tells of %d things of %d bytes and has %d bytes left", n, bytes, d.left)
	}
	if d.err != nil {
		return 0
	}
	return int(n) //nolint:gosec // below the number of bytes
}

// natural reads a number that is not negative as an int64.
func (d *decoder) natural() int64 { return d.upTo(math.MaxInt64) }

// index reads a number of shards or columns, or the place of one.
func (d *decoder) index() int { return int(d.upTo(math.MaxInt32)) }

func (d *decoder) upTo(most uint64) int64 {
	n := d.number()
	if n > most {
		d.fail("the number %d is too large", n)
		return 0
	}
	return int64(n) //nolint:gosec // most is not above the largest one
}

func (d *decoder) pass(in io.ReaderAt, body int64) *Pass {
	p := &Pass{of: d.subject(), shards: map[int]*shardPass{}, tallies: map[TallyKey]Tally{}}
	rows, last := int64(0), -1
	for range d.count(8) {
		i := d.index()
		s := d.shard(p.of.columns)
		if d.err != nil {
			return p
		}
		if i <= last || i >= p.of.shards || s.rows > p.of.rows-rows {
			d.fail("shard %d with %d rows is one too many, or out of order", i, s.rows)
			return p
		}
		p.shards[i], last, rows = s, i, rows+s.rows
	}
	var before TallyKey
	for range d.count(72) {
		key, t := d.tally()
		if d.err != nil {
			return p
		}
		if before.compare(key) >= 0 || t.Upper.Count() > rows || t.Lower.Count() > rows || t.Unproven > rows {
			d.fail("a tally is out of order, or has more than the %d rows that were read", rows)
			return p
		}
		p.tallies[key], before = t, key
	}
	d.copies(p, rows, in, body)
	return p
}

func (d *decoder) subject() subject {
	s := subject{rows: d.natural(), bad: d.natural(), shards: d.index(), columns: d.index()}
	for _, each := range []*Digest{&s.layout, &s.model, &s.configuration, &s.sample, &s.secret} {
		*each = d.digest()
	}
	s.constant = d.float()
	if s.bad > s.rows || s.columns < 1 || math.IsNaN(s.constant) || math.IsInf(s.constant, 0) {
		d.fail("%d of %d rows bad, %d columns, constant %v", s.bad, s.rows, s.columns, s.constant)
	}
	return s
}

func (d *decoder) shard(columns int) *shardPass {
	s := &shardPass{first: d.natural(), rows: d.natural()}
	if int64(columns) > d.left/sha256.Size {
		d.fail("it ends too early")
		return s
	}
	for range columns {
		s.columns = append(s.columns, ColumnDigest(d.digest()))
	}
	s.targets.count = d.number()
	for i := range s.targets.sum {
		s.targets.sum[i] = d.number()
	}
	b := &s.beside
	b.rows = d.natural()
	for _, each := range []*float64{&b.first, &b.last, &b.sum, &b.squares, &b.products, &s.squares} {
		*each = d.float()
	}
	n := d.count(8)
	for range n {
		s.kept = append(s.kept, d.float())
	}
	if n%max(columns, 1) != 0 || int64(n/max(columns, 1)) > s.rows || b.rows > s.rows || s.targets.count != uint64(s.rows) { //nolint:gosec // not negative
		d.fail("a shard of %d rows has %d values that were kept, %d consecutive rows and %d targets", s.rows, n, b.rows, s.targets.count)
		return s
	}
	n = d.count(40)
	for range n {
		one := d.number()
		if one > 1 {
			d.fail("a column has one value, or not, but not %d", one)
		}
		s.summaries = append(s.summaries, summary{one: one == 1, first: d.float(), moments: moments{d.float(), d.float(), d.float()}})
	}
	if n != 0 && n != columns {
		d.fail("%d summaries of %d columns", n, columns)
	}
	return s
}

func (d *decoder) tally() (TallyKey, Tally) {
	predictor, role := d.number(), d.number()
	if predictor < uint64(PredictorDraw) || predictor > uint64(PredictorConstant) || role < uint64(RoleTrain) || role > uint64(RoleHoldout) {
		d.fail("a tally of predictor %d on role %d is none of this version", predictor, role)
	}
	t := Tally{Unproven: d.natural()}
	for _, sum := range []*certify.RiskSum{&t.Upper, &t.Lower} {
		if err := sum.UnmarshalBinary(d.take(certify.RiskSumBytes)); err != nil && d.err == nil {
			d.fail("%w", err)
		}
	}
	return TallyKey{Predictor(predictor & 0xff), Role(role & 0xff)}, t
}

// copies reads what is known of copies. Marks are checked and left where they are.
func (d *decoder) copies(p *Pass, rows int64, in io.ReaderAt, body int64) {
	switch kind := d.number(); kind {
	case 1:
		p.copies = Copies{d.natural(), d.natural(), d.natural()}
		if p.copies.Rows != p.of.rows-p.of.bad || p.copies.Distinct > p.copies.Rows || p.copies.DistinctFeatures > p.copies.Distinct {
			d.fail("%+v are no counts of %d rows", p.copies, p.of.rows)
		}
	case 0:
		n := d.count(16)
		if bad := rows - int64(n); (bad < 0 || bad > p.of.bad) && d.err == nil {
			d.fail("%d marks of %d rows", n, rows)
		}
		from, last := body-d.left, mark{}
		for range n {
			m := mark{d.number(), d.number()}
			if d.err == nil && compareRecords(m, last) < 0 {
				d.fail("its marks are not sorted")
			}
			if d.err != nil {
				return
			}
			last = m
		}
		p.marks = newCounter[mark](0, Resources{}, nil)
		p.marks.rows = int64(n)
		if n > 0 {
			p.marks.runs = []sortedRun[mark]{{file: in, from: from, to: from + 16*int64(n)}}
		}
	default:
		d.fail("copies of kind %d", kind)
	}
}
