package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// An Encoding makes several inputs of a feature, in the place of its scaled value: one a level, or
// two a period. They share a lengthscale. Without levels and periods the levels are the frequent
// values of the reference rows.
type Encoding struct {
	Column string `json:"column"`
	// OneHot are levels, ascending. Their inputs are 1 in the rows with this value, else 0.
	OneHot []float64 `json:"one_hot,omitempty"`
	Texts  []string  `json:"texts,omitempty"` // of a column of text, which give the levels
	// Cyclic are periods, ascending. Their inputs are cosine and sine of the phase.
	Cyclic []float64 `json:"cyclic,omitempty"`
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

// Texts are the columns that must be of text.
func (e Encodings) Texts() (all []ColumnTexts) {
	for _, one := range e {
		if one.Texts != nil {
			all = append(all, ColumnTexts{one.Column, one.Texts})
		}
	}
	return all
}

// Types are the encoded columns, which are features whatever their type; true: also if it is text.
func (e Encodings) Types() map[string]bool {
	all := make(map[string]bool, len(e))
	for _, one := range e {
		all[one.Column] = one.Cyclic == nil
	}
	return all
}

// open reports whether the levels are those of the reference rows.
func (e *Encoding) open() bool { return len(e.OneHot) == 0 && len(e.Cyclic) == 0 }

// width is the number of inputs of a feature, at most if its levels are not known yet.
func (e *Encoding) width() int {
	switch {
	case e == nil:
		return 1
	case e.open():
		return frequentLevels
	}
	return len(e.OneHot) + 2*len(e.Cyclic)
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
		if e.Of(a.Name) != nil {
			columns[i] = Affine{Name: a.Name, Scale: 1}
		}
	}
	return columns
}

// String says how many levels or periods there are.
func (e *Encoding) String() string {
	if e.Cyclic != nil {
		return certify.Count(len(e.Cyclic), "period")
	}
	return certify.Count(len(e.OneHot), "level")
}

// put writes the inputs of a value: docs/format.md, 4.8.
func (e *Encoding) put(dst []float64, v float64) {
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
	labels := make([]float64, 0, len(e.Texts))
	for _, text := range e.Texts {
		if err := certify.GroupText(text); err != nil {
			return err
		}
		labels = append(labels, Label(text))
	}
	switch {
	case (len(e.OneHot) > 0) == (len(e.Cyclic) > 0):
		return errors.New("want levels or periods")
	case len(e.OneHot) > mostLevels || !ascending(e.OneHot, -extremePeriod):
		return fmt.Errorf("want at most %d different levels, from -1e30 to 1e30", mostLevels)
	case len(e.Cyclic) > mostPeriods || !ascending(e.Cyclic, 1/extremePeriod):
		return fmt.Errorf("want at most %d different periods, from 1e-30 to 1e30", mostPeriods)
	case len(labels) > 0 && !slices.Equal(labels, e.OneHot):
		return errors.New("the levels are not the labels of the texts")
	}
	return nil
}

// ordered completes a declaration.
func (e Encoding) ordered() Encoding {
	if e.Texts != nil {
		e.Texts, e.OneHot = slices.Clone(e.Texts), nil
		slices.SortFunc(e.Texts, func(a, b string) int { return cmp.Compare(Label(a), Label(b)) })
		for _, text := range e.Texts {
			e.OneHot = append(e.OneHot, Label(text))
		}
	}
	for _, values := range []*[]float64{&e.OneHot, &e.Cyclic} {
		*values = slices.Clone(*values)
		for i := range *values {
			(*values)[i] += 0 // no −0
		}
		slices.Sort(*values)
	}
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
		_, scaled := j.Scaling.Features[e.Column]
		open := e.open()
		if open {
			e.OneHot = []float64{0} // to check the rest
		}
		switch err := e.validate(); {
		case certify.ColumnName(e.Column) != nil:
			fault("encode: %w", certify.ColumnName(e.Column))
		case err != nil:
			fault("encode: %q: %w", e.Column, err)
		case i > 0 && all[i-1].Column == e.Column:
			fault("encode: %q has two encodings", e.Column)
		case slices.Contains(others, e.Column) || j.Features != nil && !slices.Contains(j.Features, e.Column):
			fault("encode: %q is no feature (hint: where features are listed, list it there)", e.Column)
		case j.Groups.Texts != nil && j.Groups.Column == e.Column:
			fault("encode: %q has groups by texts, and is no feature", e.Column)
		case open && j.Scaling.Mode != ScalingReference:
			fault("encode: list the levels of %q, for with scaling.mode %s no reference rows can show them", e.Column, j.Scaling.Mode)
		case scaled:
			fault("encode: %q has declared centre and scale, and is not scaled", e.Column)
		}
	}
	return j
}

// filled are the encodings with levels, those that the job does not list by a function of the column.
func (e Encodings) filled(levels func(column string) ([]float64, error)) (Encodings, error) {
	all := slices.Clone(e)
	var faults []error
	for i, one := range all {
		if one.open() {
			var err error
			all[i].OneHot, err = levels(one.Column)
			faults = append(faults, err)
		}
	}
	return all, errors.Join(faults...)
}

// seen are the encodings with the frequent values of the reference rows.
func (e Encodings) seen(columns []string, reference rawRows) (Encodings, error) {
	return e.filled(func(column string) ([]float64, error) {
		at := slices.Index(columns, column)
		if at < 0 {
			return nil, fmt.Errorf("%w: encode: %q is no feature", ErrConfig, column)
		}
		levels := frequent(reference.column(at), frequentLevel, fewestRows, frequentLevels)
		if levels == nil {
			return nil, fmt.Errorf("%w: encode: no value of %q is that of one in %d reference rows, and of %d at least: list the levels", ErrData, column, frequentLevel, fewestRows)
		}
		return levels, nil
	})
}

// stated are the encodings with the levels of a model's description.
func (e Encodings) stated(meta ModelMeta) (Encodings, error) {
	return e.filled(func(column string) ([]float64, error) {
		if of := meta.Encode.Of(column); of != nil {
			return of.OneHot, nil
		}
		return nil, fmt.Errorf("the model does not encode %q", column)
	})
}
