package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
)

// An Encoding makes several inputs of a feature, in the place of its scaled value: one a level, or
// two a period. They share a lengthscale. Without periods the levels are the frequent values of the
// reference rows, unless it is Scaled.
type Encoding struct {
	Column string `json:"column"`
	// OneHot are levels, ascending, which a model knows and a job does not. Their inputs are 1 in the rows with
	// this value, else 0.
	OneHot []float64 `json:"one_hot,omitempty"`
	// Cyclic are periods, ascending. Their inputs are cosine and sine of the phase.
	Cyclic []float64 `json:"cyclic,omitempty"`
	// Scaled features have their scaled value. They are here for their missing values.
	Scaled bool  `json:"scaled,omitempty"`
	Fill   *Fill `json:"fill,omitempty"` // nil: a row without a value is bad
}

// Encodings are those of some features, ascending by name.
type Encodings []Encoding

const (
	mostLevels     = 256
	mostPeriods    = 8
	extremePeriod  = 1e30 // no value is larger
	frequentLevels = 64   // the most levels that come from the reference rows
	frequentLevel  = 200  // the least number of reference rows, as one in so many, of each
	fewestRows     = 2    // and their number
)

// Of is the encoding of a column; nil: it has none.
func (e Encodings) Of(column string) *Encoding {
	if i := slices.IndexFunc(e, func(one Encoding) bool { return one.Column == column }); i >= 0 {
		return &e[i]
	}
	return nil
}

// Types are the encoded columns, which are features whatever their type; true: also if it is text.
func (e Encodings) Types() map[string]bool {
	all := make(map[string]bool, len(e))
	for _, one := range e {
		all[one.Column] = one.Cyclic == nil && !one.Scaled
	}
	return all
}

// open reports whether the levels are those of the reference rows.
func (e *Encoding) open() bool { return len(e.OneHot) == 0 && len(e.Cyclic) == 0 && !e.Scaled }

// width is the number of inputs of a feature, at most if its levels are not known yet.
func (e *Encoding) width() (n int) {
	switch {
	case e.scaled():
		n = 1
	case e.open():
		n = frequentLevels
	default:
		n = len(e.OneHot) + 2*len(e.Cyclic)
	}
	if e.flags() {
		n++
	}
	return n
}

// other is the first encoded feature whose value is none of its levels, by a row's inputs; "" if there
// is none.
func (m ModelMeta) other(x []float64) string {
	if len(m.Encode) == 0 {
		return ""
	}
	for _, f := range m.Features {
		e := m.Encode.Of(f.Name)
		if e != nil && len(e.OneHot) > 0 && !slices.Contains(x[:len(e.OneHot)], 1) {
			return f.Name
		}
		x = x[e.width():]
	}
	return ""
}

// Widths are the numbers of inputs of some features.
func (e Encodings) Widths(features []Affine) (all []int) {
	for _, f := range features {
		all = append(all, e.Of(f.Name).width())
	}
	return all
}

// more is the number of inputs beyond one a feature.
func (e Encodings) more() (n int) {
	for i := range e {
		n += e[i].width() - 1
	}
	return n
}

// unscaled replaces the constants of encoded features, which are not scaled.
func (e Encodings) unscaled(columns []Affine) []Affine {
	for i, a := range columns {
		if !e.Of(a.Name).scaled() {
			columns[i] = Affine{Name: a.Name, Scale: 1}
		}
	}
	return columns
}

// String says how many levels or periods there are.
func (e *Encoding) String() string {
	if e.Cyclic != nil {
		return words.Count(len(e.Cyclic), "period")
	}
	return words.Count(len(e.OneHot), "level")
}

// put writes the inputs of a value of a feature: docs/format.md, 4.8.
func (e *Encoding) put(dst []float64, v float64, of Affine) {
	if e.flags() {
		dst[e.width()-1] = 0
		if missing(v) {
			dst[e.width()-1] = 1
		}
	}
	v = e.value(v)
	if e.Scaled {
		dst[0] = (v - of.Centre) / of.Scale
	}
	for i, level := range e.OneHot {
		dst[i] = 0
		if v == level {
			dst[i] = 1
		}
	}
	for i, period := range e.Cyclic {
		dst[2*i], dst[2*i+1] = onCircle(v / period)
	}
}

// onCircle is a point of the unit circle at so many turns, by operations that give the same bits on
// every machine.
func onCircle(turns float64) (x, y float64) {
	a := 2 * math.Pi * ((turns - math.Floor(turns)) - 0.5)
	square := a * a
	x, y = 1, 1
	for i := 28.0; i > 0; i -= 2 {
		x, y = 1-square*x/(i*(i-1)), 1-square*y/(i*(i+1))
	}
	return x, a * y
}

// Validate returns the faults of encodings whose levels are known.
func (e Encodings) Validate() error {
	var faults []error
	for i, one := range e {
		if i > 0 && e[i-1].Column >= one.Column {
			faults = append(faults, fmt.Errorf("%q: the columns are out of order, or one has two encodings", one.Column))
		}
		if err := one.validate(); err != nil {
			faults = append(faults, fmt.Errorf("%q: %w", one.Column, err))
		}
	}
	return errors.Join(faults...)
}

