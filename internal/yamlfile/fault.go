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

// A Fault is one thing that is wrong with a file.
type Fault struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // 0: nowhere in the file
	Column  int    `json:"column"`
	Key     string `json:"key"` // that it is about, or ""
	Text    string `json:"message"`
	missing bool   // the file does not have the key: the position is that of its section
	unread  bool   // the value of the key could not be read
	meant   string // key that an unknown one stands for, or ""
	bad     string // what is wrong: "bad job", unless it says another kind of file
	err     error  // that it wraps
}

// Whole is a fault of a whole file, which could not be read or is of another kind.
func (k Kind) Whole(path string, err error) error {
	text := strings.TrimPrefix(err.Error(), path+": ")
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		text = cause.Err.Error()
	}
	return Fault{File: path, Text: text, bad: k.Bad, err: k.Err}
}

// Error is the fault in one line.
func (f Fault) Error() string {
	at := f.File + ": "
	if f.Line > 0 && !f.missing {
		at = fmt.Sprintf("%s:%d:%d: ", f.File, f.Line, f.Column)
	}
	return f.bad + ": " + at + f.Text
}

// Unwrap returns what every fault of such a file wraps.
func (f Fault) Unwrap() error { return f.err }

// report adds a fault at a position of the file. There is one at a position: others would follow
// from it.
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

// add adds the faults of the value of a key.
func (t *File) add(key string, err error) {
	for _, one := range Separate(err) {
		f := Fault{Key: key, unread: true}
		at, ok := errors.AsType[yaml.Error](one)
		if !ok {
			f.Text = one.Error()
			t.report(f, nil)
			continue
		}
		f.Text = at.GetMessage()
		t.report(f, at.GetToken())
	}
}

// Faults collects what is wrong with the values of a file, key by key. The zero value holds
// none.
type Faults struct{ all []Fault }

// Add notes a fault of a key.
func (f *Faults) Add(key, format string, args ...any) {
	f.all = append(f.all, Fault{Key: key, Text: fmt.Sprintf(format, args...)})
}

// Unless notes a fault of a key, as Add does, unless ok.
func (f *Faults) Unless(ok bool, key, format string, args ...any) {
	if !ok {
		f.Add(key, format, args...)
	}
}

// Within notes what is wrong with another file, which a key names. The faults wrap err.
func (f *Faults) Within(key string, err error) {
	for _, one := range Separate(err) {
		f.all = append(f.all, Fault{Key: key, Text: one.Error(), err: one})
	}
}

// Err joins the faults, each of which wraps err, where there is no file that they are of. It
// is nil if there is none.
func (f *Faults) Err(err error) error {
	var all []error
	for _, one := range f.all {
		all = append(all, fmt.Errorf("%w: %s: %s", err, one.Key, one.Text))
	}
	return errors.Join(all...)
}

// Merge joins the faults of the file's form with those of its values, in the order of their positions.
// Consequences of unreadable values are left out. Each error that was joined is a [Fault].
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

// follows reports whether a fault may be a consequence of another one: of an unreadable value, or
// of a misspelt key or section.
func (f Fault) follows(other Fault) bool {
	if !other.unread {
		section := other.Key[:max(strings.LastIndexByte(other.Key, '.'), 0)]
		return other.meant != "" && (inside(f.Key, other.meant) || f.Key == section)
	}
	return other.Key == "" || inside(f.Key, other.Key) || inside(other.Key, f.Key) || strings.Contains(f.Text, other.Key)
}

// inside reports whether a key is a section or one of its keys.
func inside(key, section string) bool {
	rest, ok := strings.CutPrefix(key, section)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// nearest is the position of a key, or of the innermost section that lacks it.
func (t *File) nearest(key string) (line, column int, missing bool) {
	for key != "" {
		if node := t.nodes[key]; node != nil {
			first := node.GetToken()
			if below := Entries(node); missing && len(below) > 0 {
				first = below[0].Key.GetToken() // the section's own may be a colon
			}
			return first.Position.Line, first.Position.Column, missing
		}
		missing, key = true, key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return 0, 0, true
}
