package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/model"
)

// ErrData marks a fault of the rows: too few of them, or a column that says
// nothing. No retry on the same rows helps.
var ErrData = errors.New("unusable rows")

// Untrainable reports whether an error of training is a fault of the rows, which no retry mends.
func Untrainable(err error) bool {
	return errors.Is(err, ErrData) || errors.Is(err, model.ErrNotPositiveDefinite) || errors.Is(err, model.ErrDiverged)
}

// startRows is how many rows, reference rows included, start values are sought
// on. Start values are part of Q, which may depend on every row, so that train
// rows may fill up what the reference rows leave.
const startRows = 8000

// A Survey is the result of the first pass over a sample: its digest, roles, scaling and start
// rows. Prior, scaling and loss depend on reference rows alone.
type Survey struct {
	Columns  []string // of the source; the target is last
	Used     []int    // the columns that count: features in order, those beside them or of units, the target
	Shards   int
	Roles    Roles
	Features []Affine
	Encode   Encodings // of some features
	Target   Affine
	Digest   Digest
	Targets  Digest // of the multiset of the target's values
	Copies   Copies
	repeats  bool // the job drops copies, and there are some
	Notices  []string

	labels  int       // columns of units
	grouped bool      // the column of the groups is beside the features
	groups  []float64 // values with a group of their own
	held    multiset  // the held-out rows

	bad       string    // which rows are bad, in words
	reference rawRows   // in ordinal order
	start     rawRows   // the startRows rows of lowest rank, in the order of rank
	targets   []float64 // those that the baseline's constant is chosen on
}

// rawRows are rows of all columns of the source, row-major.
type rawRows struct {
	n, columns int
	values     []float64
	encoded    []*Encoding // of the columns; nil: values are as they stand
}

func newRawRows(n, columns int) rawRows {
	return rawRows{n: n, columns: columns, values: make([]float64, n*columns)}
}

func (r rawRows) row(i int) []float64 { return r.values[i*r.columns : (i+1)*r.columns] }

// column is a column of the rows, with what stands for missing values.
func (r rawRows) column(c int) []float64 {
	out := make([]float64, r.n)
	for i := range out {
		out[i] = r.values[i*r.columns+c]
		if r.encoded != nil {
			out[i] = r.encoded[c].value(out[i])
		}
	}
	return out
}

// survey makes the first pass. With the error of too many bad rows it also returns the survey. If the
// job leaves rows out, it reads the rows twice, because a row's role must be known before its use. It
// repeats the pass if a dropped column distinguishes rows. parts makes it elsewhere; nil: it is made here.
func survey(ctx context.Context, src Source, job Job, res Resources, parts Parts) (*Survey, error) {
	s := &Survey{Columns: src.Columns(), Shards: len(src.Shards()), labels: len(job.labels()), grouped: job.Groups.beside(job)}
	if err := job.Suits(s.Columns, rowsOf(src)); err != nil {
		return nil, err
	}
	used := indices(len(s.Columns))
	for passes := 0; ; passes++ {
		same, err := s.pass(ctx, src, job, used, res, parts)
		if err != nil {
			return nil, err
		}
		if job.Copies.Policy == CopiesDropped && !job.drops() && s.Copies.OfRows() > 0 {
			job.repeats = true // read again, without the copies
			continue
		}
		if same {
			break
		}
		if passes > len(s.Columns) {
			return nil, fmt.Errorf("%w: which rows are left out depends on which columns are constant on the reference rows, and that on the rows left out: name the features", ErrData)
		}
		used = s.Used
	}
	if err := job.Copies.allow(job.counted(s.Copies)); err != nil {
		return nil, err
	}
	var err error
	if s.groups, err = job.groupValues(s.Columns, s.reference); err != nil {
		return nil, err
	}
	s.Notices = append(s.Notices, job.Groups.strange(s.Columns, s.reference)...)
	s.Notices = slices.Concat(s.Notices, s.noticed(), job.Noticed())
	bad, all := s.Roles.Bad(), s.Roles.Rows
	if err := job.BadRows.stop(bad, all, s.bad); err != nil {
		return s, err // with the rows, for who wants to see them
	}
	if bad > 0 {
		s.Notices = append(s.Notices, fmt.Sprintf("%d of %s break a row rule and are left out; %s", bad, words.Count(all, "row"), s.bad))
	}
	s.repeats = job.repeats
	if text := job.Copies.notice(s.Copies); text != "" {
		s.Notices = append(s.Notices, text)
	}
	return s, nil
}

