package pass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A FirstPass is the result of the first pass over a dataset: its digest, split, scaling and start rows. Prior, scaling
// and loss depend on prior rows only.
type FirstPass struct {
	Split    dataset.Split
	Features []job.Affine
	Target   job.Affine
	Digest   job.Digest
	Targets  job.Digest // of the multiset of the target's values
	Held     HeldOut

	Prior dataset.RawRows // the prior rows, in the order of their ordinals
	Start dataset.RawRows // the rows of [dataset.Split.Starts], in the order of their ranks

	columns    []string      // of the source; the target is last
	used       []int         // indices of the columns that are used: features in order, other columns, the target
	encode     job.Encodings // with levels and medians
	duplicates job.Duplicates
	repeats    bool // whether there are duplicates that the job drops
	warnings   []string

	means  []job.Meaning // of the columns; nil if the source does not state them
	mean   int           // index of the column of the mean, or -1
	groups []float64     // values with a group of their own

	bad     string    // describes the rejected rows
	targets []float64 // targets that the baseline's constant is chosen on
}

// First makes the first pass. It reads the rows twice if the job leaves rows out, because the subset of a row must be
// known before the row is used. It repeats the pass if rows differ only in columns that are not used. parts, if not nil,
// makes the pass in parts. If there are too many rejected rows, First returns both the result and an error.
func First(ctx context.Context, src dataset.Source, j job.Job, res job.Resources, parts Parts) (*FirstPass, error) {
	s := &FirstPass{columns: src.Columns(), means: meanings(src), mean: -1}
	if j.Mean.Given() {
		s.mean = len(s.columns) - 2
	}
	if err := j.CheckRows(s.columns, dataset.RowsOf(src)); err != nil {
		return nil, err
	}
	used := dataset.Indices(len(s.columns))
	for passes := 0; ; passes++ {
		same, err := s.pass(ctx, src, j, used, res, parts)
		if errors.Is(err, job.ErrData) && s.Split.Out.Bad != nil {
			return s, err // the result says which rows are rejected
		}
		if err != nil {
			return nil, err
		}
		if j.Duplicates.Policy == job.DuplicatesDropped && !j.Drops() && s.duplicates.OfRows() > 0 {
			j.Repeats = true // read again, without the duplicates
			continue
		}
		if same {
			break
		}
		if passes > len(s.columns) {
			return nil, fmt.Errorf("%w: which rows are left out depends on which columns are constant on the prior rows, and that on the rows left out: name the features", job.ErrData)
		}
		used = s.used
	}
	if err := j.Duplicates.Allow(s.duplicates.OfRows(), s.duplicates.Rows); err != nil {
		return nil, err
	}
	var err error
	if s.groups, err = dataset.GroupValues(j, s.columns, s.Prior); err != nil {
		return nil, err
	}
	s.warnings = append(s.warnings, dataset.StrangeGroups(j.Groups, s.columns, s.Prior)...)
	s.warnings = append(s.warnings, s.warned()...)
	bad, all := s.Split.Out.Bad.Size(), s.Split.Rows
	if err := j.Rejected.Stop(bad, all, s.bad); err != nil {
		return s, err // the result says which rows are rejected
	}
	if bad > 0 {
		s.warnings = append(s.warnings, fmt.Sprintf("%d of %s break a row rule and are left out; %s", bad, words.Count(all, "row"), s.bad))
	}
	s.repeats = j.Repeats
	if text := j.Duplicates.Warning(s.duplicates); text != "" {
		s.warnings = append(s.warnings, text)
	}
	return s, nil
}