func (e Encoding) validate() error {
	ascending := func(values []float64, least float64) bool {
		for i, v := range values {
			if !(least <= v && v <= extremePeriod) || i > 0 && !(values[i-1] < v) || math.Signbit(v) && v == 0 {
				return false
			}
		}
		return true
	}
	forms := 0
	for _, has := range []bool{len(e.OneHot) > 0, len(e.Cyclic) > 0, e.Scaled} {
		if has {
			forms++
		}
	}
	switch {
	case forms != 1 || e.Scaled && e.Fill == nil:
		return errors.New("want levels or periods")
	case e.Fill != nil && !e.Fill.valid():
		return errors.New("want a number from -1e30 to 1e30 for missing values")
	case len(e.OneHot) > mostLevels || !ascending(e.OneHot, -extremePeriod):
		return fmt.Errorf("want at most %d different levels, from -1e30 to 1e30", mostLevels)
	case len(e.Cyclic) > mostPeriods || !ascending(e.Cyclic, 1/extremePeriod):
		return fmt.Errorf("want at most %d different periods, from 1e-30 to 1e30", mostPeriods)
	}
	return nil
}

// ordered completes a declaration.
func (e Encoding) ordered() Encoding {
	e.Cyclic = slices.Clone(e.Cyclic)
	slices.Sort(e.Cyclic)
	e.Fill = e.Fill.with(nil)
	return e
}

// withEncodings completes the declaration.
func (j Job) withEncodings(fault func(string, ...any)) Job {
	all := slices.Clone(j.Encode)
	for i, e := range all {
		all[i] = e.ordered()
	}
	slices.SortStableFunc(all, func(a, b Encoding) int { return cmp.Compare(a.Column, b.Column) })
	j.Encode = all
	others := slices.Concat([]string{j.Target, j.Mean.Column}, j.Exclude, j.Unit.Columns)
	for i, e := range all {
		levels, open, key := e.OneHot, e.open(), e.key()
		if open {
			e.OneHot = []float64{0} // to check the rest
		}
		if text := e.Fill.fault(j, all[i]); text != "" {
			fault("fill: %q: %s", e.Column, text)
			continue
		}
		switch err := e.filledWith(0).validate(); {
		case levels != nil:
			fault("encode: %q: the levels are those of the reference rows", e.Column)
		case certify.ColumnName(e.Column) != nil:
			fault("%s: %w", key, certify.ColumnName(e.Column))
		case err != nil:
			fault("%s: %q: %w", key, e.Column, err)
		case i > 0 && all[i-1].Column == e.Column:
			fault("encode: %q has two encodings", e.Column)
		case slices.Contains(others, e.Column) || j.Features != nil && !slices.Contains(j.Features, e.Column):
			fault("%s: %q is no feature (hint: where features are listed, list it there)", key, e.Column)
		case j.Groups.Texts != nil && j.Groups.Column == e.Column:
			fault("%s: %q has groups by texts, and is no feature", key, e.Column)
		case open && j.Scaling == ScalingNone:
			fault("encode: without scaling no reference rows can show the levels of %q", e.Column)
		}
	}
	return j
}

// completed are the encodings with what the job leaves open, by functions of the column: the values
// that stand for missing ones, and then the levels.
func (e Encodings) completed(middle func(column string) (float64, error), levels func(one Encoding) ([]float64, error)) (Encodings, error) {
	all := slices.Clone(e)
	var faults []error
	for i, one := range all {
		if one.Fill != nil && one.Fill.With == nil {
			v, err := middle(one.Column)
			all[i].Fill, faults = one.Fill.with(&v), append(faults, err)
		}
		if one.open() {
			var err error
			all[i].OneHot, err = levels(all[i])
			faults = append(faults, err)
		}
	}
	return all, errors.Join(faults...)
}

// seen are the encodings with medians and frequent values of the reference rows.
func (e Encodings) seen(columns []string, reference rawRows) (Encodings, error) {
	raw := reference
	raw.encoded = nil
	column := func(name string) ([]float64, error) {
		at := slices.Index(columns, name)
		if at < 0 {
			return nil, fmt.Errorf("%w: encode: %q is no feature", ErrConfig, name)
		}
		return raw.column(at), nil
	}
	return e.completed(func(name string) (float64, error) {
		values, err := column(name)
		if values = slices.DeleteFunc(values, missing); err == nil && len(values) == 0 {
			err = fmt.Errorf("%w: fill: %q has no value on any reference row, of which the median could be: declare a number, or leave the column out", ErrData, name)
		}
		if err != nil {
			return 0, err
		}
		_, median, _ := middleOf(values)
		return median + 0, nil // no −0
	}, func(one Encoding) ([]float64, error) {
		values, err := column(one.Column)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			values[i] = one.value(v)
		}
		levels := frequent(values, frequentLevel, fewestRows, frequentLevels)
		if levels == nil {
			return nil, fmt.Errorf("%w: encode: no value of %q is that of one in %d reference rows, and of %d at least: leave out (exclude) an identifier, whose values are all different", ErrData, one.Column, frequentLevel, fewestRows)
		}
		return levels, nil
	})
}

// stated are the encodings with medians and levels of a model's description.
func (e Encodings) stated(meta ModelMeta) (Encodings, error) {
	return e.completed(func(column string) (float64, error) {
		if of := meta.Encode.Of(column); of != nil && of.Fill != nil && of.Fill.With != nil {
			return *of.Fill.With, nil
		}
		return 0, fmt.Errorf("the model does not fill %q", column)
	}, func(one Encoding) ([]float64, error) {
		if of := meta.Encode.Of(one.Column); of != nil {
			return of.OneHot, nil
		}
		return nil, fmt.Errorf("the model does not encode %q", one.Column)
	})
}
