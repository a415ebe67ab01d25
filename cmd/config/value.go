package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// pathList is a list of files, folders and patterns.
type pathList []string

// UnmarshalYAML reads the list. The library would take nothing for "", which is the
// folder of the job file, and a number for its digits.
func (p *pathList) UnmarshalYAML(node ast.Node) error {
	if node.Type() == ast.NullType {
		return nil
	}
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		return fault(node, "want a list, as in [a, b]")
	}
	var faults []error
	for _, one := range list.Values {
		var path string
		switch one.(type) {
		case *ast.StringNode, *ast.LiteralNode:
			faults = append(faults, yaml.NodeToValue(one, &path))
		}
		if path == "" {
			faults = append(faults, fault(one, "want a path; one that looks like a number stands in quotes"))
			continue
		}
		*p = append(*p, path)
	}
	return errors.Join(faults...)
}

// nameList is a text or a list of texts.
type nameList []string

// UnmarshalYAML reads the two forms.
func (n *nameList) UnmarshalYAML(node ast.Node) error {
	nodes := []ast.Node{node}
	if list, ok := node.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	*n = nameList{}
	var faults []error
	for _, one := range nodes {
		text, ok := one.(*ast.StringNode)
		if !ok {
			faults = append(faults, fault(one, "want a name or a list of names"))
			continue
		}
		*n = append(*n, text.Value)
	}
	return errors.Join(faults...)
}

// Epsilon is a number in raw units, or {std: number}.
type Epsilon struct {
	Raw, std float64
	given    bool // even if as 0
}

// zero reports whether it is given as 0.
func (e Epsilon) zero() bool { return e.given && e.Raw == 0 && e.std == 0 }

// UnmarshalYAML reads the two forms.
func (e *Epsilon) UnmarshalYAML(node ast.Node) error {
	e.given = node.Type() != ast.NullType
	if err := yaml.NodeToValue(node, &e.Raw); err == nil {
		return nil
	}
	var form struct {
		Std *float64 `yaml:"std"`
	}
	if err := yaml.NodeToValue(node, &form, yaml.Strict()); err != nil || form.Std == nil {
		return fault(node, "epsilon: want a number in the target's units, or {std: number}")
	}
	e.std = *form.Std
	return nil
}

// parseEpsilon reads the flag's form: a number, or a number followed by "std".
func parseEpsilon(s string) (Epsilon, error) {
	number, inStd := strings.CutSuffix(s, "std")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil:
		return Epsilon{}, fmt.Errorf("%q: want a number in the target's units, or a number of standard deviations as in 0.6std", s)
	case inStd:
		return Epsilon{std: x, given: true}, nil
	default:
		return Epsilon{Raw: x, given: true}, nil
	}
}

// positive reads a number above 0.
func positive(node ast.Node) (float64, error) {
	var x float64
	if err := yaml.NodeToValue(node, &x); err != nil || !(x > 0) {
		return 0, fault(node, "want a number above 0")
	}
	return x, nil
}

// OneOrMore is a number or a list of numbers.
type OneOrMore []int

// UnmarshalYAML reads the two forms.
func (o *OneOrMore) UnmarshalYAML(node ast.Node) error {
	nodes := []ast.Node{node}
	if list, ok := node.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	*o = nil
	if len(nodes) == 0 {
		return fault(node, "want a whole number or a list of whole numbers; leave the key out for the default")
	}
	var faults []error
	for _, n := range nodes {
		v, err := wholeNumber(n, false)
		if err != nil {
			faults = append(faults, fault(n, "want a whole number or a list of whole numbers"))
			continue
		}
		*o = append(*o, int(v))
	}
	return errors.Join(faults...)
}

const WantTime = "want a time such as 90s, 15m or 2h"

// Duration is a time with its unit: a plain number would be taken for seconds by
// its writer and for nanoseconds by Go.
type Duration time.Duration

// UnmarshalYAML reads the time.
func (s *Duration) UnmarshalYAML(node ast.Node) error {
	var text string
	err := yaml.NodeToValue(node, &text)
	d, parsed := time.ParseDuration(text)
	if err != nil || parsed != nil {
		return fault(node, WantTime)
	}
	*s = Duration(d)
	return nil
}

// Size is a number of bytes with an optional unit: 512MiB, 2GB.
type Size int64

const sizeUnits = `B|[KMGT]i?B`

var sizePattern = regexp.MustCompile(`^([0-9]+) *(|` + sizeUnits + `)$`)

// UnmarshalYAML reads the size.
func (b *Size) UnmarshalYAML(node ast.Node) error {
	var s string
	if err := yaml.NodeToValue(node, &s); err != nil {
		return fault(node, "want a size such as 512MiB")
	}
	size, err := ParseSize(s)
	if err != nil {
		return fault(node, err.Error())
	}
	*b = size
	return nil
}

// fault is an error at a place in the job file.
func fault(node ast.Node, text string) error {
	return &yaml.SyntaxError{Message: text, Token: node.GetToken()}
}

func ParseSize(s string) (Size, error) {
	m := sizePattern.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no size: want for instance 512MiB or 2GB", s)
	}
	n, err := strconv.ParseInt(m[1], 10, 40)
	if err != nil {
		return 0, fmt.Errorf("%q is no size: the number is too large", s)
	}
	if n == 0 {
		return 0, fmt.Errorf("%q is no memory; leave it out for the default", s)
	}
	if m[2] == "" {
		return 0, fmt.Errorf("%q has no unit: write %sMiB if that is meant, or %sB", s, s, s)
	}
	base := int64(1000)
	if strings.Contains(m[2], "i") {
		base = 1024
	}
	if unit := strings.TrimRight(m[2], "iB"); unit != "" {
		for range strings.Index("KMGT", unit) + 1 {
			if n > math.MaxInt64/base {
				return 0, fmt.Errorf("%q is no size: the number is too large", s)
			}
			n *= base
		}
	}
	return Size(n), nil
}
