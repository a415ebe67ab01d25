package main

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

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
