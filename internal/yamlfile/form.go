package yamlfile

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// A Schema is a JSON Schema of draft 7, which most editors support.
type Schema map[string]any

// A Form is one way to write a value: its schema and its reader.
type Form struct {
	Schema Schema
	// Read sets the value, or returns [ErrOther] if it is written in another form.
	Read func(node ast.Node) error
}

// ErrOther means that a value is written in another form.
var ErrOther = errors.New("another form")

// Formed values are read by a form. A structure with keys can also be written by its keys.
type Formed interface {
	// Form returns the form, which sets the receiver, and the text for faults: what to write.
	Form() (f Form, want string)
}

// Accept returns a form of the values for which read returns true.
func Accept(s Schema, read func(node ast.Node) bool) Form {
	return Form{s, func(node ast.Node) error {
		if read(node) {
			return nil
		}
		return ErrOther
	}}
}

// Any returns the form of values that one of forms accepts. The first such form reads the value.
func Any(forms ...Form) Form {
	var schemas []Schema
	for _, f := range forms {
		schemas = append(schemas, f.Schema)
	}
	return Form{AnyOf(schemas...), func(node ast.Node) (err error) {
		for _, f := range forms {
			if err = f.Read(node); !errors.Is(err, ErrOther) {
				break
			}
		}
		return err
	}}
}

// AnyOf returns the schema of values that one of the schemas admits.
func AnyOf(schemas ...Schema) Schema {
	var all []Schema
	for _, s := range schemas {
		if forms, ok := s["anyOf"].([]Schema); ok && len(s) == 1 {
			all = append(all, forms...)
		} else {
			all = append(all, s)
		}
	}
	return Schema{"anyOf": all}
}

// OrVariable returns a schema that admits ${VAR} too.
func OrVariable(s Schema) Schema { return AnyOf(s, Schema{"$ref": "#/definitions/variable"}) }

// Then returns a form that also calls set after it has read a value.
func (f Form) Then(set func()) Form {
	read := f.Read
	f.Read = func(node ast.Node) error {
		err := read(node)
		if err == nil {
			set()
		}
		return err
	}
	return f
}

// Number returns the form of a number.
func Number(to *float64) Form {
	return Accept(Schema{"type": "number"}, func(node ast.Node) (ok bool) {
		*to, ok = number(node)
		return ok
	})
}

// Text returns the form of a text that does not read as a number.
func Text[T ~string](to *T) Form {
	return Accept(Schema{"type": "string"}, func(node ast.Node) bool {
		text, ok := node.(*ast.StringNode)
		if ok {
			*to = T(text.Value)
		}
		return ok
	})
}

// Word returns the form of one of these words.
func Word[T ~string](to *T, words ...T) Form {
	return Accept(Schema{"enum": words}, func(node ast.Node) bool {
		text, ok := node.(*ast.StringNode)
		if ok = ok && slices.Contains(words, T(text.Value)); ok {
			*to = T(text.Value)
		}
		return ok
	})
}

// Under returns the form of a section with one key.
func Under(key string, value Form) Form {
	s := Schema{
		"type": "object", "additionalProperties": false, "required": []string{key},
		"properties": Schema{key: OrVariable(value.Schema)},
	}
	return Form{s, func(node ast.Node) error {
		if pairs := Entries(node); len(pairs) == 1 && pairs[0].Key.GetToken().Value == key {
			return value.Read(pairs[0].Value)
		}
		return ErrOther
	}}
}

// List returns the form of a list with at least one value, each of the form one. If one does not
// accept a value, that is a fault with the text want; if want is "", the list has another form.
func List[T any](to *[]T, want string, one func(to *T) Form) Form {
	s := Schema{"type": "array", "items": OrVariable(one(new(T)).Schema), "minItems": 1}
	return Form{s, func(node ast.Node) error {
		list, ok := node.(*ast.SequenceNode)
		if !ok || len(list.Values) == 0 {
			return ErrOther
		}
		values := make([]T, len(list.Values))
		var faults []error
		for i, each := range list.Values {
			if one(&values[i]).Read(each) == nil {
				continue
			}
			if want == "" {
				return ErrOther
			}
			faults = append(faults, at(each, want))
		}
		*to = values
		return errors.Join(faults...)
	}}
}

// OneOrMore returns the form of a value or a list of values.
func OneOrMore[T any](to *[]T, want string, one func(to *T) Form) (Form, string) {
	alone := new(T)
	return Any(one(alone).Then(func() { *to = []T{*alone} }), List(to, want, one)), want
}

