package job

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
)

// An Encoding replaces the scaled value of a feature by several inputs that share a lengthscale: one for each
// level, or two for each period. If OneHot and Cyclic are empty and Scaled is false, the levels are the frequent
// values of the prior rows.
type Encoding struct {
	Column string `json:"column"`
	// OneHot lists the levels, ascending. It is set in models and empty in jobs. The input of a level is 1 in rows
	// with this value and 0 in others.
	OneHot []float64 `json:"one_hot,omitempty"`
	// Cyclic lists periods, ascending, in units of the column. The inputs of a period are cosine and sine of the phase.
	Cyclic []float64 `json:"cyclic,omitempty"`
	// Scaled leaves the feature its scaled value. Such an encoding only declares Fill.
	Scaled bool  `json:"scaled,omitempty"`
	Fill   *Fill `json:"fill,omitempty"` // replaces missing values; if nil, a row without a value is rejected
}

// Encodings holds at most one encoding for each feature, in ascending order of their columns.
type Encodings []Encoding

const (
	mostLevels    = 256
	mostPeriods   = 8
	extremePeriod = 1e30 // the largest period, level or fill
)

// FrequentLevels is the largest number of levels that are taken from the prior rows.
const FrequentLevels = 64

// Of returns the encoding of a column, or nil if the column has none.
func (e Encodings) Of(column string) *Encoding {
	if i := slices.IndexFunc(e, func(one Encoding) bool { return one.Column == column }); i >= 0 {
		return &e[i]
	}
	return nil
}

// Types returns the encoded columns, which are features even if they are not numeric. The value is true for columns
// that may also be text.
func (e Encodings) Types() map[string]bool {
	all := make(map[string]bool, len(e))
	for _, one := range e {
		all[one.Column] = one.Cyclic == nil && !one.Scaled
	}
	return all
}

// open reports whether the levels are still to be taken from the prior rows.
func (e *Encoding) open() bool { return len(e.OneHot) == 0 && len(e.Cyclic) == 0 && !e.Scaled }

// Width returns the number of inputs of a feature, or an upper bound while its levels are not known. It is 1 for nil.
func (e *Encoding) Width() (n int) {
	switch {
	case e.scaled():
		n = 1
	case e.open():
		n = FrequentLevels
	default:
		n = len(e.OneHot) + 2*len(e.Cyclic)
	}
	if e.flags() {
		n++
	}
	return n
}

// Widths returns the number of inputs of each feature.
func (e Encodings) Widths(features []Affine) (all []int) {
	for _, f := range features {
		all = append(all, e.Of(f.Name).Width())
	}
	return all
}

// More returns by how many the inputs exceed the features.
func (e Encodings) More() (n int) {
	for i := range e {
		n += e[i].Width() - 1
	}
	return n
}

// Unscaled sets centre 0 and scale 1, in columns itself, for features whose encoding has no scaled value.
func (e Encodings) Unscaled(columns []Affine) []Affine {
	for i, a := range columns {
		if !e.Of(a.Name).scaled() {
			columns[i].Centre, columns[i].Scale = 0, 1
		}
	}
	return columns
}

// String returns the number of levels or periods in words.
func (e *Encoding) String() string {
	if e.Cyclic != nil {
		return words.Count(len(e.Cyclic), "period")
	}
	return words.Count(len(e.OneHot), "level")
}

// Put writes the inputs for the value v of a feature to dst, which has the length [Encoding.Width]. scaling scales
// the value (docs/reference/formats.md, 4.8).
func (e *Encoding) Put(dst []float64, v float64, scaling Affine) {
	if e.flags() {
		dst[e.Width()-1] = 0
		if Missing(v) {
			dst[e.Width()-1] = 1
		}
	}
	v = e.Value(v)
	if e.Scaled {
		dst[0] = (v - scaling.Centre) / scaling.Scale
	}
	for i, level := range e.OneHot {
		dst[i] = 0
		if v == level {
			dst[i] = 1
		}
	}
	for i, period := range e.Cyclic {
		dst[2*i], dst[2*i+1] = OnCircle(v / period)
	}
}

// OnCircle returns the point of the unit circle at 2π·revolutions. It uses only operations that give the same bits
// on every machine.
func OnCircle(revolutions float64) (x, y float64) {
	a := 2 * math.Pi * ((revolutions - math.Floor(revolutions)) - 0.5)
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
	levels, periods := len(e.OneHot) > 0, len(e.Cyclic) > 0
	switch {
	case e.open() || levels && periods || e.Scaled && (levels || periods || e.Fill == nil):
		return errors.New("want levels or periods")
	case e.Fill != nil && (e.Fill.With == nil || !(math.Abs(*e.Fill.With) <= extremePeriod) || *e.Fill.With == 0 && math.Signbit(*e.Fill.With)):
		return errors.New("want a number from -1e30 to 1e30 for missing values")
	case len(e.OneHot) > mostLevels || !ascending(e.OneHot, -extremePeriod):
		return fmt.Errorf("want at most %d different levels, from -1e30 to 1e30", mostLevels)
	case len(e.Cyclic) > mostPeriods || !ascending(e.Cyclic, 1/extremePeriod):
		return fmt.Errorf("want at most %d different periods, from 1e-30 to 1e30", mostPeriods)
	}
	return nil
}