// pass reads the rows once and counts duplicates over the given columns. It reports whether the used columns, which
// follow from the rows, give the same duplicates.
func (s *FirstPass) pass(ctx context.Context, src dataset.Source, job job.Job, columns []int, res job.Resources, parts Parts) (same bool, err error) {
	rows, err := beginPass(ctx, src, job, columns, &TrainingState{Secret: dataset.NewSecret().String()}, res)
	if rows != nil {
		s.Split = rows.split
	}
	if rows != nil && rows.filter != nil {
		s.bad = rows.filter.bad
		if err != nil { // too many rejected rows are the more useful reason
			err = cmp.Or(job.Rejected.Stop(s.Split.Out.Bad.Size(), s.Split.Rows, s.bad), err)
		}
	}
	if err != nil {
		return false, err
	}
	rows.wanted, rows.first = dataset.OrdinalsOf(rows.split.Starts()), true
	see := func(found *Pass) (err error) {
		same, err = s.see(ctx, job, rows, found)
		return err
	}
	if parts != nil && !job.FiltersRows() {
		err = rows.inParts(ctx, job, s.columns, parts, see)
		return same, err
	}
	found, err := rows.Pass(ctx, Whole)
	if err != nil {
		return false, err
	}
	err = errors.Join(see(found), found.Close())
	return same, err
}

// see sets s from what a first pass over all rows has found. It reports whether the used columns give the same
// duplicates.
func (s *FirstPass) see(ctx context.Context, job job.Job, rows *Prepared, found *Pass) (same bool, err error) {
	kept := rows.wanted
	if err := rows.owns(found, kept); err != nil {
		return false, err
	}
	if s.duplicates, err = found.counted(ctx); err != nil {
		return false, err
	}
	s.Held = *found.held
	s.Prior, s.Start = found.picked(kept, s.Split.PriorRows), found.picked(kept, rows.wanted).Ranked(rows.wanted, s.Split.Starts())
	s.targets = found.picked(kept, s.Split.BaselineRows()).Column(len(s.columns) - 1)
	if err := s.scale(job); err != nil {
		return false, err
	}
	s.Digest, s.Targets = found.digests(s.used)
	for c, each := range found.summaries() {
		if slices.Contains(rows.columns, c) != slices.Contains(s.used, c) && !each.one {
			return false, nil
		}
	}
	return true, nil
}

