package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrData marks a fault of the rows: too few of them, or a column that says
// nothing. No retry on the same rows helps.
var ErrData = errors.New("unusable rows")

// startRows is how many rows, reference rows included, start values are sought
// on. Start values are part of Q, which may depend on every row, so that train
// rows may fill up what the reference rows leave.
const startRows = 8000

// A Survey is what the first pass over a sample found: its digest, its roles,
// its scaling and the rows for start values. Reference rows alone decide what
// the prior, the scaling and the loss depend on.
type Survey struct {
	Columns  []string // of the source; the target is last
	Used     []int    // the columns that count: features in order, then the target
	Shards   int
	Roles    Roles
	Features []Affine
	Target   Affine
	Digest   Digest
	Targets  Digest // of the multiset of the target's values
	Copies   Copies
	Notices  []string

	reference rawRows   // in ordinal order
	start     rawRows   // the startRows rows of lowest rank, in the order of rank
	targets   []float64 // those that the baseline's constant is chosen on
}

// rawRows are rows of all columns of the source, row-major.
type rawRows struct {
	n, columns int
	values     []float64
}

func newRawRows(n, columns int) rawRows {
	return rawRows{n, columns, make([]float64, n*columns)}
}

func (r rawRows) row(i int) []float64 { return r.values[i*r.columns : (i+1)*r.columns] }

func (r rawRows) column(c int) []float64 {
	out := make([]float64, r.n)
	for i := range out {
		out[i] = r.values[i*r.columns+c]
	}
	return out
}

// survey makes the first pass. Where the job drops copies it reads the rows twice,
// for a row's role must be known before the row is used; and it begins again
// where the columns that it left out told rows apart.
func survey(ctx context.Context, src Source, job Job, res Resources) (*Survey, error) {
	s := &Survey{Columns: src.Columns(), Shards: len(src.Shards())}
	if err := job.Suits(s.Columns, rowsOf(src)); err != nil {
		return nil, err
	}
	used := make([]int, len(s.Columns))
	for i := range used {
		used[i] = i
	}
	for passes := 0; ; passes++ {
		same, err := s.pass(ctx, src, job, used, res)
		if err != nil {
			return nil, err
		}
		if same {
			break
		}
		if passes > len(s.Columns) {
			return nil, fmt.Errorf("%w: which rows are copies depends on which columns are constant on the reference rows, and that on the copies: name the features", ErrData)
		}
		used = s.Used
	}
	if err := job.Copies.allow(s.Copies); err != nil {
		return nil, err
	}
	if s.Copies.OfRows() > 0 {
		s.Notices = append(s.Notices, job.Copies.notice(s.Copies))
	}
	return s, nil
}

// pass reads the rows once, and counts copies among the given columns. It
// reports whether they are those of the columns that turn out to be used.
func (s *Survey) pass(ctx context.Context, src Source, job Job, columns []int, res Resources) (same bool, err error) {
	rows, err := beginPass(ctx, src, job, columns, res)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	s.Roles = rows.roles
	if err := job.scalable(s.Roles.Rows-s.Roles.Copies(), s.Roles.Reference()); err != nil {
		return false, err
	}
	collect := newCollector(s, job.Scaling.Mode == ScalingAllRows)
	digests, err := rows.read(ctx, collect.add)
	if err != nil {
		return false, err
	}
	s.reference, s.start, s.targets = collect.reference, collect.start, collect.targets.values
	if s.Copies, err = rows.copies(ctx); err != nil {
		return false, err
	}
	if err := s.scale(job, collect); err != nil {
		return false, err
	}
	s.Digest, s.Targets = sampleDigest(src.Shards(), digests, s.Used), rows.src.digest()
	for c, one := range collect.one {
		if slices.Contains(columns, c) != slices.Contains(s.Used, c) && !one {
			return false, nil
		}
	}
	return true, nil
}

// A collector is the fold of the first pass.
type collector struct {
	roles     Roles
	starts    []rank  // by ordinal; hash is replaced by the place in the order of rank
	reference rawRows // in ordinal order
	start     rawRows
	filled    int // reference rows so far
	targets   *targetCollector
	moments   []moments // of all rows but copies; nil unless the scaling needs them

	rows int64
	one  []bool    // whether a column has had one value so far, on all rows
	head []float64 // the first row
}

// moments are a running mean and sum of squared differences (Welford).
type moments struct {
	n        float64
	mean, m2 float64
}

func (m *moments) add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / m.n
	m.m2 += float64(d * (x - m.mean))
}

