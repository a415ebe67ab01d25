package lake

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/ingest"
)

// typeNames are the types that name their columns in one word, or are timestamps.
var typeNames = []string{
	"double", "float", "float16", "boolean", "text", "date",
	"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
	"timestamp(ms)", "timestamp(us)", "timestamp(ns)", "timestamp(INT96)",
}

// arrowNames are those of Arrow files, where they are others.
var arrowNames = []string{"float64", "float32", "bool", "utf8", "large_utf8", "binary", "large_binary", "date32", "date64", "null"}

// longName is the form of types with digits, and of those in several words, which nobody guesses.
var longName = regexp.MustCompile(`^decimal\(\d+, ?\d+\)( .*)?$|^[a-z_0-9]+[ \[<]|^[a-z]+(\(\w+\))? stored as |_interval$`)

// CheckType returns an error that lists the types for a name that is the type of no column.
func CheckType(name string) error {
	if slices.Contains(typeNames, name) || slices.Contains(arrowNames, name) || longName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("no column has the type %q%s (hint: take %s, decimal(DIGITS,PLACES), or the words of the message about a difference; in Arrow files %s)",
		name, ingest.DidYouMean(name, typeNames), strings.Join(typeNames, ", "), strings.Join(arrowNames, ", "))
}
