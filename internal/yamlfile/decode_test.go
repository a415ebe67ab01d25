package yamlfile

import (
	"testing"

	"github.com/goccy/go-yaml/parser"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A whole number is what a person reads there, or a fault.
func TestWholeNumbers(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "-3": -3, "+4": 4, "1000": 1000, "1_000": 1000, "2_000_000": 2e6, "-12_345": -12345,
		"010": -1, "1_0": -1, "1__000": -1, "_000": -1, "1_000_": -1, "0_001": -1, "1000_000": -1, "0x10": -1, "1e3": -1, "1.0": -1, "'7'": -1,
	} {
		file, err := parser.ParseBytes([]byte(text), 0)
		fatal.If(t, err)
		got, err := WholeNumber(file.Docs[0].Body, false)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%s is read as %d (%v), want %d", text, got, err, want)
		}
	}
}