// withEncodings returns the job with its encodings sorted and without −0, and adds their faults.
func (j Job) withEncodings(faults *faultList) Job {
	all := slices.Clone(j.Encode)
	for i, e := range all {
		all[i].Cyclic, all[i].Fill = slices.Clone(e.Cyclic), e.Fill.with(nil)
		slices.Sort(all[i].Cyclic)
	}
	slices.SortStableFunc(all, func(a, b Encoding) int { return cmp.Compare(a.Column, b.Column) })
	j.Encode = all
	for i, e := range all {
		levels, open, key := e.OneHot, e.open(), e.Key()
		if open {
			e.OneHot = []float64{0} // a stand-in, so that validate checks the rest
		}
		if text := e.Fill.fault(j, all[i]); text != "" {
			faults.add("fill: %q: %s", e.Column, text)
			continue
		}
		if e.Fill != nil && e.Fill.With == nil { // the median is not known yet: 0 stands in for it
			e.Fill = e.Fill.with(new(float64))
		}
		switch err := e.validate(); {
		case levels != nil:
			faults.add("encode: %q: the levels are those of the prior rows", e.Column)
		case certify.ColumnName(e.Column) != nil:
			faults.add("%s: %w", key, certify.ColumnName(e.Column))
		case err != nil:
			faults.add("%s: %q: %w", key, e.Column, err)
		case i > 0 && all[i-1].Column == e.Column:
			faults.add("encode: %q has two encodings", e.Column)
		case e.Column == j.Target:
			faults.add("%s: %q is the target, which is neither encoded nor filled: leave it out here", key, e.Column)
		case slices.Contains(j.Unit.Columns, e.Column) || j.Groups.Texts != nil && j.Groups.Column == e.Column:
			faults.add("%s: %q has units, or groups by texts, and then is no feature: leave it out here", key, e.Column)
		case e.Column == j.Mean.Column || slices.Contains(j.Exclude, e.Column) || j.Features != nil && !slices.Contains(j.Features, e.Column):
			faults.add("%s: %q is no feature (hint: where features are listed, list it there)", key, e.Column)
		case open && j.Scaling == ScalingNone:
			faults.add("encode: without scaling no prior rows can show the levels of %q", e.Column)
		}
	}
	return j
}

// Completed returns the encodings with what the job leaves open filled in: first the replacement of missing values,
// by middle, and then the levels, by levels.
func (e Encodings) Completed(middle func(column string) (float64, error), levels func(one Encoding) ([]float64, error)) (Encodings, error) {
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

// MaxMagnitude is the largest magnitude that the row rule values-finite allows.
const MaxMagnitude = 1e30

// A Fill replaces the missing values of a feature: nulls, NaN and other values that break a row rule. Rows with
// them are not rejected. The replacement follows from the prior rows or the job alone, so that the inputs are a
// function of the row that was fixed before training.
type Fill struct {
	With *float64 `json:"with,omitempty"` // the replacement; nil means the median of the feature over the prior rows
	Flag bool     `json:"flag,omitempty"` // adds an input that is 1 where the value is missing and 0 elsewhere
}

// Missing reports whether a value breaks a row rule.
func Missing(v float64) bool { return !(math.Abs(v) <= MaxMagnitude) }

// with returns a copy of the fill whose value is v, or the old one if v is nil. It returns nil for a nil fill.
func (f *Fill) with(v *float64) *Fill {
	if f == nil {
		return nil
	}
	if v = cmp.Or(v, f.With); v != nil {
		v = new(*v + 0) // no −0
	}
	return &Fill{v, f.Flag}
}

// fault returns why the job cannot have this fill, or "". It does not check the number.
func (f *Fill) fault(j Job, encoding Encoding) string {
	switch {
	case f == nil:
	case encoding.Column == j.Groups.Column:
		return "its values make groups, and a missing one makes none"
	case f.With != nil:
	case j.Scaling == ScalingNone:
		return "without scaling there are no prior rows to have a median: give a number"
	case encoding.open():
		return "levels have no median: give a number, such as -1, which is then a level of its own or none"
	}
	return ""
}

// Key returns the key of the job file that declares the encoding.
func (e Encoding) Key() string {
	if e.Scaled {
		return "fill"
	}
	return "encode"
}

// scaled reports whether the scaled value of the feature is an input. It is true for nil.
func (e *Encoding) scaled() bool { return e == nil || e.Scaled }

// Fills reports whether missing values are replaced.
func (e *Encoding) Fills() bool { return e != nil && e.Fill != nil }

func (e *Encoding) flags() bool { return e.Fills() && e.Fill.Flag }

// Value returns v, or its replacement if v is missing and the encoding has a fill.
func (e *Encoding) Value(v float64) float64 {
	if e.Fills() && Missing(v) {
		return *e.Fill.With
	}
	return v
}

// Fills reports whether missing values of a column are replaced.
func (e Encodings) Fills(column string) bool { return e.Of(column).Fills() }

// By returns the encoding of each column, nil for a column without one.
func (e Encodings) By(columns []string) (all []*Encoding) {
	for _, name := range columns {
		all = append(all, e.Of(name))
	}
	return all
}

// Strict returns those of columns, which are indices of names, in which a missing value makes a row rejected.
func (e Encodings) Strict(names []string, columns []int) []int {
	return slices.DeleteFunc(slices.Clone(columns), func(c int) bool { return e.Fills(names[c]) })
}

// Openly returns the encodings without the replacement values, which differ with the prior rows.
func (e Encodings) Openly() Encodings {
	all := slices.Clone(e)
	for i, one := range all {
		if one.Fill != nil {
			all[i].Fill = &Fill{Flag: one.Fill.Flag}
		}
	}
	return all
}

// An Affine maps a raw column to scaled units: (value − Centre) / Scale.
type Affine struct {
	Name   string  `json:"name"`
	Centre float64 `json:"centre"`
	Scale  float64 `json:"scale"` // > 0

	Values Meaning `json:"values,omitempty"` // set for features only
}