// Paths is one path or a list of paths: files, folders and patterns.
type Paths []string

// Form excludes "", for which the library would use the folder of the file, and numbers, whose digits it would use.
func (p *Paths) Form() (Form, string) {
	return OneOrMore((*[]string)(p), "want a path or a list of paths; one that could be a number needs quotes", func(to *string) Form {
		return Accept(Schema{"type": "string", "minLength": 1}, func(one ast.Node) bool {
			switch one.(type) {
			case *ast.StringNode, *ast.LiteralNode:
				return yaml.NodeToValue(one, to) == nil && *to != ""
			}
			return false
		})
	})
}

// Names is a text or a list of texts.
type Names []string

// Form returns the form of one or more texts.
func (n *Names) Form() (Form, string) {
	return OneOrMore((*[]string)(n), "want a name or a list of names", Text[string])
}

// Ints is a whole number or a list of whole numbers.
type Ints []int

// Form returns the form of one or more whole numbers.
func (o *Ints) Form() (Form, string) {
	return OneOrMore((*[]int)(o), "want a whole number or a list of whole numbers", Int)
}

// Int returns the form of a whole number.
func Int(to *int) Form {
	return Accept(Schema{"type": "integer"}, func(node ast.Node) bool {
		v, err := WholeNumber(node, false)
		*to = int(v)
		return err == nil
	})
}

// Duration is a duration with a unit, which may be d for days. A number without unit is a fault:
// the writer would mean seconds, and Go nanoseconds.
type Duration time.Duration

var inDays = regexp.MustCompile(`^([0-9]{1,6})d$`)

// Form returns the form of a duration that is not negative.
func (s *Duration) Form() (Form, string) {
	pattern := Schema{"type": "string", "pattern": inDays.String() + `|^[+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`}
	return Form{pattern, func(node ast.Node) error {
		var text string
		err := yaml.NodeToValue(node, &text)
		if m := inDays.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1]) // six digits
			*s = Duration(min(n, 100_000)) * Duration(24*time.Hour)
			return nil
		}
		d, parsed := time.ParseDuration(text)
		switch *s = Duration(d); {
		case err != nil || parsed != nil:
			return ErrOther
		case d < 0:
			return at(node, d.String()+" is negative: want a time such as 90s, 15m, 2h or 30d")
		}
		return nil
	}}, "want a time such as 90s, 15m, 2h or 30d"
}

// Size is a number of bytes, written with a unit: 512MiB, 2GB.
type Size int64

const sizeUnits = `B|[KMGT]i?B`

var sizePattern = regexp.MustCompile(`^([0-9]+) *(|` + sizeUnits + `)$`)

// Form returns the form of a size.
func (b *Size) Form() (Form, string) {
	pattern := Schema{"type": "string", "pattern": `^[0-9]*[1-9][0-9]* *(` + sizeUnits + `)$`}
	return Form{pattern, func(node ast.Node) error {
		var s string
		if yaml.NodeToValue(node, &s) != nil {
			return ErrOther
		}
		if err := b.Set(s); err != nil {
			return at(node, err.Error())
		}
		return nil
	}}, "want a size such as 512MiB"
}

// at returns an error with the position of a node.
func at(node ast.Node, text string) error { return atToken(node.GetToken(), text) }

func atToken(t *token.Token, text string) error { return &yaml.SyntaxError{Message: text, Token: t} }

// Set parses a number of bytes with its unit. Flags use it too.
func (b *Size) Set(text string) error {
	m := sizePattern.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q is no size: want for instance 512MiB or 2GB", text)
	}
	n, err := strconv.ParseInt(m[1], 10, 40)
	if err != nil {
		return fmt.Errorf("%q is no size: the number is too large", text)
	}
	if n == 0 {
		return fmt.Errorf("%q is no memory; leave it out for the default", text)
	}
	if m[2] == "" {
		return fmt.Errorf("%q has no unit: write %sMiB if that is meant, or %sB", text, text, text)
	}
	base := int64(1000)
	if strings.Contains(m[2], "i") {
		base = 1024
	}
	for range strings.Index("BKMGT", m[2][:1]) {
		if n > math.MaxInt64/base {
			return fmt.Errorf("%q is no size: the number is too large", text)
		}
		n *= base
	}
	*b = Size(n)
	return nil
}
