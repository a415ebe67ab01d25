package yamlfile

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"regexp"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// value sets v to the value of a node. It leaves v unchanged if the node is null. The YAML library's own decoder is
// not used: it stops at the first fault, truncates fractions to whole numbers, and drops a section with a key that is
// not text, such as {step: 0,1}, where the comma is meant as a decimal point.
func (t *File) value(key string, node ast.Node, v reflect.Value) {
	if node == nil || node.Type() == ast.NullType {
		return
	}
	if formed, ok := reflect.TypeAssert[Formed](v.Addr()); ok && t.formed(key, node, formed, v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		to := reflect.New(v.Type().Elem())
		t.value(key, node, to.Elem())
		v.Set(to)
	case reflect.Struct, reflect.Map:
		t.section(key, node, v)
	case reflect.Slice:
		t.list(key, node, v)
	case reflect.Int, reflect.Int64, reflect.Uint64:
		n, err := WholeNumber(node, v.Kind() == reflect.Uint64)
		t.add(key, err)
		if v.CanInt() {
			v.SetInt(n)
		} else {
			v.SetUint(uint64(n)) //nolint:gosec // its bits
		}
	case reflect.Float64:
		n, ok := number(node)
		if v.SetFloat(n); !ok {
			t.add(key, at(node, "want a number"))
		}
	case reflect.String:
		text, ok := Written(node)
		if v.SetString(text); !ok {
			t.add(key, at(node, "want text"))
		}
	default:
		if err := yaml.NodeToValue(node, v.Addr().Interface()); err != nil {
			t.add(key, at(node, "want "+wanted(v.Type())))
		}
	}
}

// Written returns a scalar that is not null as it is written: 010 is the text "010", not "8".
func Written(node ast.Node) (text string, ok bool) {
	switch n := node.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return text, yaml.NodeToValue(node, &text) == nil
	case *ast.NullNode:
		return "", false
	case ast.ScalarNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// number returns the value of a node that is a number as people write it.
func number(node ast.Node) (n float64, ok bool) {
	switch t := node.(type) {
	case *ast.NullNode, *ast.BoolNode:
		return 0, false
	case *ast.IntegerNode:
		ok = decimal.MatchString(t.Token.Value)
	default:
		ok = !strings.ContainsAny(node.GetToken().Value, "_xX")
	}
	return n, ok && yaml.NodeToValue(node, &n) == nil
}

// formed sets v by its form. It returns false if the value is a section to be read by its keys.
func (t *File) formed(key string, node ast.Node, v Formed, typ reflect.Type) bool {
	form, want := v.Form()
	err := form.Read(node)
	if errors.Is(err, ErrOther) {
		if HasKeys(typ) && (want == "" || len(Entries(node)) > 0) {
			return false
		}
		err = at(node, want)
	}
	t.add(key, err)
	return true
}

// section sets the keys of a structure or map. Unknown keys are faults.
func (t *File) section(key string, node ast.Node, v reflect.Value) {
	switch node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	default:
		t.add(key, at(node, "want "+wanted(v.Type())))
		return
	}
	for _, entry := range Entries(node) {
		if badKey(entry) != "" {
			continue // index reports it
		}
		name := entry.Key.GetToken().Value
		below := Join(key, name)
		if v.Kind() == reflect.Map {
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			of := reflect.New(v.Type().Elem()).Elem()
			t.value(below, entry.Value, of)
			if formed, ok := reflect.TypeAssert[Formed](of.Addr()); ok && entry.Value.Type() == ast.NullType {
				_, want := formed.Form()
				t.add(below, at(entry.Value, want))
			}
			v.SetMapIndex(reflect.ValueOf(name), of)
			continue
		}
		if field, ok := maps.Collect(Keys(v.Type()))[name]; ok {
			t.value(below, entry.Value, v.FieldByIndex(field.Index))
			continue
		}
		meant := t.meant(name, key, v.Type())
		text := fmt.Sprintf("unknown key %q: %s lists the keys", name, t.Kind.Page)
		if meant != "" {
			meaning := listIndex.ReplaceAllString(meant, "")
			if key != "" && !strings.Contains(meaning, ".") {
				meaning += " outside of " + key
			}
			text = fmt.Sprintf("unknown key %q: did you mean %s? (%s lists the keys)", name, meaning, t.Kind.Page)
		}
		t.report(Fault{Key: below, Text: text, meant: meant}, entry.Key.GetToken())
	}
}

