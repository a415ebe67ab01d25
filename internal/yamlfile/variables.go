package yamlfile

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// ${VAR} in a value stands for a variable of the environment. The
// file is taken apart before there are values, so that a value is always a part of
// one scalar: what it holds can neither be a key nor end a string. A scalar without
// quotes has the type that its whole text has, so that ${DELTA} may be a number.

// An opening and a closing mark stand in for the signs of a variable, which YAML
// would take for braces. They are as long, so that columns stay.
const (
	openMark  = "\uE000"
	closeMark = "\uE001"
	marks     = openMark + closeMark
)

var (
	variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	marked   = regexp.MustCompile(openMark + openMark + `([A-Za-z0-9_]+)` + closeMark)
)

// mark replaces the signs of variables by marks.
func (k Kind) mark(text []byte) (string, error) {
	if !utf8.Valid(text) {
		return "", errors.New("it is not UTF-8; is it a " + k.Name + " file?")
	}
	if before, _, found := strings.Cut(string(text), "\x00"); found {
		return "", atToken(&token.Token{Position: &token.Position{
			Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1,
		}}, "it holds a NUL byte; is it a "+k.Name+" file?")
	}
	if strings.ContainsAny(string(text), marks) {
		return "", errors.New("it holds U+E000 or U+E001, which are nobody's characters")
	}
	return string(variable.ReplaceAll(text, []byte(openMark+openMark+"${1}"+closeMark))), nil
}

// origins are the variables of which the scalars of a file are made, by line
// and column, as they are in the file.
type origins map[[2]int]string

func (o origins) of(t *token.Token) string {
	if t == nil || t.Position == nil {
		return ""
	}
	return o[[2]int{t.Position.Line, t.Position.Column}]
}

// under are the variables that a part of a file is made of, "" if there is none.
func (o origins) under(node ast.Node) string {
	if node == nil || len(o) == 0 {
		return ""
	}
	found := &originFinder{from: o}
	ast.Walk(found, node)
	return strings.Join(found.all, ", ")
}

type originFinder struct {
	from origins
	all  []string
}

// Visit looks at the scalars of a part.
func (f *originFinder) Visit(node ast.Node) ast.Visitor {
	if name := f.from.of(node.GetToken()); name != "" && !slices.Contains(f.all, name) {
		f.all = append(f.all, name)
	}
	return f
}

// Refused is the fault of a value that is made of variables. The value is not in it,
// for it may be secret, and what a number or a time is printed as is not how its
// variable has it.
func (k Kind) Refused(variables string) string {
	return variables + " is refused; values of the environment are not shown, " + k.Page + " says what the key takes"
}

// substitute puts the values of variables into the scalars that name them. One that
// names a variable which is not there is a fault, and then says nothing.
func (t *File) substitute(tokens token.Tokens, lookup func(string) (string, bool)) {
	for _, scalar := range tokens {
		if !strings.Contains(scalar.Value, openMark) || scalar.Type == token.CommentType || scalar.Next != nil && scalar.Next.Type == token.MappingValueType {
			continue
		}
		at := [2]int{scalar.Position.Line, scalar.Position.Column}
		missing := false
		value := marked.ReplaceAllStringFunc(scalar.Value, func(m string) string {
			name := strings.Trim(m, marks)
			t.from[at] += "${" + name + "}"
			value, ok := lookup(name)
			text := ""
			switch {
			case !ok:
				text = "the environment has no variable " + name
			case !utf8.ValidString(value) || strings.ContainsAny(value, marks):
				text = "the value of the variable " + name + " is no text"
			}
			if text != "" {
				missing = true
				t.tell(Fault{Text: text, unread: true}, scalar)
				return ""
			}
			return value
		})
		scalar.Value = value
		switch {
		case missing:
			scalar.Value, scalar.Origin, scalar.Type, scalar.CharacterType, scalar.Indicator = "null", "null", token.NullType, token.CharacterTypeMiscellaneous, token.NotIndicator
			continue
		case scalar.Type != token.StringType:
			continue // in quotes, or a block
		}
		switch typed := token.New(value, scalar.Origin, scalar.Position); typed.Type {
		case token.IntegerType, token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType, token.FloatType,
			token.BoolType, token.NullType, token.InfinityType, token.NanType:
			scalar.Type, scalar.CharacterType, scalar.Indicator = typed.Type, typed.CharacterType, typed.Indicator
		default: // text, whatever it looks like
		}
	}
}
