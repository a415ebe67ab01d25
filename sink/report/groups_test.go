package report

import (
	"bytes"
	"image/png"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Groups replace the plot of training: two dots for each group that says something.
func TestGroupsAreDrawn(t *testing.T) {
	f := Figure{Title: "Groups", Bound: 0.1, Baseline: 0.5}
	var without, with bytes.Buffer
	fatal.If(t, f.WritePNG(&without))
	f.Groups = &certify.Groups{Grouping: certify.Grouping{Column: "b", Values: []float64{0, 1}}, Each: []certify.Group{{N: 200, Misses: 20, Bound: 0.17}, {N: 90, Misses: 3, Bound: 0.12}, {N: 4, Bound: 1}}}
	fatal.If(t, f.WritePNG(&with))
	picture, err := png.Decode(bytes.NewReader(with.Bytes()))
	fatal.If(t, err)
	dots := map[string]bool{}
	for x := range picture.Bounds().Dx() {
		for y := range picture.Bounds().Dy() {
			switch r, g, b, _ := picture.At(x, y).RGBA(); [3]uint32{r >> 8, g >> 8, b >> 8} {
			case [3]uint32{0x00, 0x7d, 0x5a}:
				dots["bound"] = true
			case [3]uint32{0x00, 0x5f, 0x9e}:
				dots["missed"] = true
			}
		}
	}
	if bytes.Equal(with.Bytes(), without.Bytes()) || !dots["bound"] || !dots["missed"] {
		t.Errorf("the groups are not drawn: %v", dots)
	}
}
