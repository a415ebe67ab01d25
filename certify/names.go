package certify

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Identifiers of the row rules. Claims are about rows that satisfy all of them.
const (
	RowRulePresent  = "values-present"
	RowRuleFinite   = "values-finite"
	RowRuleIntegers = "integers-exact"
)

// RowRules returns the rules in their order.
func RowRules() []string { return []string{RowRulePresent, RowRuleFinite, RowRuleIntegers} }

// Greatest lengths, in characters, of words that the publisher chooses.
const (
	maxColumnName = 128
	maxUnitName   = 24
)

// ColumnName returns an error unless a column's name has 1 to 128 printable characters, no quotes and no
// backslash. Messages quote the name, so it must not close the quotes.
func ColumnName(name string) error { return word("column name", name, maxColumnName) }

// UnitName returns an error unless a unit's name has 1 to 24 letters, digits and signs of units, no space, and
// no letter of a right-to-left script. A unit follows a number, and must not read like a part of the sentence.
func UnitName(unit string) error {
	if err := word("unit", unit, maxUnitName); err != nil {
		return err
	}
	for _, r := range unit {
		switch {
		case fromTheRight.has(r):
			return fmt.Errorf("unit %q holds %q, of a script that runs from the right", unit, r)
		case !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Sc) && !strings.ContainsRune(unitSigns, r):
			return fmt.Errorf("unit %q holds %q: a unit has letters, digits and signs of units (%s)", unit, r, unitSigns)
		}
	}
	return nil
}

// unitSigns are allowed in a unit in addition to letters, digits and signs of currencies.
const unitSigns = "%‰°′″/·⋅×*^+-−⁺⁻.()"

// blocks are ranges of characters, both ends included. Unlike tables of package unicode, they do not depend on
// the version of Unicode.
type blocks [][2]rune

func (b blocks) has(r rune) bool {
	return slices.ContainsFunc(b, func(block [2]rune) bool { return block[0] <= r && r <= block[1] })
}

var (
	// fromTheRight are the blocks of right-to-left scripts.
	fromTheRight = blocks{{0x590, 0x8FF}, {0xFB1D, 0xFDFF}, {0xFE70, 0xFEFF}, {0x10800, 0x10FFF}, {0x1E800, 0x1EFFF}}
	// inkless characters are printed as nothing visible.
	inkless = blocks{{0x34F, 0x34F}, {0x115F, 0x1160}, {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x2800, 0x2800}, {0x3164, 0x3164}, {0xFE00, 0xFE0F}, {0xFFA0, 0xFFA0}, {0xE0100, 0xE01EF}}
)

// Name returns an error unless the name of what is stated has the form of [ColumnName].
func Name(what, name string) error { return word(what, name, maxColumnName) }

// lookalikes are characters that look much like a quotation mark.
var lookalikes = []rune("`´ʹʺʻʼʽˊˋ˝ˮ׳״′″‴‵‶‷〃ʾʿ＂＇｀❛❜❝❞❟❠🙶🙷🙸ᐦᑊ˵˶ꞌ՚՛᳓ߴߵ⁗᾽᾿῾\u1fef\u1ffd΄¨Ꞌ")

// word returns an error for an empty or long word, and for characters that could change the sentence around it: quotes
// and their lookalikes, backslashes, and invisible ones (control, bidi, separators other than the plain space).
func word(what, s string, longest int) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s %q is not UTF-8", what, s)
	}
	if n := utf8.RuneCountInString(s); n < 1 || n > longest {
		return fmt.Errorf("%s %.200q has %d characters, want 1 to %d", what, s, n, longest)
	}
	before := ' '
	for _, r := range s {
		switch {
		case !unicode.IsPrint(r) || inkless.has(r):
			return fmt.Errorf("%s %q holds %U, an invisible character: remove it", what, s, r)
		case r == '\\' || unicode.Is(unicode.Quotation_Mark, r) || slices.Contains(lookalikes, r):
			return fmt.Errorf("%s %q holds %q: quotes and backslashes are not allowed", what, s, r)
		case unicode.Is(unicode.Me, r) || unicode.IsMark(r) && !unicode.IsLetter(before) && !unicode.IsMark(before):
			return fmt.Errorf("%s %q holds %U, a mark that combines with what is no letter", what, s, r)
		}
		before = r
	}
	return nil
}

// List joins names with commas, as in "a, b".
func List[S ~string](names []S) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = string(name)
	}
	return strings.Join(all, ", ")
}
