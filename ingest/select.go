package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// Use says how a column may enter a job.
type Use int

const (
	// Numeric columns are features unless the job says otherwise.
	Numeric Use = iota
	// OnRequest columns (dates, timestamps, parts of groups) are read if the job names them.
	OnRequest
	// Unusable columns cannot be read as numbers: see Column.Why.
	Unusable
)

// A Column describes one column of a file to [Select] and to people.
type Column struct {
	Name string
	Type string // for people: double, int64, timestamp(us), text
	Use  Use
	Why  string // of an Unusable column: the reason, and the remedy in the file
	Text bool   // Unusable, but for a label

	Index bool // pandas says that it is the index of its frame
}

// A Table has the columns of one file, or of several files with the same columns.
type Table struct {
	Name    string // for messages: the first of the files
	Columns []Column
}

// A choice is which columns a job uses.
type choice struct {
	dataset.Choice

	encoded map[string]bool // features whatever their type; true: text too
	named   map[string]bool // the other columns that the job names
}

// OrLeaveOut returns a second remedy for an unusable feature: a job can leave it out, predictions
// cannot. It is "" for predictions and for the target.
func OrLeaveOut(c dataset.Choice, column string) string {
	return words.If(c.Target != "" && column != c.Target, ", or leave it out of the features")
}

// A ChoiceError is a fault of the choice. Only another choice helps.
type ChoiceError struct {
	Key   string // target, features, exclude, encode, fill, unit, or behind (of [dataset.Choice])
	Index int    // of the name in the list of that key; −1: the key has no list, or all of it is at fault
	Text  string
}

// Error returns what is wrong.
func (e *ChoiceError) Error() string { return "" + e.Text }

// Select returns the chosen columns in the order of the model: the declared features in their
// order, or the default ones, sorted bytewise; then the target. The warnings say which columns
// the default leaves out and why. The error reports all faults of the choice.
func Select(tables []Table, want dataset.Choice) (names, warnings []string, err error) {
	c := choice{want, want.Encoded.Types(), map[string]bool{want.Target: true}}
	for _, name := range slices.Concat(want.Features, want.Exclude, want.Behind, want.Labels) {
		c.named[name] = true
	}
	index := make([]map[string][]Column, len(tables))
	for i, t := range tables {
		index[i] = make(map[string][]Column, len(t.Columns))
		for _, col := range t.Columns {
			index[i][col.Name] = append(index[i][col.Name], col)
		}
	}
	features, warnings, err := c.features(tables, index)
	errs := []error{err}
	names = slices.Concat(features, c.Behind, c.Labels)
	if c.Target != "" {
		names = append(names, c.Target)
		if i := slices.Index(c.Features, c.Target); i >= 0 {
			errs = append(errs, &ChoiceError{"features", i, fmt.Sprintf("%q is the target and also a feature; take it out of the features", c.Target)})
		}
	}
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		key, at := "features", i
		switch {
		case i >= len(features)+len(c.Behind)+len(c.Labels):
			key, at = "target", -1
		case i >= len(features)+len(c.Behind):
			key, at = "unit", i-len(features)-len(c.Behind)
		case i >= len(features):
			key, at = "behind", -1
		}
		fault, of, in := c.fault(tables, index, name)
		switch {
		case seen[name] && key != "target":
			errs = append(errs, &ChoiceError{key, at, fmt.Sprintf("column %q is declared twice", name)})
		case seen[name] || fault == "":
		case in == "":
			errs = append(errs, &ChoiceError{key, at, fault})
		default:
			errs = append(errs, fmt.Errorf("%s (hint: %s has it as numbers; write %s again, or take it out of the source)", fault, in, of))
		}
		seen[name] = true
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	if len(features) == 0 && len(c.Exclude) > 0 {
		return nil, nil, &ChoiceError{"exclude", -1, "no feature is left; exclude fewer columns"}
	}
	if len(features) == 0 {
		return nil, nil, fmt.Errorf("no feature is left: %s", strings.Join(append(warnings, "declare the features by name"), "; "))
	}
	return names, warnings, nil
}

// fault explains why a named column cannot be read, for the first table where it cannot; "" if it can be read in all.
// in is a table where it can be read, or "": if there is one, the file is at fault, not the choice.
func (c choice) fault(tables []Table, index []map[string][]Column, name string) (fault, table, in string) {
	for k, t := range tables {
		text := c.unusable(t, index[k][name], name)
		if text == "" {
			in = t.Name
		} else if fault == "" {
			fault, table = text, t.Name // one file is enough to understand
		}
	}
	return fault, table, in
}

