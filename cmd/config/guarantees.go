package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// guaranteesConfig is one method, or a list of methods.
type guaranteesConfig []certify.MethodID

// UnmarshalYAML reads both forms.
func (g *guaranteesConfig) UnmarshalYAML(node ast.Node) error {
	*g = nil
	want := fmt.Sprintf("want a list of %q", certify.Methods())
	var one certify.MethodID
	var list []certify.MethodID
	switch n := node.(type) {
	case *ast.NullNode:
	case *ast.SequenceNode:
		if err := yaml.NodeToValue(n, &list); err != nil {
			return yamlfile.At(node, want)
		}
	default:
		if err := yaml.NodeToValue(n, &one); err != nil {
			return yamlfile.At(node, want)
		}
		list = []certify.MethodID{one}
	}
	for _, id := range list {
		if err := knownMethod(node, id); err != nil {
			return err
		}
		*g = append(*g, id)
	}
	return nil
}

// knownMethod refuses an unknown method, before the faults that follow from it.
func knownMethod(node ast.Node, id certify.MethodID) error {
	var names []string
	for _, m := range certify.Methods() {
		if m == id {
			return nil
		}
		names = append(names, string(m))
	}
	return yamlfile.At(node, fmt.Sprintf("%q is no method, want %s%s", id, strings.Join(names, " or "), ingest.DidYouMean(string(id), names)))
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
