package main

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/pacsgp/pacsgp/bench/measured"
)

// changeDay is the day of the change in the picture.
const changeDay = 92

// An evidence is what rows say against a bound, day by day.
type evidence struct {
	name   string
	points plotter.XYs // days since the first, and log10 of the alarm's worth
	raised raised
}

// A figure is the evidence of one watch.
type figure struct {
	title string
	lines []evidence
}

// alarmFigure watches from the first day on, with a change at changeDay.
func alarmFigure(days []watchedDay, bound float64, change change) (f figure, err error) {
	var losses [][]uint64
	for i, d := range days {
		if i < changeDay {
			losses = append(losses, d.home)
		} else {
			losses = append(losses, change.of(d))
		}
	}
	f = figure{title: fmt.Sprintf("Evidence against a bound of %.1f %%; from day %d on %s", 100*bound, changeDay, change.name)}
	for _, unit := range []bool{false, true} {
		e := evidence{name: map[bool]string{false: "by rows", true: "by days"}[unit]}
		e.raised, err = watchDays(losses, bound, unit, func(worth float64) {
			e.points = append(e.points, plotter.XY{X: float64(len(e.points)), Y: math.Log10(worth)})
		})
		if err != nil {
			return f, err
		}
		f.lines = append(f.lines, e)
	}
	return f, nil
}

// plot draws the evidence, the threshold of the alarm and the day of the change.
func (f figure) plot() *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.title, "days since 1 July 2011", "evidence, powers of 10"
	p.Title.Padding = vg.Points(6)
	line := func(points plotter.XYs, c color.Color, dashes ...vg.Length) *plotter.Line {
		return &plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: c, Width: vg.Points(1.2), Dashes: dashes}}
	}
	grey, threshold := color.Gray{0x80}, -math.Log10(alarmDelta)
	last := 0.
	for i, e := range f.lines {
		l := line(e.points, []color.Color{color.NRGBA{0xd5, 0x5e, 0, 0xff}, color.NRGBA{0, 0x5f, 0x9e, 0xff}}[i])
		p.Add(l)
		p.Legend.Add(e.name, l)
		last = max(last, e.points[len(e.points)-1].X)
	}
	l := line(plotter.XYs{{X: 0, Y: threshold}, {X: last, Y: threshold}}, grey, vg.Points(5), vg.Points(3))
	p.Add(l, line(plotter.XYs{{X: changeDay, Y: -1}, {X: changeDay, Y: threshold}}, grey, vg.Points(1), vg.Points(3)))
	p.Legend.Add(fmt.Sprintf("alarm, at %g", 1/alarmDelta), l)
	return p
}

// save writes a picture.
func save(p *plot.Plot, path string) error {
	c := vgimg.NewWith(vgimg.UseWH(20*vg.Centimeter, 9*vg.Centimeter), vgimg.UseDPI(80))
	p.Draw(draw.New(c))
	return measured.SavePNG(path, c)
}
