package main

import (
	"bytes"
	"context"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"

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

// parseUntil is parseJob, which knows no context, until ctx is done.
func parseUntil(ctx context.Context, text []byte, lookup func(string) (string, bool)) (configuration, *ast.File, origins, error) {
	type parsed struct {
		c    configuration
		tree *ast.File
		from origins
		err  error
	}
	done := make(chan parsed, 1)
	go func() {
		var p parsed
		p.tree, p.from, p.err = parseJob(text, lookup, &p.c)
		done <- p
	}()
	select {
	case p := <-done:
		return p.c, p.tree, p.from, p.err
	case <-ctx.Done():
		return configuration{}, nil, nil, ctx.Err()
	}
}

// parseJob decodes the text of a job file into c. What the YAML library would
// pass over in silence is an error: keys that are no text, fractions where whole
// numbers are wanted, a second document. The tree is nil if the text is empty.
func parseJob(text []byte, lookup func(string) (string, bool), c *configuration) (tree *ast.File, from origins, err error) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF")) // as some editors of Windows begin a file
	if signs(text) > maxJobParts {
		return nil, nil, errManyParts
	}
	marked, err := mark(text)
	if err != nil {
		return nil, nil, err
	}
	defer func() { // the border to a library that panics on some texts
		if r := recover(); r != nil {
			tree, err = nil, fmt.Errorf("the YAML library cannot read it: %v", r)
		}
	}()
	from = origins{}
	tokens := lexer.Tokenize(marked)
	if err := simpleEnough(tokens); err != nil {
		return nil, from, err
	}
	if err := substitute(tokens, lookup, from); err != nil {
		return nil, from, err
	}
	if tree, err = parser.Parse(tokens, 0); err != nil {
		return nil, from, err
	}
	var documents []*ast.DocumentNode // that say something
	for _, d := range tree.Docs {
		if d.Body != nil {
			documents = append(documents, d)
		}
	}
	switch tree.Docs = documents; len(documents) {
	case 0:
		return nil, from, nil
	case 1:
	default: // not after simpleEnough
		return nil, from, fault(documents[1].Body, "a job file holds one document")
	}
	body := documents[0].Body
	if err := checkKeys(body); err != nil {
		return nil, from, err
	}
	if err := checkNumbers(body, reflect.TypeFor[configuration]()); err != nil {
		return nil, from, err
	}
	return tree, from, yaml.NodeToValue(body, c, yaml.Strict())
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
				return faultAt(second, "a job file holds one document; this is the second")
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
			return faultAt(t, "anchors, aliases and merge keys are not used in a job file; write the value out")
		case token.TagType:
			return faultAt(t, "tags are not used in a job file; leave it out")
		case token.MappingKeyType:
			return faultAt(t, "keys are words, without a question mark")
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open = max(open-1, 0)
		case token.MappingValueType:
			if keys++; keys > maxJobKeys {
				return faultAt(t, fmt.Sprintf("more than %d keys", maxJobKeys))
			}
		default:
		}
		if nested() > maxJobDepth {
			return faultAt(t, fmt.Sprintf("nested deeper than %d", maxJobDepth))
		}
	}
	return nil
}

func faultAt(t *token.Token, text string) error {
	return &yaml.SyntaxError{Message: text, Token: t}
}

// checkKeys refuses keys that are no text. The library drops the whole section
// that has one, as {step: 0,1} does, where a comma stands for a decimal point.
func checkKeys(root ast.Node) error {
	keys := &keyChecker{}
	ast.Walk(keys, root)
	return keys.err
}

type keyChecker struct{ err error }

// Visit looks at the keys of a mapping.
func (k *keyChecker) Visit(node ast.Node) ast.Visitor {
	if entry, ok := node.(*ast.MappingValueNode); ok {
		if strings.ContainsAny(entry.Key.GetToken().Value, marks) && k.err == nil {
			k.err = fault(entry.Key, "variables of the environment stand in values, not in keys")
		}
		if _, text := entry.Key.(*ast.StringNode); !text && k.err == nil {
			k.err = fault(entry.Key, "this is no key, which is a word "+
				"(hint: inside braces a comma begins the next key, so write 0.1 for a decimal number; put a column's name that looks like a number in quotes)")
		}
	}
	if k.err != nil {
		return nil
	}
	return k
}

// checkNumbers refuses fractions and numbers out of range where t, or a part of
// it, is an integer: the library cuts them to size.
func checkNumbers(node ast.Node, t reflect.Type) error {
	if node == nil || node.Type() == ast.NullType {
		return nil
	}
	if reflect.PointerTo(t).Implements(ownReader) || reflect.PointerTo(t).Implements(textReader) {
		return nil // looks at its numbers itself
	}
	switch t.Kind() {
	case reflect.Pointer:
		return checkNumbers(node, t.Elem())
	case reflect.Int, reflect.Int64, reflect.Uint64:
		_, err := wholeNumber(node, t.Kind() == reflect.Uint64)
		return err
	case reflect.Slice:
		if list, ok := node.(*ast.SequenceNode); ok {
			for _, v := range list.Values {
				if err := checkNumbers(v, t.Elem()); err != nil {
					return err
				}
			}
		}
	case reflect.Map, reflect.Struct:
		for _, entry := range entries(node) {
			of, ok := keyType(t, entry.Key)
			if !ok {
				continue // unknown, which the library says
			}
			if err := checkNumbers(entry.Value, of); err != nil {
				return err
			}
		}
	default:
	}
	return nil
}

var (
	ownReader  = reflect.TypeFor[yaml.NodeUnmarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// entries are the keys of a mapping with their values, none of another node.
func entries(node ast.Node) []*ast.MappingValueNode {
	switch m := node.(type) {
	case *ast.MappingNode:
		return m.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}
	default:
		return nil
	}
}

// keyType is the type of what a key sets in a map or a structure of type t.
func keyType(t reflect.Type, key ast.MapKeyNode) (reflect.Type, bool) {
	if t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name != "" && name == key.GetToken().Value {
			return f.Type, true
		}
	}
	return nil, false
}

// decimal is a number as people write it: YAML takes 010 for 8 and 1_0 for 10.
var decimal = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*)$`)

// wholeNumber returns the value of a node that is a whole number in the range of
// int64, or of uint64 as its bits.
func wholeNumber(node ast.Node, unsigned bool) (int64, error) {
	if n, ok := node.(*ast.IntegerNode); ok && decimal.MatchString(n.Token.Value) {
		switch v := n.Value.(type) {
		case int64:
			if v >= 0 || !unsigned {
				return v, nil
			}
		case uint64:
			if v <= math.MaxInt64 || unsigned {
				return int64(v), nil //nolint:gosec // as its bits
			}
		}
	}
	if unsigned {
		return 0, fault(node, "want a whole number from 0 to 2⁶⁴−1")
	}
	return 0, fault(node, "want a whole number")
}
