// Package yamlfile decodes a YAML file into a struct and reports all faults with positions. It also
// reports what the YAML library ignores: keys that are not text, fractions for whole numbers, a
// second document. ${VAR} in a value is replaced by a variable of the environment.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxBytes bounds the text of a file, in bytes. The YAML library needs time quadratic in the number
// of keys of a section.
const MaxBytes = 1 << 16

const maxDepth = 32 // of brackets, or of dashes on a line

// A File is a parsed file. Faults has the faults found so far.
type File struct {
	path   string
	Kind   Kind
	of     reflect.Type // type of the decoded value
	Root   ast.Node     // nil if the file is empty or could not be parsed
	lookup func(string) (string, bool)
	nodes  map[string]ast.Node // values by key, as in sweep[1].loss.epsilon
	Faults []Fault
	faulty map[[2]int]bool // positions that have a fault
}

// Parse decodes the text of a file into a T, and collects all faults in t. lookup returns variables of the environment.
func Parse[T any](kind Kind, path string, text []byte, lookup func(string) (string, bool)) (c T, t *File) {
	t = &File{path: path, Kind: kind, of: reflect.TypeFor[T](), lookup: lookup, faulty: map[[2]int]bool{}}
	defer func() { // the library panics on some texts
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
	tree, err := parser.Parse(tokens, 0)
	if err != nil {
		t.add("", err)
		t.Faults[0].Text = "this is not YAML: " + t.Faults[0].Text
		return c, t
	}
	for _, d := range tree.Docs { // takenApart allows only one with content
		if d.Body != nil {
			t.Root = d.Body
		}
	}
	if t.Root == nil {
		t.add("", fmt.Errorf("the file is empty: %s shows the smallest %s", t.Kind.Page, t.Kind.Name))
		return c, t
	}
	t.nodes = map[string]ast.Node{}
	t.Root = t.index("", t.Root)
	t.value("", t.Root, reflect.ValueOf(&c).Elem())
	return c, t
}

// index records the values of all keys. It replaces variables and reports bad keys.
func (t *File) index(key string, node ast.Node) ast.Node {
	node = t.substituted(key, node)
	t.nodes[key] = node
	if list, ok := node.(*ast.SequenceNode); ok {
		for i, one := range list.Values {
			list.Values[i] = t.index(fmt.Sprintf("%s[%d]", key, i), one)
		}
	}
	for _, entry := range Entries(node) {
		if text := badKey(entry); text != "" {
			t.report(Fault{Key: key, Text: text, unread: key != ""}, entry.Key.GetToken())
			continue
		}
		entry.Value = t.index(Join(key, entry.Key.GetToken().Value), entry.Value)
	}
	return node
}

// takenApart returns the tokens of a file. It returns an error for YAML that no such file needs.
func (k Kind) takenApart(text []byte) (token.Tokens, error) {
	marked, err := k.mark(bytes.TrimPrefix(text, []byte("\uFEFF"))) // some editors of Windows write a BOM
	if err != nil {
		return nil, err
	}
	var faults []error
	said, second := false, (*token.Token)(nil) // begins the second document
	tokens := lexer.Tokenize(marked)
	line, dashes, open := 0, 0, 0 // the library needs minutes for tens of thousands of open ones
	for _, t := range tokens {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceEntryType:
			dashes++
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open = max(open-1, 0)
		case token.CommentType, token.DirectiveType:
			continue
		case token.DocumentHeaderType, token.DocumentEndType:
			if said && second == nil {
				second = t
			}
			continue
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType:
			faults = append(faults, atToken(t, "anchors, aliases, merge keys and tags are not supported; write the value out"))
		case token.MappingKeyType:
			faults = append(faults, atToken(t, "keys are words, without a question mark"))
		default:
		}
		if dashes+open > maxDepth {
			return nil, errors.Join(append(faults, atToken(t, fmt.Sprintf("nested deeper than %d", maxDepth)))...)
		}
		if said = true; second != nil { // after two such lines the library drops the rest
			faults = append(faults, atToken(second, "a "+k.Name+" file holds one document; this is the second"))
			break
		}
	}
	return tokens, errors.Join(faults...)
}

// Has reports whether the file has a key at the top level.
func (t *File) Has(key string) bool { return t.nodes[key] != nil }

// A Kind is a kind of YAML file: the texts of its faults, and what is special about its keys.
type Kind struct {
	Name string // as in "the smallest job"
	Page string // the document that explains its keys
	Bad  string // begins every fault, as in "bad job"
	Err  error  // the error that every fault wraps

	// Nearest returns the known word that word probably misspells, or "".
	Nearest func(word string, known []string) string
}
