package certify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Change is a difference between the files and the schema that the job declares, which the job
// notes and does not refuse. It is the maker's word, but for ranges of columns that the model uses.
type Change struct {
	Column string     `json:"column"`
	Kind   ChangeKind `json:"change"`
}

// A ChangeKind says how a column differs from its schema.
type ChangeKind string

// The kinds of changes.
const (
	ChangeType  ChangeKind = "type"  // a file has it in another type
	ChangeGone  ChangeKind = "gone"  // a file does not have it
	ChangeNew   ChangeKind = "new"   // the schema does not have it, and is strict
	ChangeRange ChangeKind = "range" // reference or train rows have values outside its range
)

// words of the kinds, for sentences.
var changeWords = map[ChangeKind]string{
	ChangeType: "another type", ChangeGone: "missing in a file", ChangeNew: "not in it", ChangeRange: "values outside the range",
}

// Compare orders changes by column and kind.
func (c Change) Compare(other Change) int {
	return cmp.Or(cmp.Compare(c.Column, other.Column), cmp.Compare(c.Kind, other.Kind))
}

// validateChanges demands known kinds, and each change once, in order.
func validateChanges(all []Change) error {
	var faults []error
	for i, c := range all {
		if changeWords[c.Kind] == "" || i > 0 && all[i-1].Compare(c) >= 0 {
			faults = append(faults, fmt.Errorf("the change %q of the column %q is unknown, or out of order", c.Kind, c.Column))
		}
		faults = append(faults, ColumnName(c.Column))
	}
	return errors.Join(faults...)
}

// changed names the changes in a list.
func changed(all []Change) string {
	words := make([]string, len(all))
	for i, c := range all {
		words[i] = quoted(c.Column) + " (" + changeWords[c.Kind] + ")"
	}
	return strings.Join(words, ", ")
}

// doubts tell that the rows are not those of the schema.
func (d Declared) doubts() []string {
	if len(d.Changes) == 0 {
		return nil
	}
	return []string{"Its maker notes columns that are not as the schema of the job has them: " + changed(d.Changes) + ". Model and bounds are of the rows as they are."}
}

// Changed names the noted changes, "" for none: those that a check against the rows finds again,
// which are ranges of columns of the sample, and those that are the maker's word.
func (c Certificate) Changed() (inRows, byWord string) {
	var found, word []Change
	for _, change := range c.Declared.Changes {
		if change.Kind == ChangeRange && slices.Contains(c.Sample.Columns, change.Column) {
			found = append(found, change)
		} else {
			word = append(word, change)
		}
	}
	return changed(found), changed(word)
}

// SortChanges puts changes into the order of a certificate, each once.
func SortChanges(all []Change) []Change {
	slices.SortFunc(all, Change.Compare)
	return slices.Compact(all)
}
