package yamlfile

import (
	"errors"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
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
