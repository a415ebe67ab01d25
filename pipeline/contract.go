package pipeline

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
)

// A SchemaDecl pins the columns of the files. The zero value pins nothing.
type SchemaDecl struct {
	Strict  bool         `json:"strict,omitempty"` // files have no other columns
	Note    bool         `json:"note,omitempty"`   // a difference is noted in the certificate; else it stops the job
	Columns []ColumnDecl `json:"columns,omitempty"`
}

// A ColumnDecl pins a column. Fields that are missing pin nothing.
type ColumnDecl struct {
	Column string `json:"column"`
	Type   string `json:"type,omitempty"` // as messages name it: double, int32, text
	// Unit is a declaration: no file tells it.
	Unit  string      `json:"unit,omitempty"`
	Range *[2]float64 `json:"range,omitempty"` // of its values, if the job reads it
}

// A ColumnChange is a difference between a file and the schema.
type ColumnChange struct {
	certify.Change

	Found string // type in the file; "" if it has no such column
}

// Given reports whether there is a schema.
func (d SchemaDecl) Given() bool { return d.Strict || d.Columns != nil }

// checkSchema reports all faults of the schema.
func (j Job) checkSchema(fault func(string, ...any)) {
	d := j.Schema
	if d.Note && !d.Given() {
		fault("schema.on_change: no column is declared")
	}
	for i, c := range d.Columns {
		key := "schema.columns." + c.Column
		if err := certify.ColumnName(c.Column); err != nil || i > 0 && d.Columns[i-1].Column >= c.Column {
			fault("%s: the name is none, or out of order", key)
		}
		if c.Unit != "" {
			if err := certify.UnitName(c.Unit); err != nil {
				fault("%s.unit: %w", key, err)
			}
		}
		if c.Column == j.Target && c.Unit != "" && j.Loss.Unit != "" && c.Unit != j.Loss.Unit {
			fault("%s.unit: it is %s, and loss.unit is %s", key, c.Unit, j.Loss.Unit)
		}
		if r := c.Range; r != nil && !(-math.MaxFloat64 <= r[0] && r[0] <= r[1] && r[1] <= math.MaxFloat64) { // NaN fails
			fault("%s.range: want [least, largest], finite numbers", key)
		}
	}
}

