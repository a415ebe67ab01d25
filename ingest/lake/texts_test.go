package lake

import (
	"errors"
	"slices"
	"testing"
)

// TestTextsEnd: texts are compared as they are, and those that claim more bytes than there are
// end in an error.
func TestTextsEnd(t *testing.T) {
	const some = "\x04\x00\x00\x00rows\x00\x00\x00\x00\x05\x00\x00\x00rows \x04\x00\x00\x00rows"
	c := &column{kind: kindText, text: "rows"}
	got := make([]float64, 4)
	if n, err := c.texts(got, []byte(some)); err != nil || n != len(some) || !slices.Equal(got, []float64{1, 0, 0, 1}) {
		t.Errorf("%v in %d bytes: %v", got, n, err)
	}
	for n := range len(some) {
		if _, err := c.texts(got, []byte(some[:n])); !errors.Is(err, errFewValues) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
	if _, err := c.texts(got[:1], []byte("\xff\xff\xff\xffrows")); !errors.Is(err, errFewValues) {
		t.Errorf("a text of 4 GiB: %v", err)
	}
}
