package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A Fault is one thing that is wrong with a job file.
type Fault struct {
	File         string
	flag         string // by which the key was set, or ""
	Key          string // that it is about, or ""
	Line, Column int    // 0: nowhere in the file
	missing      bool   // the file does not have the key: the place is that of its section
	Text         string // shows no value of a variable
	unread       bool   // the value of the key could not be read
	bad          string // what is wrong: "bad job", unless it says another kind of file
}

// Error is the fault in one line.
func (f Fault) Error() string {
	at := f.File + ": "
	switch {
	case f.flag != "":
		at = ""
	case f.Line > 0 && !f.missing:
		at += fmt.Sprintf("[%d:%d] ", f.Line, f.Column)
	}
	return cmp.Or(f.bad, pipeline.ErrConfig.Error()) + ": " + at + f.Text
}

// Unwrap says that it is a fault of a job.
func (f Fault) Unwrap() error { return pipeline.ErrConfig }

// tell adds a fault at a place of the file. There is one at a place: others would follow
// from it.
func (t *jobText) tell(f Fault, at *token.Token) {
	f.File, f.bad = t.path, t.kind.bad
	if at != nil && at.Position != nil {
		f.Line, f.Column = at.Position.Line, at.Position.Column
	}
	place := [2]int{f.Line, f.Column}
	if f.Line > 0 && t.told[place] {
		return
	}
	t.told[place] = true
	t.faults = append(t.faults, f)
}

// add adds what is wrong with the value of a key, nothing if err is nil. A value may be
// secret: if variables are in it, it is not shown. What only says what it wants shows none.
func (t *jobText) add(key string, err error) {
	for _, one := range separate(err) {
		f := Fault{Key: key, Text: one.Error(), unread: true}
		at, ok := errors.AsType[yaml.Error](one)
		if !ok {
			t.tell(f, nil)
			continue
		}
		f.Text = at.GetMessage()
		if names := t.from.of(at.GetToken()); names != "" && !strings.HasPrefix(f.Text, "want ") {
			f.Text = t.kind.unseen(names)
		}
		t.tell(f, at.GetToken())
	}
}

// own names the key of faults of variables in its value, which were found before there
// were keys.
func (t *jobText) own(key string, node ast.Node) {
	at := node.GetToken().Position
	for i, f := range t.faults {
		if f.Key == "" && f.Line == at.Line && f.Column == at.Column {
			t.faults[i].Key = key
		}
	}
}

// judged are the faults of the file together with those that err joins, which were found in
// what it says. The latter are about a key, with which their text starts; what follows from
// a value that could not be read is left out.
func (t *jobText) judged(err error, changed func(string) bool) []Fault {
	faults := slices.Clone(t.faults)
	variables := map[string]string{} // by key: many faults may be about one long list
	for _, one := range separate(err) {
		key, rest := keyOf(one)
		f := Fault{File: t.path, Key: key, Text: key + ":" + rest, bad: t.kind.bad}
		if flag, ok := flags[key]; ok && changed(flag) {
			f.flag, f.Text = flag, "--"+flag+":"+rest
			faults = append(faults, f)
			continue
		}
		if slices.ContainsFunc(t.faults, f.follows) {
			continue
		}
		names, ok := variables[key]
		if !ok {
			if names = t.from.under(t.nodes[key]); names == "" { // what an alternative leaves out it has from the job
				names = t.from.under(t.nodes[ofAlternative.ReplaceAllString(key, "")])
			}
			variables[key] = names
		}
		if names != "" && !t.kind.takesText(key) {
			f.Text = key + ": " + t.kind.unseen(names)
		}
		f.Line, f.Column, f.missing = t.nearest(key)
		faults = append(faults, f)
	}
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return faults
}

// follows reports whether a fault may be there only because of another one: that of a value
// that could not be read, of which it speaks.
func (f Fault) follows(other Fault) bool {
	if !other.unread {
		return false
	}
	inside := func(key, section string) bool {
		rest, ok := strings.CutPrefix(key, section)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return other.Key == "" || inside(f.Key, other.Key) || inside(other.Key, f.Key) || strings.Contains(f.Text, other.Key)
}

// nearest is where a key stands, or the innermost section that lacks it.
func (t *jobText) nearest(key string) (line, column int, missing bool) {
	for key != "" {
		if node := t.nodes[key]; node != nil {
			first := node.GetToken()
			if below := entries(node); missing && len(below) > 0 {
				first = below[0].Key.GetToken() // the section's own may be a colon
			}
			return first.Position.Line, first.Position.Column, missing
		}
		missing, key = true, key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return 0, 0, true
}

// place is where a key stands in the file, for an error about it; empty if it does not.
func (t *jobText) place(key string) string {
	node := t.nodes[key]
	if node == nil {
		return ""
	}
	at := node.GetToken().Position
	return fmt.Sprintf("%s: [%d:%d] ", t.path, at.Line, at.Column)
}

// errorOf joins faults.
func errorOf(faults []Fault) error {
	var all []error
	for _, f := range faults {
		all = append(all, f)
	}
	return errors.Join(all...)
}
