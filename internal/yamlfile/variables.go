package yamlfile

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// ${VAR} in a value stands for a variable of the environment. It is replaced after parsing, so that
// its value can neither become a key nor end a string. A value without quotes has the type of its
// whole text: ${DELTA} may be a number.

// Before parsing, marks replace the signs ${ and } of a variable, which YAML would read as braces.
// They have the same length, so that columns do not change.
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
	if !utf8.Valid(text) || bytes.ContainsAny(text, "\x00"+marks) {
		return "", errors.New("it is not UTF-8, or holds a NUL byte, U+E000 or U+E001; is it a " + k.Name + " file?")
	}
	return string(variable.ReplaceAll(text, []byte(openMark+openMark+"${1}"+closeMark))), nil
}

// substituted returns a value with its variables replaced, or null and a fault if one is missing.
func (t *File) substituted(key string, node ast.Node) ast.Node {
	if block, ok := node.(*ast.LiteralNode); ok && strings.Contains(block.Value.Value, openMark) {
		t.report(Fault{Key: key, Text: "variables belong in values of one line", unread: true}, node.GetToken())
		return ast.Null(node.GetToken())
	}
	scalar, ok := node.(*ast.StringNode)
	if !ok || !strings.Contains(scalar.Value, openMark) {
		return node
	}
	fault := ""
	value := marked.ReplaceAllStringFunc(scalar.Value, func(m string) string {
		name := strings.Trim(m, marks)
		value, ok := t.lookup(name)
		switch {
		case !ok:
			fault = "the environment has no variable " + name
		case !utf8.ValidString(value) || strings.ContainsAny(value, marks):
			fault = "the value of the variable " + name + " is not UTF-8 text"
		}
		return value
	})
	if fault != "" {
		t.report(Fault{Key: key, Text: fault, unread: true}, scalar.Token)
		return ast.Null(scalar.Token)
	}
	scalar.Value, scalar.Token.Value = value, value
	if scalar.Token.Type != token.StringType {
		return scalar // in quotes
	}
	switch typed := token.New(value, value, scalar.Token.Position); typed.Type {
	case token.IntegerType, token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType, token.FloatType,
		token.BoolType, token.NullType, token.InfinityType, token.NanType:
		if tree, err := parser.Parse(token.Tokens{typed}, 0); err == nil && len(tree.Docs) == 1 && tree.Docs[0].Body != nil {
			return tree.Docs[0].Body
		}
	default: // text, whatever its form
	}
	return scalar
}