// pass reads the rows once, and counts copies over the given columns. It reports whether the used
// columns give the same copies.
func (s *Survey) pass(ctx context.Context, src Source, job Job, columns []int, res Resources, parts Parts) (same bool, err error) {
	rows, err := beginPass(ctx, src, job, columns, newSecret(), nil, res)
	if err != nil {
		return false, err
	}
	s.Roles = rows.roles
	if rows.sieve != nil {
		s.bad = rows.sieve.bad
	}
	rows.surveys()
	see := func(found *Pass) (err error) {
		same, err = s.see(ctx, job, rows, found)
		return err
	}
	if parts != nil && !job.sifts() {
		err = rows.inParts(ctx, job, s.Columns, parts, see)
		return same, err
	}
	found, err := rows.read(ctx, indices(len(rows.shards)))
	if err != nil {
		return false, err
	}
	err = errors.Join(see(found), found.Close())
	return same, err
}

// see takes what a first pass over all rows has found. It reports whether the used columns give the same
// copies.
func (s *Survey) see(ctx context.Context, job Job, rows *rowPass, found *Pass) (same bool, err error) {
	kept := rows.wanted
	if err := rows.owns(found, kept); err != nil {
		return false, err
	}
	if s.Copies, err = found.counted(ctx); err != nil {
		return false, err
	}
	s.held = found.held.rows
	s.reference, s.start = found.picked(kept, s.Roles.reference), found.picked(kept, rows.wanted).ranked(rows.wanted, s.Roles.starts())
	s.targets = found.picked(kept, s.Roles.yardstick()).column(len(s.Columns) - 1)
	summaries := found.summaries()
	if err := s.scale(job); err != nil {
		return false, err
	}
	s.Digest, s.Targets = found.digests(s.Used)
	for c, each := range summaries {
		if slices.Contains(rows.columns, c) != slices.Contains(s.Used, c) && !each.one {
			return false, nil
		}
	}
	return true, nil
}

