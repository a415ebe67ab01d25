package config

import (
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
)

// copiesConfig is a share of the rows, as in 1 % or 0.01, or one of two words.
type copiesConfig pipeline.CopiesDecl

const wantCopies = "want drop, independent, or the largest share of rows that may be copies, as in 1 % or 0.01"

// UnmarshalYAML reads the three forms.
func (c *copiesConfig) UnmarshalYAML(node ast.Node) error {
	var text string
	if err := yaml.NodeToValue(node, &text); err != nil {
		return yamlfile.At(node, wantCopies)
	}
	if policy := certify.CopiesPolicy(text); policy == pipeline.CopiesDropped || policy == pipeline.CopiesIndependent {
		c.Policy = policy
		return nil
	}
	share, err := shareOf(text)
	switch {
	case err != nil:
		return yamlfile.At(node, fmt.Sprintf("%q: %s", text, wantCopies))
	case !(share <= 1):
		return yamlfile.At(node, fmt.Sprintf("%q is no share between 0 and 1: %s", text, wantCopies))
	case share == 1:
		return yamlfile.At(node, fmt.Sprintf("%q limits nothing: write 1 %% for a hundredth, or independent if equal rows are draws of their own", text))
	}
	c.Policy, c.Limit = pipeline.CopiesLimited, share
	return nil
}