// unusable explains why a named column of a table cannot be read; "" if it can.
func (c choice) unusable(t Table, found []Column, name string) string {
	switch {
	case len(found) == 0:
		return NoColumn(t, name, c.named, c.encoded)
	case len(found) > 1:
		return fmt.Sprintf("%s has %d columns named %q; rename or remove all but one", t.Name, len(found), name)
	case found[0].Text && (slices.Contains(c.Labels, name) || c.encoded[name]):
	case found[0].Use == Unusable:
		why := found[0].Why
		switch {
		case found[0].Text && name == c.Target:
			why = "a target is a number: store it as one"
		case found[0].Text && c.Target != "":
			why = fmt.Sprintf("encode it in the job (encode: {%s: one-hot})", name)
		}
		return fmt.Sprintf("%s: column %q is %s, which is not read as numbers: %s%s", t.Name, name, found[0].Type, why, OrLeaveOut(c.Choice, name))
	}
	return ""
}

func columnNames(columns []Column) []string {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

// list names columns, at most 30 of them.
func list(names []string) string {
	if more := len(names) - 30; more > 0 {
		names = append(slices.Clip(names[:30]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// features returns the declared features, or the default ones with warnings.
func (c choice) features(tables []Table, index []map[string][]Column) (features, warnings []string, err error) {
	if c.Features != nil {
		if len(c.Exclude) > 0 {
			return nil, nil, &ChoiceError{"exclude", -1, "features and exclude are both declared; exclude is for the default features only"}
		}
		if len(c.Features) == 0 && c.Target != "" {
			return nil, nil, &ChoiceError{"features", -1, "the list is empty; leave the key out for every numeric column, or name some"}
		}
		return c.Features, nil, nil
	}
	var errs []error
	var all, texts []string
	var text string // the first of texts, which are quoted
	for _, t := range tables {
		all = append(all, columnNames(t.Columns)...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	find := func(key string, at int, name string) {
		if !slices.ContainsFunc(index, func(m map[string][]Column) bool { return len(m[name]) > 0 }) {
			errs = append(errs, &ChoiceError{key, at, fmt.Sprintf("no file has column %q%s", name, didYouMean(name, all, c.named, c.encoded))})
		}
	}
	for i, name := range c.Exclude {
		find("exclude", i, name)
	}
	for _, e := range c.Encoded {
		find(e.Key(), -1, e.Column)
	}
	for _, name := range all {
		if c.named[name] {
			continue
		}
		switch why := c.leftOut(tables, index, name); why {
		case "":
			features = append(features, name)
		case isText:
			texts, text = append(texts, strconv.Quote(name)), cmp.Or(text, name)
		default:
			warnings = append(warnings, fmt.Sprintf("column %q is left out: %s", name, why))
		}
	}
	if len(texts) > 0 {
		which := fmt.Sprintf("column %q is left out: it is text; to use it", text)
		if len(texts) > 1 {
			which = fmt.Sprintf("columns %s are left out: they are text; to use one", list(texts))
		}
		warnings = append(warnings, fmt.Sprintf("%s: encode: {%s: one-hot}; if it holds numbers as text (\"12,50\"), store them as numbers (12.5)", which, text))
	}
	return features, warnings, errors.Join(errs...)
}

// pandasIndex is a column that pandas adds to its files, mostly the number of the row.
var pandasIndex = regexp.MustCompile(`^__index_level_[0-9]+__$`)

const isText = "it is text" // the columns with this reason have one warning together

// leftOut returns the reason why a column is no default feature; "" if it is one.
func (c choice) leftOut(tables []Table, index []map[string][]Column, name string) string {
	if name == "" {
		return "it has no name"
	}
	if _, encoded := c.encoded[name]; encoded {
		return "" // faults of its type are found with those of named features
	}
	isIndex := func(columns map[string][]Column) bool {
		return slices.ContainsFunc(columns[name], func(col Column) bool { return col.Index })
	}
	if pandasIndex.MatchString(name) || slices.ContainsFunc(index, isIndex) {
		return "it is the index that pandas wrote; declare it as a feature to use it"
	}
	for k, t := range tables {
		found := index[k][name]
		switch {
		case len(found) == 0:
			return t.Name + " does not have it"
		case len(found) > 1:
			return fmt.Sprintf("%s has %d columns of that name", t.Name, len(found))
		case found[0].Use == OnRequest:
			return fmt.Sprintf("it is %s; to use it, declare it as a feature, or, for its time of day, encode: {%s: {cyclic: 86400}}", found[0].Type, name)
		case found[0].Text && k == 0:
			return isText
		case found[0].Use == Unusable:
			return fmt.Sprintf("it is %s in %s", found[0].Type, t.Name)
		}
	}
	return ""
}