// list sets v to the entries of a list.
func (t *File) list(key string, node ast.Node, v reflect.Value) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		t.add(key, at(node, "want "+wanted(v.Type())))
		return
	}
	all := reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values))
	for i, one := range list.Values {
		at := fmt.Sprintf("%s[%d]", key, i)
		if t.value(at, one, all.Index(i)); one.Type() == ast.NullType {
			t.add(at, atToken(one.GetToken(), "is empty"))
		}
	}
	v.Set(all)
}

// badKey returns what is wrong with a key of a section, or "".
func badKey(entry *ast.MappingValueNode) string {
	if strings.ContainsAny(entry.Key.GetToken().Value, marks) {
		return "variables of the environment belong in values, not in keys"
	}
	if _, text := entry.Key.(*ast.StringNode); !text {
		return "a key must be a word " +
			"(hint: inside braces a comma begins the next key, so write 0.1 for a decimal number; put a column's name that could be a number in quotes)"
	}
	return ""
}

// Keys returns the fields of a structure that have a key, including those of inlined structures.
func Keys(t reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name != "" && name != "-" && !yield(name, f) { // fields with the key "-" are not set
				return
			}
		}
	}
}

// HasKeys reports whether a type is a structure with keys.
func HasKeys(t reflect.Type) bool {
	if t.Kind() == reflect.Struct {
		for range Keys(t) {
			return true
		}
	}
	return false
}

// Join returns the full name of a key in a section. The outermost section is "".
func Join(section, key string) string {
	if section == "" {
		return key
	}
	return section + "." + key
}

// Entries returns the keys and values of a mapping, or nil for another node.
func Entries(node ast.Node) []*ast.MappingValueNode {
	switch m := node.(type) {
	case *ast.MappingNode:
		return m.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}
	default:
		return nil
	}
}

// decimal matches a number as people write it, also with its digits in threes, as in 2_000_000. It
// excludes 010 and 1_0, which YAML reads as 8 and 10.
var decimal = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*|[1-9][0-9]{0,2}(_[0-9]{3})+)$`)

// WholeNumber returns the value of a node that is a whole number in the range of int64 or, if
// unsigned, the bits of one in the range of uint64.
func WholeNumber(node ast.Node, unsigned bool) (int64, error) {
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
		return 0, at(node, "want a whole number from 0 to 2⁶⁴−1")
	}
	return 0, at(node, "want a whole number")
}

// keysBelow returns the names of the keys of a type, with the path of the first key of each name.
// If deep, it includes the keys of sections and of entries of lists.
func keysBelow(typ reflect.Type, deep bool) (names []string, paths map[string]string) {
	paths = map[string]string{}
	var add func(prefix string, typ reflect.Type)
	add = func(prefix string, typ reflect.Type) {
		for name, f := range Keys(typ) {
			if _, taken := paths[name]; !taken {
				names, paths[name] = append(names, name), Join(prefix, name)
			}
			below := f.Type
			if below.Kind() == reflect.Slice {
				below = below.Elem()
			}
			if deep && below.Kind() == reflect.Struct {
				add(Join(prefix, name), below)
			}
		}
	}
	add("", typ)
	return names, paths
}

// meant returns the key that an unknown one probably means: a similar one of the section, whose
// type is typ, else of the file, else "".
func (t *File) meant(unknown, section string, typ reflect.Type) string {
	if len(t.Faults) > 100 || strings.ContainsFunc(unknown, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "" // of so many faults, the first are shown; with such a character, a suggestion would hide the real fault
	}
	own, _ := keysBelow(typ, false)
	if near := t.Kind.Nearest(unknown, own); near != "" {
		return Join(section, near)
	}
	all, paths := keysBelow(t.of, true)
	return paths[t.Kind.Nearest(unknown, all)]
}

// shownKeys is how many keys of a section a fault lists.
const shownKeys = 8

// wanted describes the values that a key accepts.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Uint64:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list, as in [a, b]"
	case reflect.Struct:
		names, _ := keysBelow(t, false)
		more := ""
		if len(names) > shownKeys {
			names, more = names[:shownKeys], ", …"
		}
		return "some of these keys, with values: " + strings.Join(names, ", ") + more
	default:
		return "keys with values"
	}
}

// joinType is the type of errors from [errors.Join]. To compare texts instead would also be
// correct, but texts of the YAML library quote the file, in time quadratic in its size.
var joinType = reflect.TypeOf(errors.Join(errors.ErrUnsupported))

// Separate returns the errors that were joined into err, in order.
func Separate(err error) (all []error) {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || reflect.TypeOf(err) != joinType { // other types have a text of their own
		return []error{err}
	}
	for _, fault := range joined.Unwrap() {
		all = append(all, Separate(fault)...)
	}
	return all
}

var listIndex = regexp.MustCompile(`\[[0-9]+\]`)