// Compare returns the differences between the schema and the columns of a file, by their types.
func (d SchemaDecl) Compare(types map[string]string) (all []ColumnChange) {
	declared := map[string]bool{}
	for _, c := range d.Columns {
		found, ok := types[c.Column]
		switch declared[c.Column] = true; {
		case !ok:
			all = append(all, ColumnChange{certify.Change{Column: c.Column, Kind: certify.ChangeGone}, ""})
		case c.Type != "" && found != c.Type:
			all = append(all, ColumnChange{certify.Change{Column: c.Column, Kind: certify.ChangeType}, found})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if d.Strict && !declared[name] {
			all = append(all, ColumnChange{certify.Change{Column: name, Kind: certify.ChangeNew}, types[name]})
		}
	}
	return all
}

// words describe a difference.
func (d SchemaDecl) words(c ColumnChange) string {
	switch c.Kind {
	case certify.ChangeGone:
		return fmt.Sprintf("column %q of the schema is missing", c.Column)
	case certify.ChangeNew:
		return fmt.Sprintf("column %q (%s) is not in the schema", c.Column, c.Found)
	case certify.ChangeType:
		return fmt.Sprintf("column %q is %s, in the schema %s", c.Column, c.Found, d.of(c.Column).Type)
	case certify.ChangeRange: // of rows
	}
	return fmt.Sprintf("column %q has values outside the range %v", c.Column, *d.of(c.Column).Range)
}

func (d SchemaDecl) of(column string) ColumnDecl {
	i := slices.IndexFunc(d.Columns, func(c ColumnDecl) bool { return c.Column == column })
	return d.Columns[i]
}

// shownChanges is how many differences a message has.
const shownChanges = 10

// allow returns an error that names the differences with their first files, unless the job notes them.
func (d SchemaDecl) allow(files []File) error {
	said := d.noticed(files)
	if len(said) == 0 || d.Note {
		return nil
	}
	if more := len(said) - shownChanges; more > 0 {
		said = append(said[:shownChanges], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%w: schema: %s (hint: mend the file, or the schema of the job; schema: {on_change: note} goes on, and the certificate says so)", ErrData, strings.Join(said, "; "))
}

// noticed are the differences, each with the first file that has it.
func (d SchemaDecl) noticed(files []File) (said []string) {
	var seen []ColumnChange
	for _, f := range files {
		for _, c := range f.Changes {
			if !slices.Contains(seen, c) {
				seen, said = append(seen, c), append(said, f.Path+": "+d.words(c))
			}
		}
	}
	return said
}

// filesOf are the files of a source; none if its rows do not come from files.
func filesOf(src Source) []File {
	if from, ok := src.(Opened); ok {
		return from.Files()
	}
	return nil
}

// changes are the noted differences of the files of a source, and of its rows.
func (d SchemaDecl) changes(src Source, rows []certify.Change) []certify.Change {
	all := slices.Clone(rows)
	for _, f := range filesOf(src) {
		for _, c := range f.Changes {
			all = append(all, c.Change)
		}
	}
	return certify.SortChanges(all)
}

// noted demands that a certificate notes changes only of a job that does, and such as its schema can have.
func (d SchemaDecl) noted(all []certify.Change) error {
	if len(all) > 0 && !d.Note {
		return fmt.Errorf("the certificate notes changes of columns, and the job has none noted (schema.on_change)")
	}
	for _, c := range all {
		i := slices.IndexFunc(d.Columns, func(pinned ColumnDecl) bool { return pinned.Column == c.Column })
		can := i >= 0
		switch c.Kind {
		case certify.ChangeGone:
		case certify.ChangeNew:
			can = d.Strict && i < 0
		case certify.ChangeType:
			can = can && d.Columns[i].Type != ""
		case certify.ChangeRange:
			can = can && d.Columns[i].Range != nil
		}
		if !can {
			return fmt.Errorf("the certificate notes the change %q of the column %q, which the schema of the job cannot have", c.Kind, c.Column)
		}
	}
	return nil
}

// agree demands that the changes that are noted have the columns that leave their ranges, of those that a
// last pass reads.
func (d SchemaDecl) agree(noted, found []certify.Change, columns []string) error {
	var stated []certify.Change
	for _, change := range noted {
		if change.Kind == certify.ChangeRange && slices.Contains(columns, change.Column) {
			stated = append(stated, change)
		}
	}
	if found = certify.SortChanges(found); !slices.Equal(found, stated) {
		return fmt.Errorf("the columns that leave their ranges are %v, and %v are noted", found, stated)
	}
	return nil
}

// rangeCheck looks for values outside the declared ranges.
type rangeCheck struct {
	schema SchemaDecl
	ranges []*[2]float64 // by column of the source; nil: any value
}

// An outliers has the first row with a value outside the declared range, by column: its ordinal + 1; 0:
// there is none.
type outliers []int64

func (o outliers) add(column int, ordinal int64) {
	if known := o[column]; known == 0 || ordinal < known-1 {
		o[column] = ordinal + 1
	}
}

// changes are those of columns with these names.
func (o outliers) changes(columns []string) (all []certify.Change) {
	for c, found := range o {
		if found > 0 {
			all = append(all, certify.Change{Column: columns[c], Kind: certify.ChangeRange})
		}
	}
	return all
}

func (o outliers) merge(other outliers) {
	for c, found := range other {
		if found > 0 {
			o.add(c, found-1)
		}
	}
}

// newRangeCheck returns nil if no column has a range.
func newRangeCheck(d SchemaDecl, columns []string) *rangeCheck {
	r := &rangeCheck{schema: d, ranges: make([]*[2]float64, len(columns))}
	some := false
	for i, name := range columns {
		at := slices.IndexFunc(d.Columns, func(c ColumnDecl) bool { return c.Column == name })
		if at >= 0 && d.Columns[at].Range != nil {
			r.ranges[i], some = d.Columns[at].Range, true
		}
	}
	if !some {
		return nil
	}
	return r
}

// outliers are those of no row yet.
func (r *rangeCheck) outliers() outliers {
	if r == nil {
		return nil
	}
	return make(outliers, len(r.ranges))
}

// see checks a block. All rows of a job that stops are checked, and of one that notes only reference
// and train rows, so that a note tells nothing of hold-out rows.
func (r *rangeCheck) see(roles Roles, b block, found outliers) error {
	if r == nil {
		return nil
	}
	if r.schema.Note {
		return roles.open(b, func(from, to int) error { return r.rows(b, from, to, found) })
	}
	return r.rows(b, 0, b.rows, found)
}

func (r *rangeCheck) rows(b block, from, to int, found outliers) error {
	for c, limits := range r.ranges {
		if limits == nil {
			continue
		}
		at := slices.IndexFunc(b.columns[c][from:to], func(v float64) bool { return v < limits[0] || v > limits[1] }) // a bad cell is NaN
		if at >= 0 {
			found.add(c, b.first+int64(from+at))
		}
	}
	return nil
}

// judge returns the columns that leave their ranges with words about them, or an error if the job stops.
func (r *rangeCheck) judge(found outliers, columns []string, shards []Shard) (changes []certify.Change, said []string, err error) {
	if r == nil {
		return nil, nil, nil
	}
	for c, name := range columns {
		ordinal := found[c] - 1
		at := slices.IndexFunc(shards, func(s Shard) bool { return s.First <= ordinal && ordinal < s.First+s.Rows })
		if at < 0 {
			continue
		}
		change := certify.Change{Column: name, Kind: certify.ChangeRange}
		s, words := shards[at], r.schema.words(ColumnChange{Change: change})
		changes, said = append(changes, change), append(said, fmt.Sprintf("%s, row %d (from 0): %s", s.Place.In, s.Place.At+ordinal-s.First, words))
	}
	if len(said) > 0 && !r.schema.Note {
		return nil, nil, fmt.Errorf("%w: schema: %s (hint: mend the rows, or the range; schema: {on_change: note} goes on, and the certificate says so)", ErrData, strings.Join(said, "; "))
	}
	return changes, said, nil
}
