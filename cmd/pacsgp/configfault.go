package main

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/pipeline"
)

// withoutValue is an error about a value, which it does not show if variables of
// the environment are in it. What only says what it wants shows none.
func withoutValue(err error, from origins) error {
	at, ok := errors.AsType[yaml.Error](err)
	if !ok || strings.HasPrefix(at.GetMessage(), "want ") {
		return err
	}
	names := from.of(at.GetToken())
	if names == "" {
		return err
	}
	return &yaml.SyntaxError{Message: unseen(names), Token: at.GetToken()}
}

// inWords says what the YAML library says about a value in words that need no Go.
func inWords(err error, tree *ast.File) error {
	var mismatch *yaml.TypeError
	var unknown *yaml.UnknownFieldError
	var node *yaml.UnexpectedNodeTypeError
	switch {
	case errors.As(err, &node):
		want := "keys with values"
		if node.Expected == ast.SequenceType {
			want = "a list, as in [a, b]"
		}
		return &yaml.SyntaxError{Message: "want " + want, Token: node.Token}
	case errors.As(err, &mismatch):
		return &yaml.SyntaxError{Message: "want " + wanted(mismatch.DstType), Token: mismatch.Token}
	case errors.As(err, &unknown) && within(nodeOf(tree, "sweep"), unknown.Token) && isKey(unknown.Token.Value):
		return &yaml.SyntaxError{Message: fmt.Sprintf("an alternative does not take the key %q here; docs/job.md lists what it takes", unknown.Token.Value), Token: unknown.Token}
	case errors.As(err, &unknown):
		return &yaml.SyntaxError{Message: unknown.Message + didYouMeanKey(unknown.Token) + "; docs/job.md lists the keys", Token: unknown.Token}
	default:
		return err
	}
}

// within reports whether a part of a job holds a token.
func within(part ast.Node, t *token.Token) bool {
	if part == nil || t == nil {
		return false
	}
	at := origins{{t.Position.Line, t.Position.Column}: "here"}
	return at.under(part) != ""
}

// isKey reports whether a word is a key of the job or of one of its sections.
func isKey(word string) bool {
	var in func(t reflect.Type) bool
	in = func(t reflect.Type) bool {
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name != "" && (name == word || f.Type.Kind() == reflect.Struct && in(f.Type)) {
				return true
			}
		}
		return false
	}
	return in(reflect.TypeFor[configuration]())
}

// didYouMeanKey suggests a key of the job for one that is none: one that is
// written much like it, or the same one where it belongs.
func didYouMeanKey(unknown *token.Token) string {
	if unknown == nil {
		return ""
	}
	var names []string
	paths := map[string]string{}
	var add func(prefix string, t reflect.Type)
	add = func(prefix string, t reflect.Type) {
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if _, taken := paths[name]; name == "" || taken {
				continue
			}
			names, paths[name] = append(names, name), prefix+name
			if f.Type.Kind() == reflect.Struct {
				add(prefix+name+".", f.Type)
			}
		}
	}
	add("", reflect.TypeFor[configuration]())
	if strings.ContainsFunc(unknown.Value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "" // a suggestion would hide what is wrong with it
	}
	suggestion := ingest.DidYouMean(unknown.Value, names)
	for _, name := range names {
		if strings.Contains(suggestion, strconv.Quote(name)) {
			return strings.Replace(suggestion, strconv.Quote(name), paths[name], 1)
		}
	}
	return ""
}

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
	default:
		return "keys with values"
	}
}

// keyOf cuts a fault of a job into the key, with which its text starts, and the
// rest.
func keyOf(fault error) (key, rest string) {
	key, rest, _ = strings.Cut(strings.TrimPrefix(fault.Error(), pipeline.ErrConfig.Error()+": "), ":")
	return key, rest
}

// choicePlaced makes faults of a choice of columns faults of the job, with the
// place where the alternative (0: the job) makes that choice.
func choicePlaced(err error, place func(key string) string, alternative int) error {
	if _, ok := errors.AsType[*ingest.ChoiceError](err); !ok {
		return err
	}
	all := separate(err)
	for i, fault := range all[:min(len(all), mostFaults)] { // the others are not shown
		choice, ok := errors.AsType[*ingest.ChoiceError](fault)
		if !ok {
			continue
		}
		key := choice.Key
		if choice.Index >= 0 {
			key = fmt.Sprintf("%s[%d]", key, choice.Index)
		}
		at := place(fmt.Sprintf("sweep[%d].%s", alternative-1, key))
		for _, other := range []string{key, choice.Key} {
			if at == "" {
				at = place(other)
			}
		}
		all[i] = fmt.Errorf("%w: %s%s: %s", pipeline.ErrConfig, at, choice.Key, choice.Text)
	}
	return errors.Join(all...)
}

// separate are the errors that were joined into one, in their order.
func separate(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(joined.Unwrap()...).Error() != err.Error() { // other than a join it has words of its own
		return []error{err}
	}
	for _, fault := range joined.Unwrap() {
		all = append(all, separate(fault)...)
	}
	return all
}

// placed adds to each fault of a job where its key was set: by a flag, or in the
// file, with line and column if the key stands there.
func placed(err error, path string, tree *ast.File, from origins, changed func(string) bool) error {
	var faults []error
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	for i, fault := range joined.Unwrap() {
		if i == mostFaults { // the others are not shown, and finding a place takes long in a long file
			faults = append(faults, joined.Unwrap()[i:]...)
			break
		}
		key, rest := keyOf(fault)
		if flag, ok := flags[key]; ok && changed(flag) {
			faults = append(faults, fmt.Errorf("%w: --%s:%s", pipeline.ErrConfig, flag, rest))
			continue
		}
		names := from.under(nodeOf(tree, key))
		if names == "" { // what an alternative leaves out it has from the job
			names = from.under(nodeOf(tree, ofAlternative.ReplaceAllString(key, "")))
		}
		if names != "" && !takesText(key) {
			rest = " " + unseen(names)
		}
		faults = append(faults, fmt.Errorf("%w: %s: %s%s:%s", pipeline.ErrConfig, path, place(tree, key), key, rest))
	}
	return errors.Join(faults...)
}

// place is the line and column of a key, and a blank; empty if the file does not
// have the key.
func place(tree *ast.File, key string) string {
	node := nodeOf(tree, key)
	if node == nil {
		return ""
	}
	at := node.GetToken().Position
	return fmt.Sprintf("[%d:%d] ", at.Line, at.Column)
}

// nodeOf is the value of a key, nil if the file does not have it.
func nodeOf(tree *ast.File, key string) ast.Node {
	query, err := yaml.PathString("$." + key)
	if err != nil || tree == nil {
		return nil
	}
	node, err := query.FilterFile(tree)
	if err != nil {
		return nil
	}
	return node
}

var (
	listIndex     = regexp.MustCompile(`\[[0-9]+\]`)
	ofAlternative = regexp.MustCompile(`^sweep\[[0-9]+\]\.`)
)

// takesText reports whether a key of the job is set to a text or a list of texts,
// which a fault shows as it is or in quotes: so it is found and hidden.
func takesText(key string) bool {
	t := reflect.TypeFor[configuration]()
	for name := range strings.SplitSeq(listIndex.ReplaceAllString(key, ""), ".") {
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return false
		}
		field, ok := t.FieldByNameFunc(func(f string) bool {
			field, _ := t.FieldByName(f)
			tag, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			return tag == name
		})
		if !ok {
			return false
		}
		t = field.Type
	}
	return t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String
}
