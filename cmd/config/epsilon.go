package config

import (
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// Epsilon is a number in raw units, or {std: number}.
type Epsilon struct {
	Raw, std float64
	given    bool // 0 included
	percent  bool // Raw was given in percent
}

// zero reports whether it is given as 0.
func (e Epsilon) zero() bool { return e.given && e.Raw == 0 && e.std == 0 }

// UnmarshalYAML reads the two forms.
func (e *Epsilon) UnmarshalYAML(node ast.Node) error {
	e.given = node.Type() != ast.NullType
	if err := yaml.NodeToValue(node, &e.Raw); err == nil {
		return nil
	}
	if share, text, err := shareAt(node); err == nil && strings.HasSuffix(text, "%") {
		e.Raw, e.percent = share, true
		return nil
	}
	var form struct {
		Std *float64 `yaml:"std"`
	}
	if err := yaml.NodeToValue(node, &form, yaml.Strict()); err != nil || form.Std == nil {
		return yamlfile.At(node, "want a number in the target's units, {std: number}, or a share of the target as in 10 %")
	}
	e.std = *form.Std
	return nil
}
