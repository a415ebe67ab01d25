package yamlfile

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
	"github.com/goccy/go-yaml/token"
)

// Paths is a path or a list of some: files, folders and patterns.
type Paths []string

// UnmarshalYAML reads the two forms. The library would take nothing for "", which is the
// folder of the file, and a number for its digits.
func (p *Paths) UnmarshalYAML(node ast.Node) (err error) {
	*p, err = OneOrList(node, "want a path or a list of paths; one that looks like a number needs quotes", func(one ast.Node) (path string, ok bool) {
		switch one.(type) {
		case *ast.StringNode, *ast.LiteralNode:
			err := yaml.NodeToValue(one, &path)
			return path, err == nil && path != ""
		}
		return "", false
	})
	return err
}

// Names is a text or a list of texts.
type Names []string

// UnmarshalYAML reads the two forms.
func (n *Names) UnmarshalYAML(node ast.Node) (err error) {
	*n, err = OneOrList(node, "want a name or a list of names", func(one ast.Node) (string, bool) {
		text, ok := one.(*ast.StringNode)
		if !ok {
			return "", false
		}
		return text.Value, true
	})
	return err
}

// Ints is a number or a list of numbers.
type Ints []int

// UnmarshalYAML reads the two forms.
func (o *Ints) UnmarshalYAML(node ast.Node) (err error) {
	const want = "want a whole number or a list of whole numbers"
	*o, err = OneOrList(node, want, func(one ast.Node) (int, bool) {
		v, err := WholeNumber(one, false)
		return int(v), err == nil
	})
	if err == nil && len(*o) == 0 {
		err = At(node, want+"; leave the key out for the default")
	}
	return err
}

// OneOrList reads a value or a list of some. want is what those are told that read refuses.
func OneOrList[T any](node ast.Node, want string, read func(ast.Node) (T, bool)) ([]T, error) {
	nodes := []ast.Node{node}
	if list, ok := node.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	values := []T{}
	var faults []error
	for _, one := range nodes {
		value, ok := read(one)
		if !ok {
			faults = append(faults, At(one, want))
			continue
		}
		values = append(values, value)
	}
	return values, errors.Join(faults...)
}

// WantTime is the message about a value that is no time.
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
		return At(node, WantTime)
	}
	*s = Duration(d)
	return nil
}

// Size is a number of bytes with an optional unit: 512MiB, 2GB.
type Size int64

// SizeUnits is a pattern of the units of a [Size].
const SizeUnits = `B|[KMGT]i?B`

var sizePattern = regexp.MustCompile(`^([0-9]+) *(|` + SizeUnits + `)$`)

// UnmarshalYAML reads the size.
func (b *Size) UnmarshalYAML(node ast.Node) error {
	var s string
	if err := yaml.NodeToValue(node, &s); err != nil {
		return At(node, "want a size such as 512MiB")
	}
	size, err := ParseSize(s)
	if err != nil {
		return At(node, err.Error())
	}
	*b = size
	return nil
}

// At is an error at a position in the file.
func At(node ast.Node, text string) error { return atToken(node.GetToken(), text) }

func atToken(t *token.Token, text string) error { return &yaml.SyntaxError{Message: text, Token: t} }

// ParseSize reads a number of bytes with its unit.
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
