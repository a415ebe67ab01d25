package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a job file, far beyond what a job says, at which the YAML library
// takes about a second. It calls itself for what is nested, and its time is
// quadratic in the keys of a section: scaling.features has three for a column.
const (
	maxJobBytes = 1 << 20
	maxJobDepth = 32
	maxJobKeys  = 4000    // in all
	maxJobParts = 1 << 16 // words and signs in all
)

// A jobText is a job file that was taken apart.
type jobText struct {
	path   string
	kind   fileKind
	of     reflect.Type // that it is decoded into
	root   ast.Node     // nil: it says nothing, or could not be taken apart
	from   origins
	nodes  map[string]ast.Node // values by their keys, as in sweep[1].loss.epsilon
	faults []Fault
	told   map[[2]int]bool // places of faults
}

// parseUntil is parseJob, which knows no context, until ctx is done.
func parseUntil[T any](ctx context.Context, kind fileKind, path string, text []byte, lookup func(string) (string, bool)) (T, *jobText, error) {
	type parsed struct {
		c T
		t *jobText
	}
	done := make(chan parsed, 1)
	go func() {
		var p parsed
		p.c, p.t = parseJob[T](kind, path, text, lookup)
		done <- p
	}()
	select {
	case p := <-done:
		return p.c, p.t, nil
	case <-ctx.Done():
		return *new(T), nil, ctx.Err()
	}
}

// parseJob decodes the text of a job file, or of another one, and keeps all that is wrong with it. What the
// YAML library would pass over in silence is a fault: keys that are no text, fractions
// where whole numbers are wanted, a second document.
func parseJob[T any](kind fileKind, path string, text []byte, lookup func(string) (string, bool)) (c T, t *jobText) {
	t = &jobText{path: path, kind: kind, of: reflect.TypeFor[T](), from: origins{}, told: map[[2]int]bool{}}
	defer func() { // the border to a library that panics on some texts
		if r := recover(); r != nil {
			t.root = nil
			t.add("", fmt.Errorf("the YAML library cannot read it: %v", r))
		}
	}()
	tokens, err := takenApart(text)
	if err != nil {
		t.add("", err)
		return c, t
	}
	if !t.substitute(tokens, lookup) {
		return c, t
	}
	tree, err := parser.Parse(tokens, 0)
	if err != nil {
		t.add("", err)
		return c, t
	}
	for _, d := range tree.Docs { // one that says something: see simpleEnough
		if d.Body != nil {
			t.root = d.Body
		}
	}
	if t.root == nil {
		t.add("", fmt.Errorf("it is empty; %s shows the smallest %s", t.kind.Page, t.kind.Name))
		return c, t
	}
	t.nodes = map[string]ast.Node{}
	t.index("", t.root)
	decoder{t}.value("", t.root, reflect.ValueOf(&c).Elem())
	return c, t
}

// index finds the values of all keys, and keys that are none.
func (t *jobText) index(key string, node ast.Node) {
	t.nodes[key] = node
	t.own(key, node)
	if list, ok := node.(*ast.SequenceNode); ok {
		for i, one := range list.Values {
			t.index(fmt.Sprintf("%s[%d]", key, i), one)
		}
	}
	for _, entry := range entries(node) {
		if text := badKey(entry); text != "" {
			t.tell(Fault{Key: key, Text: text, unread: key != ""}, entry.Key.GetToken())
			continue
		}
		t.index(within(key, entry.Key.GetToken().Value), entry.Value)
	}
}

// takenApart are the tokens of a job file that has nothing in it that a job does not need.
func takenApart(text []byte) (token.Tokens, error) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF")) // as some editors of Windows begin a file
	if signs(text) > maxJobParts {
		return nil, errManyParts
	}
	marked, err := mark(text)
	if err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(marked)
	return tokens, simpleEnough(tokens)
}

var errManyParts = fmt.Errorf("it has more parts than a job can have (%d)", maxJobParts)

// signs counts the bytes that begin or end a part of YAML: lines and punctuation,
// but not what paths and names are full of. The library takes some hundred bytes
// of memory for each.
func signs(text []byte) int {
	n := 0
	for i, b := range text {
		switch {
		case b == '\n', b == '\r', b == '\t':
			n++
		case b == '-' && i+1 < len(text) && text[i+1] > ' ', b == '.', b == '/', b == '_':
		case b > ' ' && b < '0', b > '9' && b < 'A', b > 'Z' && b < 'a', b > 'z' && b < 0x7f:
			n++
		}
	}
	return n
}

// simpleEnough refuses what a job does not need and what a parser could be
// brought down with, before there is a tree.
func simpleEnough(tokens token.Tokens) error {
	if len(tokens) > maxJobParts {
		return errManyParts
	}
	var faults []error
	refuse := func(t *token.Token, text string) { faults = append(faults, faultAt(t, text)) }
	var indents []int  // of the lines and dashes around a token
	open, keys := 0, 0 // brackets, and keys in all
	nested := func() int { return len(indents) + 1 + open }
	line := 0
	said, second := false, (*token.Token)(nil) // second begins another document
	for _, t := range tokens {
		at := t.Position
		switch t.Type {
		case token.CommentType, token.DirectiveType:
		case token.DocumentHeaderType, token.DocumentEndType:
			if said && second == nil {
				second = t
			}
		default:
			if said = true; second != nil { // behind two such lines the library drops what follows
				refuse(second, "a job file holds one document; this is the second")
				return errors.Join(faults...)
			}
		}
		if at.Line != line || t.Type == token.SequenceEntryType {
			for len(indents) > 0 && indents[len(indents)-1] >= at.Column {
				indents = indents[:len(indents)-1]
			}
			indents, line = append(indents, at.Column), at.Line
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			refuse(t, "anchors, aliases and merge keys are not used in a job file; write the value out")
		case token.TagType:
			refuse(t, "tags are not used in a job file; leave it out")
		case token.MappingKeyType:
			refuse(t, "keys are words, without a question mark")
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open = max(open-1, 0)
		case token.MappingValueType:
			if keys++; keys > maxJobKeys {
				refuse(t, fmt.Sprintf("more than %d keys", maxJobKeys))
				return errors.Join(faults...)
			}
		default:
		}
		if nested() > maxJobDepth {
			refuse(t, fmt.Sprintf("nested deeper than %d", maxJobDepth))
			return errors.Join(faults...)
		}
	}
	return errors.Join(faults...)
}

func faultAt(t *token.Token, text string) error {
	return &yaml.SyntaxError{Message: text, Token: t}
}

// empty reports whether the file says nothing, or could not be taken apart.
func (t *jobText) empty() bool { return t.root == nil }

// has reports whether the file has a key, outside of all sections.
func (t *jobText) has(key string) bool { return t.nodes[key] != nil }
