package yamlfile

import (
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

// Form refuses "", for which the library would take the folder of the file, and numbers, for which it would
// take their digits.
func (p *Paths) Form() (Form, string) {
	return OneOrMore((*[]string)(p), "want a path or a list of paths; one that could be a number needs quotes", func(to *string) Form {
		return Accept(Schema{"type": "string", "minLength": 1}, func(one ast.Node) bool {
			switch one.(type) {
			case *ast.StringNode, *ast.LiteralNode:
				return yaml.NodeToValue(one, to) == nil && *to != ""
			}
			return false
		})
	})
}

// Names is a text or a list of texts.
type Names []string

// Form is one or more texts.
func (n *Names) Form() (Form, string) {
	return OneOrMore((*[]string)(n), "want a name or a list of names", Text[string])
}

// Ints is a number or a list of numbers.
type Ints []int

// Form is one or more whole numbers.
func (o *Ints) Form() (Form, string) {
	return OneOrMore((*[]int)(o), "want a whole number or a list of whole numbers", Int)
}

// Int is a whole number.
func Int(to *int) Form {
	return Accept(Schema{"type": "integer"}, func(node ast.Node) bool {
		v, err := WholeNumber(node, false)
		*to = int(v)
		return err == nil
	})
}

// Duration is a time with its unit: a plain number would be taken for seconds by
// its writer and for nanoseconds by Go.
type Duration time.Duration

// Form is a time that is not negative.
func (s *Duration) Form() (Form, string) {
	pattern := Schema{"type": "string", "pattern": `^[+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`}
	return Form{pattern, func(node ast.Node) error {
		var text string
		err := yaml.NodeToValue(node, &text)
		d, parsed := time.ParseDuration(text)
		switch *s = Duration(d); {
		case err != nil || parsed != nil:
			return ErrOther
		case d < 0:
			return At(node, d.String()+" is negative")
		}
		return nil
	}}, "want a time such as 90s, 15m or 2h"
}

// Size is a number of bytes with an optional unit: 512MiB, 2GB.
type Size int64

const sizeUnits = `B|[KMGT]i?B`

var sizePattern = regexp.MustCompile(`^([0-9]+) *(|` + sizeUnits + `)$`)

// Form is a size.
func (b *Size) Form() (Form, string) {
	pattern := Schema{"type": "string", "pattern": `^[0-9]*[1-9][0-9]* *(` + sizeUnits + `)$`}
	return Form{pattern, func(node ast.Node) error {
		var s string
		if yaml.NodeToValue(node, &s) != nil {
			return ErrOther
		}
		if err := b.Set(s); err != nil {
			return At(node, err.Error())
		}
		return nil
	}}, "want a size such as 512MiB"
}

// Set reads a size from a flag.
func (b *Size) Set(text string) (err error) {
	*b, err = parseSize(text)
	return err
}

// At is an error at a position in the file.
func At(node ast.Node, text string) error { return atToken(node.GetToken(), text) }

func atToken(t *token.Token, text string) error { return &yaml.SyntaxError{Message: text, Token: t} }

// parseSize reads a number of bytes with its unit.
func parseSize(s string) (Size, error) {
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
