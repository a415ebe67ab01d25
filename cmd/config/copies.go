package config

import (
	"fmt"
	"regexp"
	"strconv"

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

// shareAt reads a share that a node has, as text or as a number.
func shareAt(node ast.Node) (share float64, text string, err error) {
	if err = yaml.NodeToValue(node, &text); err == nil {
		share, err = shareOf(text)
	}
	return share, text, err
}

var sharePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *(%?)$`)

// shareOf reads a share, which may be given in percent.
func shareOf(s string) (float64, error) {
	m := sharePattern.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no share", s)
	}
	if m[2] == "%" {
		m[1] += "e-2" // read as decimals, so that 1 % is 0.01
	}
	return strconv.ParseFloat(m[1], 64)
}
