package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// ${VAR} in a value of a job file stands for a variable of the environment. The
// file is taken apart before there are values, so that a value is always a part of
// one scalar: what it holds can neither be a key nor end a string. A scalar without
// quotes has the type that its whole text has, so that ${DELTA} may be a number.

// An opening and a closing mark stand in for the signs of a variable, which YAML
// would take for braces. They are as long, so that columns stay.
const (
	openMark  = "\uE000"
	closeMark = "\uE001"
	marks     = openMark + closeMark
)

var (
	variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	marked   = regexp.MustCompile(openMark + openMark + `([A-Za-z0-9_]+)` + closeMark)
)

// mark replaces the signs of variables by marks.
func mark(text []byte) (string, error) {
	if !utf8.Valid(text) {
		return "", errors.New("it is not UTF-8; is it a job file?")
	}
	if before, _, found := strings.Cut(string(text), "\x00"); found {
		return "", faultAt(&token.Token{Position: &token.Position{
			Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1,
		}}, "it holds a NUL byte; is it a job file?")
	}
	if strings.ContainsAny(string(text), marks) {
		return "", errors.New("it holds U+E000 or U+E001, which are nobody's characters")
	}
	return string(variable.ReplaceAll(text, []byte(openMark+openMark+"${1}"+closeMark))), nil
}

// origins are the variables of which the scalars of a job file are made, by line
// and column, as they stand in the file.
type origins map[[2]int]string

func (o origins) of(t *token.Token) string {
	if t == nil || t.Position == nil {
		return ""
	}
	return o[[2]int{t.Position.Line, t.Position.Column}]
}

// under are the variables that a part of a job is made of, "" if there is none.
func (o origins) under(node ast.Node) string {
	if node == nil || len(o) == 0 {
		return ""
	}
	found := &originFinder{from: o}
	ast.Walk(found, node)
	return strings.Join(found.all, ", ")
}

type originFinder struct {
	from origins
	all  []string
}

// Visit looks at the scalars of a part.
func (f *originFinder) Visit(node ast.Node) ast.Visitor {
	if name := f.from.of(node.GetToken()); name != "" && !slices.Contains(f.all, name) {
		f.all = append(f.all, name)
	}
	return f
}

// unseen is the fault of a value that is made of variables. The value is not in it,
// for it may be secret, and what a number or a time is printed as is not how its
// variable has it.
func (k fileKind) unseen(variables string) string {
	return variables + " is refused; values of the environment are not shown, " + k.page + " says what the key takes"
}

// substitute puts the values of variables into the scalars that name them. One that
// names a variable which is not there is a fault, and then says nothing. It reports whether
// all are short enough.
func (t *jobText) substitute(tokens token.Tokens, lookup func(string) (string, bool)) (ok bool) {
	length := 0 // of all values together
	for _, scalar := range tokens {
		if !strings.Contains(scalar.Value, openMark) || scalar.Type == token.CommentType || scalar.Next != nil && scalar.Next.Type == token.MappingValueType {
			continue
		}
		at := [2]int{scalar.Position.Line, scalar.Position.Column}
		missing := false
		value := marked.ReplaceAllStringFunc(scalar.Value, func(m string) string {
			name := strings.Trim(m, marks)
			t.from[at] += "${" + name + "}"
			value, ok := lookup(name)
			text := ""
			switch {
			case !ok:
				text = "the environment has no variable " + name
			case !utf8.ValidString(value) || strings.ContainsAny(value, marks):
				text = "the value of the variable " + name + " is no text"
			}
			if text != "" {
				missing = true
				t.tell(jobFault{text: text, unread: true}, scalar)
				return ""
			}
			if length += len(value); length > maxJobBytes {
				return ""
			}
			return value
		})
		if length > maxJobBytes {
			t.tell(jobFault{text: fmt.Sprintf("with the values of its variables it is longer than a job can be (%d KiB)", maxJobBytes>>10)}, scalar)
			return false
		}
		scalar.Value = value
		switch {
		case missing:
			scalar.Value, scalar.Origin, scalar.Type, scalar.CharacterType, scalar.Indicator = "null", "null", token.NullType, token.CharacterTypeMiscellaneous, token.NotIndicator
			continue
		case scalar.Type != token.StringType:
			continue // in quotes, or a block
		}
		switch typed := token.New(value, scalar.Origin, scalar.Position); typed.Type {
		case token.IntegerType, token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType, token.FloatType,
			token.BoolType, token.NullType, token.InfinityType, token.NanType:
			scalar.Type, scalar.CharacterType, scalar.Indicator = typed.Type, typed.CharacterType, typed.Indicator
		default: // text, whatever it looks like
		}
	}
	return true
}

// variables remembers which variables of the environment were asked for.
type variables struct {
	lookup func(string) (string, bool)
	lock   sync.Mutex // a job may still be read while its error is told
	values map[string]string
}

func (v *variables) find(name string) (string, bool) {
	value, ok := v.lookup(name)
	v.lock.Lock()
	defer v.lock.Unlock()
	if ok {
		if v.values == nil {
			v.values = map[string]string{}
		}
		v.values[name] = value
	}
	return value, ok
}

// shortSecret is the length of a value that is not hidden: it is found in words
// that are not about it, and it is no secret.
const shortSecret = 3

// hide returns an error that has the names of variables in the place of their
// values: a value may be secret.
func (v *variables) hide(err error) error {
	v.lock.Lock()
	defer v.lock.Unlock()
	if err == nil || len(v.values) == 0 {
		return err
	}
	type form struct{ text, name string }
	var forms []form
	for name, value := range v.values {
		texts := append(strings.Split(value, "\n"), value, filepath.Clean(value))
		for _, text := range texts {
			quoted := strconv.Quote(text)
			for _, text := range []string{text, quoted[1 : len(quoted)-1], strings.TrimSpace(text)} {
				if utf8.RuneCountInString(text) > shortSecret {
					forms = append(forms, form{text, "${" + name + "}"})
				}
			}
		}
	}
	slices.SortFunc(forms, func(a, b form) int { // the longest first
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text), cmp.Compare(a.name, b.name))
	})
	pairs := make([]string, 0, 2*len(forms))
	for _, f := range forms {
		pairs = append(pairs, f.text, f.name)
	}
	before := err.Error()
	text := v.hideFolders(strings.NewReplacer(pairs...).Replace(before))
	if text != before {
		return hiding{err, text}
	}
	return err
}

// hideFolders hides the folders above a value that is a path, where a text speaks
// of one of them and of nothing in it.
func (v *variables) hideFolders(text string) string {
	for name, value := range v.values {
		for _, path := range []string{value, filepath.Clean(value)} {
			for at := len(path) - 1; at > 0; at-- {
				if path[at] != filepath.Separator || utf8.RuneCountInString(path[:at]) <= shortSecret || !strings.Contains(text, path[:at]) {
					continue
				}
				folder := regexp.MustCompile(regexp.QuoteMeta(path[:at]) + `(/?(?:[^/\pL\pN._-]|$))`)
				text = folder.ReplaceAllString(text, "$${"+name+"}$1")
			}
		}
	}
	return text
}

// hiding is an error in other words.
type hiding struct {
	error
	text string
}

// Error returns the words.
func (h hiding) Error() string { return h.text }

// Unwrap returns the error.
func (h hiding) Unwrap() error { return h.error }
