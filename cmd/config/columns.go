package config

import (
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// columnValues are numbers, true and false among them, or texts.
type columnValues struct {
	Numbers []float64
	Texts   []string
}

// UnmarshalYAML reads the two forms.
func (v *columnValues) UnmarshalYAML(node ast.Node) error {
	list, ok := node.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		return yamlfile.At(node, "want a list of numbers, or of texts")
	}
	for _, one := range list.Values {
		var number float64
		switch word, isText := one.(*ast.StringNode); {
		case isText:
			v.Texts = append(v.Texts, word.Value)
		case one.Type() == ast.BoolType:
			v.Numbers = append(v.Numbers, map[bool]float64{true: 1}[one.(*ast.BoolNode).Value])
		case yaml.NodeToValue(one, &number) == nil:
			v.Numbers = append(v.Numbers, number)
		default:
			return yamlfile.At(one, "want a number, or a text")
		}
	}
	if v.Numbers != nil && v.Texts != nil {
		return yamlfile.At(node, "want numbers alone, or texts alone: a text of digits stands in quotes")
	}
	return nil
}

// An encodeConfig declares the inputs of a feature: a word for levels, or periods.
type encodeConfig struct {
	Cyclic periods `yaml:"cyclic"`

	levels bool
}

const oneHot = "one-hot"

// wantEncoding is the message about an encoding without levels and periods.
const wantEncoding = "want one-hot, or periods as in {cyclic: 24}"

// ReadWord reads the word.
func (e *encodeConfig) ReadWord(word *ast.StringNode) error {
	if e.levels = word.Value == oneHot; !e.levels {
		return yamlfile.At(word, wantEncoding)
	}
	return nil
}

// Given reports whether there are levels or periods.
func (e encodeConfig) Given() bool { return e.levels || e.Cyclic != nil }

// periods are one number, or several.
type periods []float64

// UnmarshalYAML reads one or a list.
func (p *periods) UnmarshalYAML(node ast.Node) (err error) {
	*p, err = yamlfile.OneOrList(node, "want a number, or a list of numbers", func(one ast.Node) (v float64, ok bool) {
		ok = yaml.NodeToValue(one, &v) == nil
		return v, ok
	})
	return err
}

// A fillConfig declares what stands for missing values of a feature.
type fillConfig struct {
	job.Fill

	Given bool // the key has a value
}

// median stands for that of the prior rows.
const median = "median"

// flagWord adds an input, 1 where the value is missing.
const flagWord = "flag"

// wantFill is the message about a key without a value.
const wantFill = "want median or a number, or with an input for having been missing, as in [median, flag]"

// UnmarshalYAML reads a value, or a list of a value and the word flag.
func (f *fillConfig) UnmarshalYAML(node ast.Node) error {
	f.Given = true
	if list, ok := node.(*ast.SequenceNode); ok {
		word := ""
		if f.Flag = len(list.Values) == 2 && yaml.NodeToValue(list.Values[1], &word) == nil && word == flagWord; !f.Flag {
			return yamlfile.At(node, wantFill)
		}
		node = list.Values[0]
	}
	if word, text := node.(*ast.StringNode); text && word.Value == median {
		return nil
	}
	if f.With = new(float64); yaml.NodeToValue(node, f.With) != nil {
		return yamlfile.At(node, wantFill)
	}
	return nil
}

// encodings are those of the two keys together. A feature without encoding is filled as it is.
func encodings(encode map[string]encodeConfig, fill map[string]fillConfig) (all job.Encodings) {
	for name, e := range encode {
		all = append(all, job.Encoding{Column: name, Cyclic: e.Cyclic})
	}
	for name, f := range fill {
		of := all.Of(name)
		if of == nil {
			all = append(all, job.Encoding{Column: name, Scaled: true})
			of = all.Of(name)
		}
		of.Fill = &f.Fill
	}
	return all
}