// digest is the SHA-256 of some columns of the rows, in order, as they were read.
func (r rawRows) digest(columns []int) string {
	sum := sha256.New()
	var cell [8]byte
	for i := range r.n {
		row := r.row(i)
		for _, c := range columns {
			binary.LittleEndian.PutUint64(cell[:], math.Float64bits(row[c]))
			_, _ = sum.Write(cell[:])
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// ranked are rows that have the ordinals in of, which ascend, in the order of their
// ranks.
func (r rawRows) ranked(of []int64, ranks []rank) rawRows {
	out := newRawRows(len(ranks), r.columns)
	for i, each := range ranks {
		at, _ := slices.BinarySearch(of, each.ordinal)
		copy(out.row(i), r.row(at))
	}
	return out
}

// summaries are those of the columns over all shards.
func (p *Pass) summaries() []summary {
	var all []summary
	for _, s := range p.inOrder() {
		if all == nil {
			all = slices.Clone(s.summaries)
			continue
		}
		for c, each := range s.summaries {
			all[c].one = all[c].one && each.one && each.first == all[c].first
		}
	}
	return all
}

// constant is the best constant prediction, in raw units: see [bestConstant].
func (s *Survey) constant(l certify.Loss) float64 { return bestConstant(s.targets, l) }

// scale decides the constants of the scaling and the features that are used.
func (s *Survey) scale(job Job) error {
	s.Features, s.Used = nil, nil
	last := len(s.Columns) - 1
	var err error
	if s.Encode, err = job.Encode.seen(s.Columns, s.reference); err != nil {
		return err
	}
	s.reference.encoded = s.Encode.by(s.Columns)
	s.start.encoded = s.reference.encoded
	s.Notices = s.filled()
	for i, name := range s.Columns {
		if job.Beside() != nil && i == last-1 || i < last && i >= last-s.labels {
			s.Used = append(s.Used, i)
			continue
		}
		a, constant, err := s.affine(job, i)
		if err != nil {
			return err
		}
		a.Name = name
		encoded := s.Encode.Of(name) != nil
		switch {
		case i == last && constant:
			return fmt.Errorf("%w: the target %q has one value, %v, on all reference rows: there is nothing to learn", ErrData, name, a.Centre)
		case i == last:
			s.Target = a
			if err := errors.Join(job.bears(a), job.Mean.knowsTarget(s.yardstick())); err != nil {
				return err
			}
			s.Target.Centre = job.Mean.centre(s.Target.Centre)
		case constant && encoded: // its value may stand for text
			return fmt.Errorf("%w: feature %q has one value on all reference rows: leave it out of %s and of features", ErrData, name, s.Encode.Of(name).key())
		case constant && slices.Contains(job.Features, name):
			return fmt.Errorf("%w: feature %q has one value, %v, on all reference rows: leave it out of features", ErrData, name, a.Centre)
		case constant && name == job.Groups.Column:
			return fmt.Errorf("%w: groups: %q has one value, %v, on all reference rows: there are no groups, unless you leave it out of the features and list values", ErrData, name, a.Centre)
		case constant:
			s.Notices = append(s.Notices, fmt.Sprintf("column %q is left out: it has one value, %v, on all reference rows", name, a.Centre))
			continue
		default:
			s.Features = append(s.Features, a)
		}
		s.Used = append(s.Used, i)
	}
	s.Features = s.Encode.unscaled(s.Features)
	if len(s.Features) == 0 {
		return fmt.Errorf("%w: no feature is left: every column but the target is constant on the reference rows", ErrData)
	}
	return nil
}

// yardstick are the rows that the baseline's constant is chosen on.
func (s *Survey) yardstick() rawRows {
	if s.reference.n > 0 {
		return s.reference
	}
	return s.start
}

// affine is the scaling of column i, and whether the column is constant where
// the scaling comes from.
func (s *Survey) affine(job Job, i int) (a Affine, constant bool, err error) {
	if job.Scaling == ScalingNone {
		return Affine{Scale: 1}, false, nil
	}
	x := slices.DeleteFunc(s.reference.column(i), math.IsNaN) // only a column that is not used has one
	if len(x) == 0 {
		return a, true, nil
	}
	a = standardise(x)
	if i == len(s.Columns)-1 {
		a.Centre = centre(x, a.Centre)
	}
	if math.IsInf(a.Scale, 0) || math.IsNaN(a.Scale) || math.IsInf(a.Centre, 0) || math.IsNaN(a.Centre) {
		return a, false, fmt.Errorf("%w: column %q: its values overflow float64 when squared; change its unit", ErrData, s.Columns[i])
	}
	return a, !(a.Scale > 0), nil
}

// standardise returns the mean and the population standard deviation of the usual
// values of x, by plain sums in order: docs/format.md, section "Scaling". A column of one
// value has scale 0 exactly.
func standardise(x []float64) Affine {
	if slices.Min(x) == slices.Max(x) {
		return Affine{Centre: x[0]}
	}
	x = usual(x)
	n := float64(len(x))
	var sum float64
	for _, v := range x {
		sum += v
	}
	mean := sum / n
	var squares float64
	for _, v := range x {
		d := v - mean
		squares += float64(d * d)
	}
	return Affine{Centre: mean, Scale: math.Sqrt(squares / n)}
}

// centre is that of the target's scaling, from its values x with that mean: the value of more than
// half of them, if there is one. The process is then 0 where nothing happens, and small elsewhere.
func centre(x []float64, mean float64) float64 {
	_, middle, _ := middleOf(x)
	others := slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return v == middle })
	if 2*len(others) >= len(x) {
		return mean
	}
	return middle + 0 // no −0
}

// usualWithin is how many times the spread of most values a usual one may lie away from the
// median, if the scaling comes from reference rows.
const usualWithin = 100

// usual drops outliers, by distance from the median in spreads of most values: a fill value such as
// −9999 would leave no difference between all others. Where most values are one, all are usual.
func usual(x []float64) []float64 {
	low, middle, high := middleOf(x)
	limit := usualWithin * (high - low)
	if !(limit > 0) {
		return x
	}
	kept := make([]float64, 0, len(x))
	for _, v := range x {
		if math.Abs(v-middle) <= limit {
			kept = append(kept, v)
		}
	}
	return kept
}

// middleOf is the median of x, and the ends of the middle four fifths.
func middleOf(x []float64) (low, middle, high float64) {
	sorted := slices.Sorted(slices.Values(x))
	last := len(sorted) - 1
	return sorted[last/10], sorted[last/2], sorted[last*9/10]
}
