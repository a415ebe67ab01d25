package yamlfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/token"
)

// A Fault is one fault in a file.
type Fault struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // 0 if the fault has no position
	Column  int    `json:"column"`
	Key     string `json:"key"` // the key that it is about, or ""
	Text    string `json:"message"`
	missing bool   // the file lacks the key: the position is that of its section
	unread  bool   // the value of the key could not be read
	meant   string // the known key that an unknown one probably means, or ""
	bad     string // begins the text: "bad job", or what the kind of file says
	err     error  // the error that the fault wraps
}

// Whole returns a fault of a whole file, which could not be read or is of another kind.
func (k Kind) Whole(path string, err error) error {
	text := strings.TrimPrefix(err.Error(), path+": ")
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		text = cause.Err.Error()
	}
	return Fault{File: path, Text: text, bad: k.Bad, err: k.Err}
}

// Error returns the fault as one line.
func (f Fault) Error() string {
	at := f.File + ": "
	if f.Line > 0 && !f.missing {
		at = fmt.Sprintf("%s:%d:%d: ", f.File, f.Line, f.Column)
	}
	return f.bad + ": " + at + f.Text
}

// Unwrap returns the error that all faults of this kind of file wrap.
func (f Fault) Unwrap() error { return f.err }

// report adds a fault at a position, unless that has one: further faults would follow from it.
func (t *File) report(f Fault, at *token.Token) {
	f.File, f.bad, f.err = t.path, t.Kind.Bad, t.Kind.Err
	if at != nil && at.Position != nil {
		f.Line, f.Column = at.Position.Line, at.Position.Column
	}
	position := [2]int{f.Line, f.Column}
	if f.Line > 0 && t.faulty[position] {
		return
	}
	t.faulty[position] = true
	t.Faults = append(t.Faults, f)
}

// add adds the faults in the value of a key.
func (t *File) add(key string, err error) {
	for _, one := range Separate(err) {
		f := Fault{Key: key, unread: true}
		at, ok := errors.AsType[yaml.Error](one)
		if !ok {
			f.Text = one.Error()
			t.report(f, nil)
			continue
		}
		f.Text = strings.Replace(at.GetMessage(), "found character '\t' that cannot start any token", "a tab: indent with spaces", 1)
		t.report(f, at.GetToken())
	}
}

// Faults collects faults in the values of a file, by key. Its zero value has none.
type Faults struct{ all []Fault }

// Add adds a fault of a key.
func (f *Faults) Add(key, format string, args ...any) {
	f.all = append(f.all, Fault{Key: key, Text: fmt.Sprintf(format, args...)})
}

// Unless calls Add unless ok.
func (f *Faults) Unless(ok bool, key, format string, args ...any) {
	if !ok {
		f.Add(key, format, args...)
	}
}

// Within adds the faults of another file, which a key names. They wrap err.
func (f *Faults) Within(key string, err error) {
	for _, one := range Separate(err) {
		f.all = append(f.all, Fault{Key: key, Text: one.Error(), err: one})
	}
}

// Err joins the faults, for values that do not come from a file. Each wraps err. It returns nil if there are none.
func (f *Faults) Err(err error) error {
	var all []error
	for _, one := range f.all {
		all = append(all, fmt.Errorf("%w: %s: %s", err, one.Key, one.Text))
	}
	return errors.Join(all...)
}

// Merge joins the faults in the file's form and in its values, by position. It leaves out faults
// that follow from an unreadable value. Each joined error is a [Fault].
func (t *File) Merge(among Faults) error {
	faults := slices.Clone(t.Faults)
	for _, one := range among.all {
		one.File, one.Text, one.bad, one.err = t.path, one.Key+": "+one.Text, t.Kind.Bad, cmp.Or(one.err, t.Kind.Err)
		if slices.ContainsFunc(t.Faults, one.follows) {
			continue
		}
		one.Line, one.Column, one.missing = t.nearest(one.Key)
		faults = append(faults, one)
	}
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var all []error
	for _, f := range faults {
		all = append(all, f)
	}
	return errors.Join(all...)
}

// follows reports whether a fault may follow from another one: an unreadable value, or a misspelt key or section.
func (f Fault) follows(other Fault) bool {
	if !other.unread {
		section := other.Key[:max(strings.LastIndexByte(other.Key, '.'), 0)]
		return other.meant != "" && (inside(f.Key, other.meant) || f.Key == section)
	}
	return other.Key == "" || inside(f.Key, other.Key) || inside(other.Key, f.Key) || strings.Contains(f.Text, other.Key)
}

// inside reports whether a key is in a section, or is that section.
func inside(key, section string) bool {
	rest, ok := strings.CutPrefix(key, section)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// nearest returns the position of a key or, if that is missing, of the innermost section around it.
func (t *File) nearest(key string) (line, column int, missing bool) {
	for key != "" {
		if node := t.nodes[key]; node != nil {
			first := node.GetToken()
			if below := Entries(node); missing && len(below) > 0 {
				first = below[0].Key.GetToken() // the section's own token may be a colon
			}
			return first.Position.Line, first.Position.Column, missing
		}
		missing, key = true, key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return 0, 0, true
}
