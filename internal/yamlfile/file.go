// Package yamlfile decodes a YAML file into a struct and finds all that is wrong with it,
// with places. What the YAML library passes over in silence is a fault: keys that are no
// text, fractions where whole numbers are wanted, a second document. ${VAR} in a value
// stands for a variable of the environment, whose value no fault shows.
package yamlfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxBytes is the most that the text of a file may have.
const MaxBytes = 1 << 20

// Limits of a file at which the YAML library takes about a second. It calls itself for
// what is nested, and its time is quadratic in the keys of a section.
const (
	maxDepth = 32
	maxKeys  = 4000    // in all
	maxParts = 1 << 16 // words and signs in all
)

// A File is a file that was taken apart. Faults are those of reading it.
type File struct {
	path   string
	Kind   Kind
	of     reflect.Type // that it is decoded into
	Root   ast.Node     // nil: it says nothing, or could not be taken apart
	from   origins
	nodes  map[string]ast.Node // values by their keys, as in sweep[1].loss.epsilon
	Faults []Fault
	told   map[[2]int]bool // places of faults
	all    *paths          // the keys of the whole file, once they were asked for
}

// Parse decodes the text of a file of this kind into a T, and keeps all that is wrong with
// it. lookup finds variables of the environment. The error is that of ctx.
func Parse[T any](ctx context.Context, kind Kind, path string, text []byte, lookup func(string) (string, bool)) (T, *File, error) {
	type parsed struct {
		c T
		t *File
	}
	done := make(chan parsed, 1)
	go func() {
		var p parsed
		p.c, p.t = parseNow[T](kind, path, text, lookup)
		done <- p
	}()
	select {
	case p := <-done:
		return p.c, p.t, nil
	case <-ctx.Done():
		return *new(T), nil, ctx.Err()
	}
}

// parseNow is Parse, but for a context, which the YAML library does not know.
func parseNow[T any](kind Kind, path string, text []byte, lookup func(string) (string, bool)) (c T, t *File) {
	t = &File{path: path, Kind: kind, of: reflect.TypeFor[T](), from: origins{}, told: map[[2]int]bool{}}
	defer func() { // the border to a library that panics on some texts
		if r := recover(); r != nil {
			t.Root = nil
			t.add("", fmt.Errorf("the YAML library cannot read it: %v", r))
		}
	}()
	tokens, err := t.Kind.takenApart(text)
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
			t.Root = d.Body
		}
	}
	if t.Root == nil {
		t.add("", fmt.Errorf("it is empty; %s shows the smallest %s", t.Kind.Page, t.Kind.Name))
		return c, t
	}
	t.nodes = map[string]ast.Node{}
	t.index("", t.Root)
	decoder{t}.value("", t.Root, reflect.ValueOf(&c).Elem())
	return c, t
}

// index finds the values of all keys, and keys that are none.
func (t *File) index(key string, node ast.Node) {
	t.nodes[key] = node
	t.own(key, node)
	if list, ok := node.(*ast.SequenceNode); ok {
		for i, one := range list.Values {
			t.index(fmt.Sprintf("%s[%d]", key, i), one)
		}
	}
	for _, entry := range Entries(node) {
		if text := badKey(entry); text != "" {
			t.tell(Fault{Key: key, Text: text, unread: key != ""}, entry.Key.GetToken())
			continue
		}
		t.index(Join(key, entry.Key.GetToken().Value), entry.Value)
	}
}

// takenApart are the tokens of a file that has nothing in it that none needs.
func (k Kind) takenApart(text []byte) (token.Tokens, error) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF")) // as some editors of Windows begin a file
	if signs(text) > maxParts {
		return nil, k.manyParts()
	}
	marked, err := k.mark(text)
	if err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(marked)
	return tokens, k.simpleEnough(tokens)
}

func (k Kind) manyParts() error {
	return fmt.Errorf("it has more parts than a %s can have (%d)", k.Name, maxParts)
}

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

// simpleEnough refuses what no file needs and what a parser could be
// brought down with, before there is a tree.
func (k Kind) simpleEnough(tokens token.Tokens) error {
	if len(tokens) > maxParts {
		return k.manyParts()
	}
	var faults []error
	refuse := func(t *token.Token, text string) { faults = append(faults, atToken(t, text)) }
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
				refuse(second, "a "+k.Name+" file holds one document; this is the second")
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
			refuse(t, "anchors, aliases and merge keys are not used in a "+k.Name+" file; write the value out")
		case token.TagType:
			refuse(t, "tags are not used in a "+k.Name+" file; leave it out")
		case token.MappingKeyType:
			refuse(t, "keys are words, without a question mark")
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open = max(open-1, 0)
		case token.MappingValueType:
			if keys++; keys > maxKeys {
				refuse(t, fmt.Sprintf("more than %d keys", maxKeys))
				return errors.Join(faults...)
			}
		default:
		}
		if nested() > maxDepth {
			refuse(t, fmt.Sprintf("nested deeper than %d", maxDepth))
			return errors.Join(faults...)
		}
	}
	return errors.Join(faults...)
}

// Empty reports whether the file says nothing, or could not be taken apart.
func (t *File) Empty() bool { return t.Root == nil }

// Has reports whether the file has a key, outside of all sections.
func (t *File) Has(key string) bool { return t.nodes[key] != nil }