// summaries returns the summary of each column over all shards.
func (p *Pass) summaries() []summary {
	var all []summary
	for _, s := range p.InOrder() {
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

// TrainingState returns the training state of the job, without the results of training.
func (s *FirstPass) TrainingState(j job.Job, src dataset.Source) (*TrainingState, error) {
	j.Repeats = s.repeats
	h, err := newTrainingState(j, s.Split, dataset.NewSecret())
	if err != nil {
		return nil, err
	}
	h.Sample, h.Targets, h.Segments = s.Digest.String(), s.Targets.String(), dataset.SegmentsOf(src)
	h.Prior, h.Groups, h.Warnings = s.Prior.Digest(s.used), s.groups, s.warnings
	h.Constant = bestConstant(s.targets, j.LossSpec(s.Target))
	return h, nil
}

// Describe returns the description of a model, derived from the job, the first pass and the model itself.
func (s *FirstPass) Describe(j job.Job, theta []certify.Parameter, p *model.Posterior) (ModelMeta, error) {
	j.Encode = s.encode
	return describe(j, s.Features, s.Target, theta, p)
}

// HasColumns reports whether a model has the same features, target, column of the mean and levels as the job's rows.
func (s *FirstPass) HasColumns(m ModelMeta, j job.Job) bool {
	return slices.Equal(m.FeatureNames(), dataset.NamesOf(s.Features)) && m.Target.Name == s.Target.Name && m.Mean == j.Mean.Column &&
		reflect.DeepEqual(m.Encode.Openly(), s.encode.Openly())
}

// scale sets the scaling of the columns and which features are used.
func (s *FirstPass) scale(j job.Job) error {
	s.Features, s.used = nil, nil
	last := len(s.columns) - 1
	var err error
	if s.encode, err = dataset.LevelsSeen(j.Encode, s.columns, s.Prior); err != nil {
		return err
	}
	encoded := s.encode.By(s.columns)
	s.Prior, s.Start = s.Prior.Filled(encoded), s.Start.Filled(encoded)
	s.warnings = s.filled()
	filled := len(s.warnings)
	for i, name := range s.columns {
		if i < last && i >= last-len(j.NotAFeature())-len(j.Labels()) {
			s.used = append(s.used, i)
			continue
		}
		a, constant, err := s.affine(j, i)
		if err != nil {
			return err
		}
		a.Name = name
		encoded := s.encode.Of(name) != nil
		switch {
		case i == last && constant:
			return fmt.Errorf("%w: the target %q has one value, %v, on all prior rows: there is nothing to learn", job.ErrData, name, a.Centre)
		case i == last:
			s.Target = a
			if err := errors.Join(j.CheckTarget(a), dataset.KnowsTarget(j.Mean, s.BaselineRows())); err != nil {
				return err
			}
			s.Target.Centre = j.Mean.Centre(s.Target.Centre)
		case constant && encoded: // its value may stand for text
			return fmt.Errorf("%w: feature %q has one value on all prior rows: leave it out of %s and of features", job.ErrData, name, s.encode.Of(name).Key())
		case constant && slices.Contains(j.Features, name):
			return fmt.Errorf("%w: feature %q has one value, %v, on all prior rows: leave it out of features", job.ErrData, name, a.Centre)
		case constant && name == j.Groups.Column:
			return fmt.Errorf("%w: groups: %q has one value, %v, on all prior rows: there are no groups, unless you leave it out of the features and list values", job.ErrData, name, a.Centre)
		case constant:
			s.warnings = append(s.warnings, fmt.Sprintf("column %q is left out: it has one value, %v, on all prior rows", name, a.Centre))
			continue
		case j.Features == nil && !encoded && name != j.Groups.Column && s.identifies(i) != "":
			s.warnings = append(s.warnings, fmt.Sprintf("column %q is left out: it %s; if it is a quantity, name it in features", name, s.identifies(i)))
			continue
		default:
			if s.means != nil {
				a.Values = s.means[i]
			}
			s.Features = append(s.Features, a)
		}
		s.used = append(s.used, i)
	}
	s.Features = s.encode.Unscaled(s.Features)
	if len(s.Features) == 0 {
		left := s.warnings[filled:]
		return fmt.Errorf("%w: no feature is left: %s", job.ErrData, strings.Join(left[:min(3, len(left))], "; "))
	}
	return nil
}

// BaselineRows returns the rows on which the baseline's constant is chosen.
func (s *FirstPass) BaselineRows() dataset.RawRows {
	if s.Prior.Len() > 0 {
		return s.Prior
	}
	return s.Start
}

// affine returns the scaling of column i, and whether the column is constant on the prior rows.
func (s *FirstPass) affine(j job.Job, i int) (a job.Affine, constant bool, err error) {
	if j.Scaling == job.ScalingNone {
		return job.Affine{Scale: 1}, false, nil
	}
	x := slices.DeleteFunc(s.Prior.Column(i), math.IsNaN) // only unused columns have NaN
	if len(x) == 0 {
		return a, true, nil
	}
	a = dataset.Standardise(x)
	if i == len(s.columns)-1 {
		a.Centre = dataset.Centre(x, a.Centre)
	}
	if math.IsInf(a.Scale, 0) || math.IsNaN(a.Scale) || math.IsInf(a.Centre, 0) || math.IsNaN(a.Centre) {
		return a, false, fmt.Errorf("%w: column %q: its values overflow float64 when squared; change its unit", job.ErrData, s.columns[i])
	}
	if a.Scale == 0 && slices.Min(x) < slices.Max(x) {
		return a, false, fmt.Errorf("%w: column %q: its differences, up to %.3g, vanish in float64 when squared; change its unit", job.ErrData, s.columns[i], slices.Max(x)-slices.Min(x))
	}
	return a, !(a.Scale > 0), nil
}

// Scaler returns a scaler for rows of the source.
func (s *FirstPass) Scaler() dataset.Scaler {
	return dataset.NewScaler(s.used[:len(s.Features)], s.Features, s.encode, s.mean, s.Target)
}

// Scaled returns raw rows in scaled form, as the trainer needs them.
func (s *FirstPass) Scaled(raw dataset.RawRows) model.Rows {
	scale := s.Scaler()
	x, y := scale.ScaleRaw(raw)
	return model.Rows{X: x, Y: y, Dim: scale.Inputs}
}

// Scales returns which inputs share a lengthscale.
func (s *FirstPass) Scales(job job.Job) model.Scales {
	return model.Scales{ARD: !job.Kernel.Isotropic, Widths: s.encode.Widths(s.Features)}
}

// filled returns messages about replaced missing values of the prior rows.
func (s *FirstPass) filled() (all []string) {
	raw := s.Prior.Filled(nil)
	for i, name := range s.columns {
		if e := s.encode.Of(name); e.Fills() {
			n := len(slices.DeleteFunc(raw.Column(i), func(v float64) bool { return !job.Missing(v) }))
			if n == 0 {
				continue
			}
			all = append(all, fmt.Sprintf("%q is missing in %d of %s; missing values become %.4g", name, n, words.Count(int64(s.Prior.Len()), "prior row"), *e.Fill.With))
		}
	}
	return all
}

// leastDetected is the least number of prior rows by which an identifier is detected. The probability that this many
// different values of independent rows are in order is about 10⁻¹⁸.
const leastDetected = 20

// warned returns warnings about the values of used columns on the prior rows.
func (s *FirstPass) warned() (all []string) {
	if s.Prior.Len() < leastDetected {
		return nil
	}
	y := s.Prior.Column(len(s.columns) - 1)
	for _, i := range s.used[:len(s.Features)] {
		if how := s.identifies(i); how != "" {
			all = append(all, fmt.Sprintf("column %q %s; fresh rows have others, so leave it out (exclude), unless it is a quantity", s.columns[i], how))
		}
		if onLine(s.Prior.Column(i), y) {
			all = append(all, fmt.Sprintf("column %q may leak the target: it is the target, or a straight line of it, %s. If it is made from the target, you will not know it when you predict: leave it out (exclude)", s.columns[i], s.onAll()))
		}
	}
	low, high := slices.Min(y), slices.Max(y)
	if !slices.ContainsFunc(y, func(v float64) bool { return v != low && v != high }) {
		all = append(all, fmt.Sprintf("the target %q has two values %s, %v and %v: predictions are numbers between classes, and with a tolerance of half the difference or more one constant is never off by more", s.Target.Name, s.onAll(), low, high))
	}
	return all
}

// IDName matches names that are usual for columns of identifiers.
var IDName = regexp.MustCompile(`^(?i:id|uuid|guid|row_?(id|number|num|no))$|(?i:[_. -]id)$|[a-z]I[dD]$`)

func (s *FirstPass) onAll() string {
	return "on all " + words.Number(int64(s.Prior.Len())) + " prior rows"
}

// onLine reports whether the points (x, y) are on a straight line, up to rounding.
func onLine(x, y []float64) bool {
	n := float64(len(x))
	var a, b, xx, xy, yy float64
	for i := range x {
		a, b = a+x[i]/n, b+y[i]/n
	}
	for i := range x {
		xx, xy, yy = xx+(x[i]-a)*(x[i]-a), xy+(x[i]-a)*(y[i]-b), yy+(y[i]-b)*(y[i]-b)
	}
	return xy*xy > (1-1e-9)*xx*yy
}

// identifies returns why column i may be an identifier, by the prior rows, or "" if it is none or there are too few rows.
func (s *FirstPass) identifies(i int) string {
	column := s.Prior.Column(i)
	sorted := slices.Sorted(slices.Values(column))
	if len(column) < leastDetected || len(slices.Compact(slices.Clone(sorted))) < len(column) || slices.ContainsFunc(column, func(v float64) bool { return v != math.Trunc(v) }) {
		return ""
	}
	why := "seems to be an identifier: its values are whole numbers, all different " + s.onAll() + ", and "
	switch {
	case IDName.MatchString(s.columns[i]):
		return why + "it is named like one"
	case slices.IsSorted(column) && sorted[len(sorted)-1]-sorted[0] <= 2*float64(s.Split.Rows):
		return why + "they count the rows"
	}
	return ""
}

// CheckLeftOut returns an error if a column that a first pass in parts has left out, because it is constant on the prior
// rows, has other values there. The features are part of the prior, which may depend on prior rows only. CheckLeftOut
// reads only these columns and the target, in shards with prior rows.
func (s *FirstPass) CheckLeftOut(ctx context.Context, open func(ctx context.Context, features []string) (dataset.Source, error), workers int) error {
	if s.repeats { // one process has read all rows
		return nil
	}
	var names []string
	var at []int
	for c, name := range s.columns {
		if !slices.Contains(s.used, c) {
			names, at = append(names, name), append(at, c)
		}
	}
	if len(names) == 0 {
		return nil
	}
	src, err := open(ctx, names)
	if err != nil {
		return err
	}
	order := []int{} // not nil, which would be all shards
	for i, shard := range src.Shards() {
		if len(shard.Among(s.Split.PriorRows)) > 0 {
			order = append(order, i)
		}
	}
	next := 0 // number of the next prior row
	err = dataset.Stream(ctx, src, order, workers, func(b dataset.Block) error {
		for _, ordinal := range (dataset.Shard{First: b.First, Rows: int64(b.Rows)}).Among(s.Split.PriorRows) {
			for i, c := range at {
				if v, before := b.Columns[i][ordinal-b.First], s.Prior.Row(next)[c]; math.Float64bits(v) != math.Float64bits(before) {
					return fmt.Errorf("%w: column %q is %v in row %d, a prior row, and the first pass had %v", job.ErrChanged, names[i], v, ordinal, before)
				}
			}
			next++
		}
		return nil
	})
	if err == nil && next != s.Prior.Len() {
		err = fmt.Errorf("%w: there are %d of %d prior rows", job.ErrChanged, next, s.Prior.Len())
	}
	return err
}

// PutAway writes the rejected rows of a first pass to a store, unless that is nil. It reads shards with rejected rows
// again, so that it need not hold all these rows in memory.
func (s *FirstPass) PutAway(ctx context.Context, src dataset.Source, to dataset.Rejects, res job.Resources) error {
	bad, shards := s.Split.Out.Bad, src.Shards()
	if to == nil || bad == nil {
		return nil
	}
	order := []int{} // not nil, which would be all shards
	for i, shard := range shards {
		if bad.CountBefore(shard.First+shard.Rows) > bad.CountBefore(shard.First) {
			order = append(order, i)
		}
	}
	err := to.Put(ctx, s.columns, shards, func(use func(dataset.RejectedRow) error) error {
		return dataset.Stream(ctx, src, order, res.Workers, func(b dataset.Block) error {
			shard := sort.Search(len(shards), func(i int) bool { return b.First < shards[i].First+shards[i].Rows })
			for i := range b.Rows {
				ordinal := b.First + int64(i)
				if !bad.Has(ordinal) {
					continue
				}
				if b.Reasons == nil || b.Reasons.IsNull(i) {
					return fmt.Errorf("%w: row %d of the sample was bad, and is not any more", job.ErrChanged, ordinal)
				}
				row := dataset.RejectedRow{Shard: shard, Row: ordinal - shards[shard].First, Reason: b.Reasons.Value(i)}
				for _, column := range b.Columns {
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
		return fmt.Errorf("keeping rejected rows: %w", err)
	}
	return nil
}
