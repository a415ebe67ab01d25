package pipeline

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/internal/words"
)

// A Fill stands for the missing values of a feature: nulls, NaN and all others that break a row
// rule. They make no row bad. What it is follows from the reference rows or the job alone, so that
// inputs stay functions of the row that were fixed before training.
type Fill struct {
	With *float64 `json:"with,omitempty"` // nil: the median of the values of the reference rows
	Flag bool     `json:"flag,omitempty"` // one more input, 1 where the value is missing, else 0
}

// missing reports whether a value breaks a row rule.
func missing(v float64) bool { return !(math.Abs(v) <= maxMagnitude) }

// valid reports whether there is a number to fill with.
func (f *Fill) valid() bool {
	return f.With != nil && math.Abs(*f.With) <= extremePeriod && !(*f.With == 0 && math.Signbit(*f.With))
}

// with is a copy, with a value unless it is nil; nil stays nil.
func (f *Fill) with(v *float64) *Fill {
	if f == nil {
		return nil
	}
	if v == nil {
		v = f.With
	}
	if v != nil {
		positive := *v + 0 // no −0
		v = &positive
	}
	return &Fill{v, f.Flag}
}

// fault is what is wrong with a fill in a job, beyond its number; "": nothing.
func (f *Fill) fault(j Job, of Encoding) string {
	switch {
	case f == nil:
	case of.Column == j.Groups.Column:
		return "its values make groups, and a missing one makes none"
	case f.With != nil:
	case j.Scaling == ScalingNone:
		return "without scaling there are no reference rows to have a median: give a number"
	case of.open():
		return "levels have no median: give a number, such as -1, which is then a level of its own or none"
	}
	return ""
}

// filledWith is the encoding with a number for missing values, where the job has none.
func (e Encoding) filledWith(v float64) Encoding {
	if e.Fill != nil && e.Fill.With == nil {
		e.Fill = e.Fill.with(&v)
	}
	return e
}

// key is that of the job file.
func (e Encoding) key() string {
	if e.Scaled {
		return "fill"
	}
	return "encode"
}

// scaled reports whether a feature has its scaled value.
func (e *Encoding) scaled() bool { return e == nil || e.Scaled }

// fills reports whether missing values have another in their place.
func (e *Encoding) fills() bool { return e != nil && e.Fill != nil }

func (e *Encoding) flags() bool { return e.fills() && e.Fill.Flag }

// value is v, or what stands for it if it is missing.
func (e *Encoding) value(v float64) float64 {
	if e.fills() && missing(v) {
		return *e.Fill.With
	}
	return v
}

// Fills reports whether missing values of a column have another in their place.
func (e Encodings) Fills(column string) bool { return e.Of(column).fills() }

// by are the encodings of some columns.
func (e Encodings) by(columns []string) (all []*Encoding) {
	for _, name := range columns {
		all = append(all, e.Of(name))
	}
	return all
}

// strict are the columns, of some by their indices, in which a missing value makes a row bad.
func (e Encodings) strict(names []string, columns []int) []int {
	return slices.DeleteFunc(slices.Clone(columns), func(c int) bool { return e.Fills(names[c]) })
}

// openly are the encodings without the medians, which other rows have otherwise.
func (e Encodings) openly() Encodings {
	all := slices.Clone(e)
	for i, one := range all {
		if one.Fill != nil {
			all[i].Fill = &Fill{Flag: one.Fill.Flag}
		}
	}
	return all
}

// filled says what stands for missing values of the reference rows; nil: nothing is filled.
func (s *Survey) filled() []string {
	raw := s.reference
	raw.encoded = nil
	var all []string
	for i, name := range s.Columns {
		if e := s.Encode.Of(name); e.fills() {
			n := len(slices.DeleteFunc(raw.column(i), func(v float64) bool { return !missing(v) }))
			all = append(all, fmt.Sprintf("%d have no %q (%v stands for it)", n, name, *e.Fill.With))
		}
	}
	if all == nil {
		return nil
	}
	return []string{fmt.Sprintf("of %s %s", words.Count(int64(s.reference.n), "reference row"), strings.Join(all, ", "))}
}
