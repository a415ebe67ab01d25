package report

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// resolution is in dots an inch, and dot the dots of a point.
const (
	resolution = 110
	dot        = resolution / 72.0
)

// An xy is a place: on a canvas in points, right of and below its upper left corner, or in the units
// of two axes.
type xy struct{ X, Y float64 }

// A canvas is a picture on white.
type canvas struct {
	picture *image.RGBA
	shape   vector.Rasterizer
	regular *opentype.Font
	heavy   *opentype.Font
}

func newCanvas(width, height float64) (*canvas, error) {
	regular, err1 := opentype.Parse(liberationsansregular.TTF)
	heavy, err2 := opentype.Parse(liberationsansbold.TTF)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("report: fonts of the figure: %w", err)
	}
	picture := image.NewRGBA(image.Rect(0, 0, int(width*dot), int(height*dot)))
	draw.Draw(picture, picture.Bounds(), image.White, image.Point{}, draw.Src)
	return &canvas{picture: picture, regular: regular, heavy: heavy}, nil
}

// fill paints areas once, also where they overlap. All have the same sense of rotation.
func (c *canvas) fill(col color.Color, areas ...[]xy) {
	var box image.Rectangle
	for _, area := range areas {
		for _, p := range area {
			x, y := int(p.X*dot), int(p.Y*dot)
			box = box.Union(image.Rect(x, y, x+1, y+1))
		}
	}
	box = box.Intersect(c.picture.Bounds())
	c.shape.Reset(box.Dx(), box.Dy())
	for _, area := range areas {
		for i, p := range area {
			x, y := float32(p.X*dot-float64(box.Min.X)), float32(p.Y*dot-float64(box.Min.Y))
			if i == 0 {
				c.shape.MoveTo(x, y)
			} else {
				c.shape.LineTo(x, y)
			}
		}
		c.shape.ClosePath()
	}
	c.shape.Draw(c.picture, box, image.NewUniform(col), image.Point{})
}

// disc returns the area of a disc.
func disc(at xy, radius float64) []xy {
	var edge []xy
	for i := range 24 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / 24)
		edge = append(edge, xy{at.X + radius*cos, at.Y + radius*sin})
	}
	return edge
}

// line returns the areas of a line through places. Lengths of a dash and of a gap make it dashed.
func line(path []xy, width float64, dashes ...float64) [][]xy {
	var areas [][]xy
	var mx, my float64 // normal before
	for i := 1; i < len(path); i++ {
		a, b := path[i-1], path[i]
		long := math.Hypot(b.X-a.X, b.Y-a.Y)
		if long == 0 {
			continue
		}
		ux, uy := (b.X-a.X)/long, (b.Y-a.Y)/long
		nx, ny := -uy*width/2, ux*width/2
		if mx*ny > my*nx { // the wedge outside of the bend
			areas = append(areas, []xy{a, {a.X - nx, a.Y - ny}, {a.X - mx, a.Y - my}})
		} else {
			areas = append(areas, []xy{a, {a.X + mx, a.Y + my}, {a.X + nx, a.Y + ny}})
		}
		mx, my = nx, ny
		on, period := long, long
		if len(dashes) == 2 {
			on, period = dashes[0], dashes[0]+dashes[1]
		}
		for from := 0.0; from < long; from += period {
			to := min(from+on, long)
			areas = append(areas, []xy{
				{a.X + from*ux + nx, a.Y + from*uy + ny},
				{a.X + to*ux + nx, a.Y + to*uy + ny},
				{a.X + to*ux - nx, a.Y + to*uy - ny},
				{a.X + from*ux - nx, a.Y + from*uy - ny},
			})
		}
	}
	return areas
}

// A lettering is the look of words.
type lettering struct {
	size  float64 // points
	color color.Color
	heavy bool
}

func (c *canvas) face(l lettering) font.Face {
	f := c.regular
	if l.heavy {
		f = c.heavy
	}
	options := opentype.FaceOptions{Size: l.size, DPI: resolution}
	face, _ := opentype.NewFace(f, &options) // it has no errors
	return face
}

// length returns the points that words take.
func (c *canvas) length(l lettering, words string) float64 {
	return float64(font.MeasureString(c.face(l), words)) / 64 / dot
}

// write writes a line of text with its base at a place: from there on (align 0), around it (0.5) or
// up to it (1), smaller if it would be longer than room.
func (c *canvas) write(l lettering, words string, at xy, align, room float64) {
	if long := c.length(l, words); long > room {
		l.size = max(l.size*room/long, 4)
	}
	at.X -= align * c.length(l, words)
	(&font.Drawer{
		Dst: c.picture, Src: image.NewUniform(l.color), Face: c.face(l),
		Dot: fixed.Point26_6{X: fixed.Int26_6(at.X * dot * 64), Y: fixed.Int26_6(at.Y * dot * 64)},
	}).DrawString(words)
}
