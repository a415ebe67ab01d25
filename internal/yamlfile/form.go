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

// A Schema is a JSON Schema of draft 7, which editors know best.
type Schema map[string]any

// A Form is a form of a value: its schema, and how it is read.
type Form struct {
	Schema Schema
	// Read returns [ErrOther] for a value of another form.
	Read func(node ast.Node) error
}

// ErrOther says that a value has another form.
var ErrOther = errors.New("another form")

// Formed values are read by a form. Structures that have keys too may be given by these instead.
type Formed interface {
	// Form returns the form, which sets the receiver, and what to write, for a fault.
	Form() (f Form, want string)
}

// Accept is a form of the values that read takes.
func Accept(s Schema, read func(node ast.Node) bool) Form {
	return Form{s, func(node ast.Node) error {
		if read(node) {
			return nil
		}
		return ErrOther
	}}
}

// Any is a value of the first form that takes it.
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

// AnyOf admits the values of some schemas.
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

// OrVariable admits ${VAR} as a value.
func OrVariable(s Schema) Schema { return AnyOf(s, Schema{"$ref": "#/definitions/variable"}) }

// Then calls set when a value of the form was read.
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

// Number is a number.
func Number(to *float64) Form {
	return Accept(Schema{"type": "number"}, func(node ast.Node) bool { return yaml.NodeToValue(node, to) == nil })
}

// Text is a text other than a number.
func Text[T ~string](to *T) Form {
	return Accept(Schema{"type": "string"}, func(node ast.Node) bool {
		text, ok := node.(*ast.StringNode)
		if ok {
			*to = T(text.Value)
		}
		return ok
	})
}

// Word is one of some words.
func Word[T ~string](to *T, words ...T) Form {
	return Accept(Schema{"enum": words}, func(node ast.Node) bool {
		text, ok := node.(*ast.StringNode)
		if ok = ok && slices.Contains(words, T(text.Value)); ok {
			*to = T(text.Value)
		}
		return ok
	})
}

// Under is a section with one key.
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

// List is a list of at least one value, as one reads it. Values that it does not take are faults with
// the text want; without it the list has another form.
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
			faults = append(faults, At(each, want))
		}
		*to = values
		return errors.Join(faults...)
	}}
}

// OneOrMore is a value, or a list of some.
func OneOrMore[T any](to *[]T, want string, one func(to *T) Form) (Form, string) {
	alone := new(T)
	return Any(one(alone).Then(func() { *to = []T{*alone} }), List(to, want, one)), want
}

// Paths is a path or a list of some: files, folders and patterns.
type Paths []string

// Form refuses "", for which the library would take the folder of the file, and numbers, for which it would
// take their digits.
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

// Form is one or more texts.
func (n *Names) Form() (Form, string) {
	return OneOrMore((*[]string)(n), "want a name or a list of names", Text[string])
}

// Ints is a number or a list of numbers.
type Ints []int

// Form is one or more whole numbers.
func (o *Ints) Form() (Form, string) {
	return OneOrMore((*[]int)(o), "want a whole number or a list of whole numbers", Int)
}

// Int is a whole number.
func Int(to *int) Form {
	return Accept(Schema{"type": "integer"}, func(node ast.Node) bool {
		v, err := WholeNumber(node, false)
		*to = int(v)
		return err == nil
	})
}

// Duration is a time with its unit, days among them: a plain number would be taken for seconds by
// its writer and for nanoseconds by Go.
type Duration time.Duration

var inDays = regexp.MustCompile(`^([0-9]{1,6})d$`)

// Form is a time that is not negative.
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
			return At(node, d.String()+" is negative: want a time such as 90s, 15m, 2h or 30d")
		}
		return nil
	}}, "want a time such as 90s, 15m, 2h or 30d"
}

// Size is a number of bytes with an optional unit: 512MiB, 2GB.
type Size int64

const sizeUnits = `B|[KMGT]i?B`

var sizePattern = regexp.MustCompile(`^([0-9]+) *(|` + sizeUnits + `)$`)

// Form is a size.
func (b *Size) Form() (Form, string) {
	pattern := Schema{"type": "string", "pattern": `^[0-9]*[1-9][0-9]* *(` + sizeUnits + `)$`}
	return Form{pattern, func(node ast.Node) error {
		var s string
		if yaml.NodeToValue(node, &s) != nil {
			return ErrOther
		}
		if err := b.Set(s); err != nil {
			return At(node, err.Error())
		}
		return nil
	}}, "want a size such as 512MiB"
}

// At is an error at a position in the file.
func At(node ast.Node, text string) error { return atToken(node.GetToken(), text) }

func atToken(t *token.Token, text string) error { return &yaml.SyntaxError{Message: text, Token: t} }

// Set reads a number of bytes with its unit, from a flag too.
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
