package yamlfile

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// paths are the paths of keys by their names, each where it comes first.
type paths struct {
	names []string
	paths map[string]string
}

// everywhere are the keys of the whole file.
func (t *File) everywhere() *paths {
	if t.all == nil {
		t.all = pathsOf(t.of, true)
	}
	return t.all
}

// pathsOf are the keys of a type and, where it is to be deep, of its sections and of the entries
// of its lists.
func pathsOf(of reflect.Type, deep bool) *paths {
	p := &paths{paths: map[string]string{}}
	var add func(prefix string, of reflect.Type)
	add = func(prefix string, of reflect.Type) {
		for name, f := range Keys(of) {
			if _, taken := p.paths[name]; !taken {
				p.names, p.paths[name] = append(p.names, name), Join(prefix, name)
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
	add("", of)
	return p
}

// meant is the key that an unknown one may stand for: a similar one of the section, which has this
// type, or else of the file; or "".
func (t *File) meant(unknown, section string, of reflect.Type) string {
	if strings.ContainsFunc(unknown, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "" // a suggestion would hide what is wrong with it
	}
	own := pathsOf(of, false)
	for _, name := range append(slices.Clone(t.Kind.Renamed[unknown]), unknown) {
		if near := t.Kind.Nearest(name, own.names); near != "" {
			return Join(section, own.paths[near])
		}
	}
	all := t.everywhere()
	return all.paths[t.Kind.Nearest(unknown, all.names)]
}

// shownKeys is how many keys of a section a fault names.
const shownKeys = 8

// wanted names the values that a key takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Uint64:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list, as in [a, b]"
	case reflect.Struct:
		names := pathsOf(t, false).names
		more := ""
		if len(names) > shownKeys {
			names, more = names[:shownKeys], ", …"
		}
		return "some of these keys, with values: " + strings.Join(names, ", ") + more
	default:
		return "keys with values"
	}
}

// joinType is the type of what [errors.Join] returns. The words of two errors would say as
// much, but those of the YAML library show the text around, in time that is quadratic in it.
var joinType = reflect.TypeOf(errors.Join(errors.ErrUnsupported))

// Separate are the errors that were joined into one, in their order.
func Separate(err error) (all []error) {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || reflect.TypeOf(err) != joinType { // other than a join it has words of its own
		return []error{err}
	}
	for _, fault := range joined.Unwrap() {
		all = append(all, Separate(fault)...)
	}
	return all
}

var listIndex = regexp.MustCompile(`\[[0-9]+\]`)
