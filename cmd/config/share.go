package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// A Share is a probability, or a difference of two, as in 0.01 or 1 %.
type Share float64

const wantShare = "want a number, as in 0.01 or 1 %"

// UnmarshalYAML reads the two forms.
func (s *Share) UnmarshalYAML(node ast.Node) error {
	if err := yaml.NodeToValue(node, (*float64)(s)); err == nil {
		return nil
	}
	share, _, err := shareAt(node)
	if err != nil {
		return yamlfile.At(node, wantShare)
	}
	*s = Share(share)
	return nil
}

// Set reads the two forms from a flag.
func (s *Share) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		x, err = shareOf(text)
	}
	if err != nil {
		return errors.New(wantShare)
	}
	*s = Share(x)
	return nil
}

// String is the default of a flag, which has none.
func (s *Share) String() string { return "" }

// Type is the kind of value in the help of a flag.
func (s *Share) Type() string { return "share" }

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
