package config

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// guaranteesConfig is one method, or a list of methods.
type guaranteesConfig []certify.MethodID

// UnmarshalYAML reads both forms.
func (g *guaranteesConfig) UnmarshalYAML(node ast.Node) (err error) {
	*g, err = yamlfile.OneOrList(node, fmt.Sprintf("want a list of %q", certify.Methods()), func(one ast.Node) (id certify.MethodID, ok bool) {
		ok = yaml.NodeToValue(one, &id) == nil && slices.Contains(certify.Methods(), id)
		return id, ok
	})
	return err
}

// apartConfig is a share of the rows that is kept apart, as in 10 % or 0.1.
type apartConfig float64

// UnmarshalYAML reads the two forms.
func (c *apartConfig) UnmarshalYAML(node ast.Node) error {
	share, _, err := shareAt(node)
	if err != nil || !(0 < share && share < 1) {
		return yamlfile.At(node, "want a share of the rows, as in 10 % or 0.1")
	}
	*c = apartConfig(share)
	return nil
}

// holdoutConfig is such a share, or that of the last rows, as in {last: 10 %}.
type holdoutConfig struct {
	share apartConfig
	last  bool
}

// UnmarshalYAML reads both forms.
func (h *holdoutConfig) UnmarshalYAML(node ast.Node) error {
	pairs := yamlfile.Entries(node)
	if h.last = len(pairs) == 1 && pairs[0].Key.String() == "last"; h.last {
		node = pairs[0].Value
	}
	if h.share.UnmarshalYAML(node) != nil {
		return yamlfile.At(node, "want a share of the rows, as in 10 % or 0.1, or of the last ones, as in {last: 10 %}")
	}
	return nil
}
