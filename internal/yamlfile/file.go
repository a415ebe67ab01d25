// Package yamlfile decodes a YAML file into a struct and finds all that is wrong with it,
// with positions. What the YAML library ignores in silence is a fault: keys that are no
// text, fractions where whole numbers are wanted, a second document. ${VAR} in a value
// stands for a variable of the environment.
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

// MaxBytes is the most that the text of a file may have. The time of the YAML library is quadratic in
// the keys of a section.
const MaxBytes = 1 << 16

const maxDepth = 32 // of brackets, or dashes of a line

// A File is a file that was taken apart. Faults are those of reading it.
type File struct {
	path   string
	Kind   Kind
	of     reflect.Type // that it is decoded into
	Root   ast.Node     // nil: it says nothing, or could not be taken apart
	lookup func(string) (string, bool)
	nodes  map[string]ast.Node // values by their keys, as in sweep[1].loss.epsilon
	Faults []Fault
	faulty map[[2]int]bool // positions of faults
}

// Parse decodes the text of a file of this kind into a T, and keeps all that is wrong with
// it. lookup finds variables of the environment.
func Parse[T any](kind Kind, path string, text []byte, lookup func(string) (string, bool)) (c T, t *File) {
	t = &File{path: path, Kind: kind, of: reflect.TypeFor[T](), lookup: lookup, faulty: map[[2]int]bool{}}
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
	tree, err := parser.Parse(tokens, 0)
	if err != nil {
		t.add("", err)
		t.Faults[0].Text = "this is not YAML: " + t.Faults[0].Text
		return c, t
	}
	for _, d := range tree.Docs { // one that says something: see takenApart
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

// index finds the values of all keys, in which it replaces variables, and keys that are none.
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

// takenApart are the tokens of a file that has nothing in it that none needs.
func (k Kind) takenApart(text []byte) (token.Tokens, error) {
	marked, err := k.mark(bytes.TrimPrefix(text, []byte("\uFEFF"))) // as some editors of Windows begin a file
	if err != nil {
		return nil, err
	}
	var faults []error
	said, second := false, (*token.Token)(nil) // second begins another document
	tokens := lexer.Tokenize(marked)
	line, dashes, open := 0, 0, 0 // the library takes minutes for tens of thousands of open ones
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
		if said = true; second != nil { // behind two such lines the library drops what follows
			faults = append(faults, atToken(second, "a "+k.Name+" file holds one document; this is the second"))
			break
		}
	}
	return tokens, errors.Join(faults...)
}

// Has reports whether the file has a key, outside of all sections.
func (t *File) Has(key string) bool { return t.nodes[key] != nil }

// A Kind is a kind of YAML file: what its faults call it, and what only it knows of its
// keys.
type Kind struct {
	Name string // as in "the smallest job"
	Page string // that explains its keys
	Bad  string // begins every fault, as in "bad job"
	Err  error  // is what every fault wraps

	// Examples has values of sections, by key.
	Examples map[string]string
	// Renamed has the names that a key of earlier builds has now.
	Renamed map[string][]string
	// Nearest is the known word that an unknown one is a misspelling of, or "".
	Nearest func(word string, known []string) string
}
