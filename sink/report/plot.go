package report

import (
	"fmt"
	"image/color"
	"math"
)

// A panel is one plot of a figure.
type panel struct {
	title string
	x, y  axis
	marks []mark
	left  bool // the legend, which is right otherwise
}

// An axis goes from lo to hi, both in its own unit.
type axis struct {
	label  string
	lo, hi float64
	ticks  []tick
	grid   bool // has a line at each tick
}

type tick struct {
	at   float64
	text string
}

// A mark is dots if it has a radius, a line if it has a width, and an area otherwise.
type mark struct {
	name          string // in the legend
	color         color.Color
	at            []xy // in the units of the axes
	radius, width float64
	dashes        []float64
}

func (m mark) draw(c *canvas, at []xy) {
	switch {
	case m.radius > 0:
		for _, p := range at {
			c.fill(m.color, disc(p, m.radius))
		}
	case m.width > 0:
		c.fill(m.color, line(at, m.width, m.dashes...)...)
	default:
		c.fill(m.color, at)
	}
}

// share returns the place of x on the axis, from 0 to 1.
func (a axis) share(x float64) float64 {
	if s := (x - a.lo) / (a.hi - a.lo); s >= 0 { // written so that NaN is at 0
		return min(s, 1)
	}
	return 0
}

var (
	headline = lettering{size: 14, color: ink, heavy: true}
	subtitle = lettering{size: 9.5, color: slate}
	caption  = lettering{size: 10.5, color: ink, heavy: true}
	label    = lettering{size: 9.5, color: ink}
	number   = lettering{size: 9, color: ink}
)

// draw draws the panel between two corners.
func (p panel) draw(c *canvas, from, to xy) {
	room, numbers := to.X-from.X, 0.0
	c.write(caption, p.title, xy{from.X, from.Y + 10}, 0, room)
	from.Y += 18
	if p.y.label != "" {
		c.write(label, p.y.label, xy{from.X, from.Y + 8}, 0, room)
		from.Y += 16
	}
	for _, t := range p.y.ticks {
		numbers = max(numbers, c.length(number, t.text))
	}
	from.X, to.X = from.X+min(numbers, room/2)+6, to.X-8
	c.write(label, p.x.label, xy{(from.X + to.X) / 2, to.Y - 3}, 0.5, to.X-from.X)
	to.Y -= 30
	place := func(at xy) xy {
		return xy{from.X + p.x.share(at.X)*(to.X-from.X), to.Y - p.y.share(at.Y)*(to.Y-from.Y)}
	}
	for _, t := range p.x.ticks {
		x := place(xy{t.at, p.y.lo}).X
		if p.x.grid {
			c.fill(rule, line([]xy{{x, from.Y}, {x, to.Y}}, 0.7)...)
		}
		c.fill(faint, line([]xy{{x, to.Y}, {x, to.Y + 3}}, 0.6)...)
		c.write(number, t.text, xy{x, to.Y + 12}, 0.5, room/2)
	}
	for _, t := range p.y.ticks {
		y := place(xy{p.x.lo, t.at}).Y
		if p.y.grid {
			c.fill(rule, line([]xy{{from.X, y}, {to.X, y}}, 0.7)...)
		}
		c.fill(faint, line([]xy{{from.X - 3, y}, {from.X, y}}, 0.6)...)
		c.write(number, t.text, xy{from.X - 5, y + 3}, 1, room/2)
	}
	c.fill(faint, line([]xy{from, {from.X, to.Y}, to}, 0.6)...)
	for _, m := range p.marks {
		var at []xy
		for _, q := range m.at {
			at = append(at, place(q))
		}
		m.draw(c, at)
	}
	p.legend(c, from, to)
}

// legend draws a line for each mark with a name.
func (p panel) legend(c *canvas, from, to xy) {
	const thumb = 18
	x, words, align := to.X-4-thumb, to.X-8-thumb, 1.0
	if p.left {
		x, words, align = from.X+6, from.X+10+thumb, 0
	}
	y := from.Y + 9
	for _, m := range p.marks {
		if m.name == "" {
			continue
		}
		sample := []xy{{x, y}, {x + thumb, y}}
		switch {
		case m.radius > 0:
			sample = []xy{{x + thumb/2, y}}
		case m.width == 0:
			sample = []xy{{x, y - 4}, {x, y + 4}, {x + thumb, y + 4}, {x + thumb, y - 4}}
		}
		m.draw(c, sample)
		c.write(number, m.name, xy{words, y + 3}, align, to.X-from.X-thumb)
		y += 11.5
	}
}

// ticks returns about n round numbers from lo to hi, with as many digits as their distance needs.
func ticks(n int, lo, hi float64) []tick {
	raw := (hi - lo) / float64(n)
	if !(raw > 0) || math.IsInf(raw, 0) {
		return []tick{{lo, fmt.Sprintf("%g", lo)}}
	}
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * unit
	for _, s := range []float64{1, 2, 5} {
		if s*unit >= raw {
			step = s * unit
			break
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var marks []tick
	for i := math.Ceil(lo / step); i*step <= hi+1e-9*step && len(marks) < 4*n; i++ {
		marks = append(marks, tick{i * step, rounded(i*step, digits)})
	}
	return marks
}

func rounded(x float64, digits int) string {
	if x == 0 {
		return "0" // not −0
	}
	if s := fmt.Sprintf("%.*f", min(digits, 12), x); len(s) <= 8 {
		return s
	}
	return fmt.Sprintf("%.3g", x)
}
