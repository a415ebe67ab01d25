package report

import (
	"bytes"
	"image/color"
	"image/png"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Groups replace the plot of training: two dots for each group that says something.
func TestGroupsAreDrawn(t *testing.T) {
	f := testFigure(t)
	var without, with bytes.Buffer
	fatal.If(t, f.WritePNG(&without))
	f.Certificate.Grouping = &certify.Grouping{Column: "b", Values: []float64{0, 1}}
	f.Certificate.Claims = append(f.Certificate.Claims, certify.Claim{
		ID: certify.ClaimGroups, Status: certify.StatusCertified,
		Groups: []certify.Group{{N: 200, Misses: 20, Bound: 0.17}, {N: 90, Misses: 3, Bound: 0.12}, {N: 4, Bound: 1}},
	})
	fatal.If(t, f.WritePNG(&with))
	drawn := colours(t, with.Bytes())
	if bytes.Equal(with.Bytes(), without.Bytes()) || !drawn[green] || !drawn[blue] {
		t.Errorf("the groups are not drawn: %v", drawn)
	}
}

// colours returns the colours of a picture's pixels.
func colours(t *testing.T, file []byte) map[color.NRGBA]bool {
	picture, err := png.Decode(bytes.NewReader(file))
	fatal.If(t, err)
	all := map[color.NRGBA]bool{}
	for x := range picture.Bounds().Dx() {
		for y := range picture.Bounds().Dy() {
			all[color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)] = true
		}
	}
	return all
}
