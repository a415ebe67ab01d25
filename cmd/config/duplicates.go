package config

import (
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// duplicatesConfig is drop, keep, or a limit.
type duplicatesConfig job.DuplicatesDecl

const wantDuplicates = "want drop, keep, or {limit: 1 %}"

// UnmarshalYAML reads the three forms.
func (c *duplicatesConfig) UnmarshalYAML(node ast.Node) error {
	var text string
	if yaml.NodeToValue(node, &text) == nil {
		if c.Policy = certify.DuplicatesPolicy(text); c.Policy != job.DuplicatesDropped && c.Policy != job.DuplicatesKept {
			return yamlfile.At(node, fmt.Sprintf("%q: %s", text, wantDuplicates))
		}
		return nil
	}
	var limited struct {
		Limit toleratedShare `yaml:"limit"`
	}
	if err := yaml.NodeToValue(node, &limited, yaml.Strict()); err != nil {
		return yamlfile.At(node, wantDuplicates)
	}
	c.Policy, c.Limit = job.DuplicatesLimited, float64(limited.Limit)
	return nil
}