func newCollector(s *Survey, allRows bool) *collector {
	columns := len(s.Columns)
	var all []moments
	if allRows {
		all = make([]moments, columns)
	}
	starts := slices.Clone(s.Roles.first(max(startRows, s.Roles.Reference())))
	for i := range starts {
		starts[i].hash = uint64(i)
	}
	slices.SortFunc(starts, func(a, b rank) int { return int(a.ordinal - b.ordinal) })
	return &collector{
		roles: s.Roles, starts: starts,
		reference: newRawRows(int(s.Roles.Reference()), columns),
		start:     newRawRows(len(starts), columns),
		targets:   newTargetCollector(s.Roles),
		moments:   all,
		one:       make([]bool, columns), head: make([]float64, columns),
	}
}

func (c *collector) add(b block) error {
	end := b.first + int64(b.rows)
	c.targets.add(b.first, b.columns[len(b.columns)-1])
	for len(c.starts) > 0 && c.starts[0].ordinal < end {
		copyRow(c.start.row(int(c.starts[0].hash)), b, int(c.starts[0].ordinal-b.first)) //nolint:gosec // a place in the order
		c.starts = c.starts[1:]
	}
	for _, ordinal := range c.roles.referenceIn(b.first, end) {
		copyRow(c.reference.row(c.filled), b, int(ordinal-b.first))
		c.filled++
	}
	c.compare(b)
	return c.roles.kept(b, func(from, to int) error {
		for i := range c.moments {
			for _, x := range b.columns[i][from:to] {
				c.moments[i].add(x)
			}
		}
		return nil
	})
}

// compare notes which columns have more than one value.
func (c *collector) compare(b block) {
	if c.rows == 0 && b.rows > 0 {
		copyRow(c.head, b, 0)
		for i := range c.one {
			c.one[i] = true
		}
	}
	c.rows += int64(b.rows)
	for i, x := range c.head {
		c.one[i] = c.one[i] && !slices.ContainsFunc(b.columns[i], func(v float64) bool { return v != x })
	}
}

func copyRow(dst []float64, b block, i int) {
	for c, column := range b.columns {
		dst[c] = column[i]
	}
}

// constant is the best constant prediction, in raw units: see [bestConstant].
func (s *Survey) constant(l LossSpec) float64 { return bestConstant(s.targets, l) }

// scale decides the constants of the scaling and the features that are used.
func (s *Survey) scale(job Job, c *collector) error {
	s.Features, s.Used, s.Notices = nil, nil, nil
	last := len(s.Columns) - 1
	for i, name := range s.Columns {
		a, constant, err := s.affine(job, c, i)
		if err != nil {
			return err
		}
		a.Name = name
		switch {
		case i == last && constant:
			return fmt.Errorf("%w: the target %q has one value, %v, on all reference rows: there is nothing to learn", ErrData, name, a.Centre)
		case i == last:
			s.Target = a
			if err := s.bears(job); err != nil {
				return err
			}
		case constant && slices.Contains(job.Features, name):
			return fmt.Errorf("%w: feature %q has one value, %v, on all reference rows: leave it out of features, or declare the scaling", ErrData, name, a.Centre)
		case constant:
			s.Notices = append(s.Notices, fmt.Sprintf("column %q is left out: it has one value, %v, on all reference rows", name, a.Centre))
			continue
		default:
			s.Features = append(s.Features, a)
		}
		s.Used = append(s.Used, i)
	}
	if len(s.Features) == 0 {
		return fmt.Errorf("%w: no feature is left: every column but the target is constant on the reference rows", ErrData)
	}
	return nil
}

// bears reports whether the target bears the job's tolerance.
func (s *Survey) bears(job Job) error { return job.bears(s.Target) }

// affine is the scaling of column i, and whether the column is constant where
// the scaling comes from.
func (s *Survey) affine(job Job, c *collector, i int) (a Affine, constant bool, err error) {
	name, isTarget := s.Columns[i], i == len(s.Columns)-1
	switch job.Scaling.Mode {
	case ScalingDeclared:
		if isTarget {
			return *job.Scaling.Target, false, nil
		}
		a, ok := job.Scaling.Features[name]
		if !ok {
			return a, false, noScaling(name)
		}
		return a, false, nil
	case ScalingAllRows:
		m := c.moments[i]
		a = Affine{Centre: m.mean, Scale: math.Sqrt(m.m2 / m.n)}
	default:
		a = standardise(s.reference.column(i))
	}
	if math.IsInf(a.Scale, 0) || math.IsNaN(a.Scale) || math.IsInf(a.Centre, 0) {
		return a, false, fmt.Errorf("%w: column %q: its values overflow float64 when squared; change its unit", ErrData, name)
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

// usual returns the values that are no more than 10,000 times the spread of most away
// from the median: a fill value such as 10⁹ among the reference rows would leave no
// difference between all others. Where most values are one, all are usual.
func usual(x []float64) []float64 {
	sorted := slices.Sorted(slices.Values(x))
	last := len(sorted) - 1
	low, middle, high := sorted[last/10], sorted[last/2], sorted[last*9/10]
	limit := 1e4 * (high - low)
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
