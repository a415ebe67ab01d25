package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/loss"
)

var palette = []color.NRGBA{{0x1f, 0x5f, 0xa8, 0xff}, {0xc4, 0x4e, 0x1e, 0xff}, {0x3a, 0x8a, 0x4a, 0xff}, {0x7a, 0x4f, 0xa3, 0xff}}

func faint(c color.NRGBA) color.NRGBA {
	c.A = 0x30
	return c
}

// saveBoth writes panels side by side as PNG and SVG.
func saveBoth(path string, panels [][]*plot.Plot, width, height vg.Length) error {
	drawOn := func(c vg.CanvasSizer) {
		canvas := draw.New(c)
		tiles := draw.Tiles{Rows: len(panels), Cols: len(panels[0]), PadX: vg.Points(14), PadY: vg.Points(14), PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(6)}
		cells := plot.Align(panels, tiles, canvas)
		for i, line := range panels {
			for j, p := range line {
				if p != nil {
					p.Draw(cells[i][j])
				}
			}
		}
	}
	image := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(150))
	drawOn(image)
	vector := vgsvg.New(width, height)
	drawOn(vector)
	return errors.Join(store(path+".png", vgimg.PngCanvas{Canvas: image}), store(path+".svg", vector))
}

// store writes a picture to a file.
func store(path string, picture io.WriterTo) error {
	file, err := durable.Create(durable.OS{}, path)
	if err != nil {
		return err
	}
	defer file.Abort()
	if _, err := picture.WriteTo(file); err != nil {
		return err
	}
	return file.Commit()
}

// drawBars draws the bounds of a table as bars, one panel a data set and tolerance, the
// paper's numbers as marks.
func drawBars(name string, rows []row, out string) error {
	var order []string
	groups := map[string][]row{}
	for _, r := range rows {
		key := fmt.Sprintf("%s, ε = %g", r.Dataset, r.Epsilon)
		if r.ARD {
			key += ", ARD"
		}
		if _, ok := groups[key]; !ok {
			order = append(order, key)
		}
		groups[key] = append(groups[key], r)
	}
	if len(order) == 0 {
		return nil
	}
	var line []*plot.Plot
	for at, key := range order {
		p, err := barPanel(key, groups[key], at == 0)
		if err != nil {
			return err
		}
		line = append(line, p)
	}
	return saveBoth(filepath.Join(out, name), [][]*plot.Plot{line}, vg.Length(len(line))*vg.Points(230), vg.Points(300))
}

// barPanel draws the bounds of one data set and tolerance; the first panel has the words.
func barPanel(title string, rows []row, first bool) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = title
	if first {
		p.Y.Label.Text = "bound B; dark: training risk"
	}
	p.Y.Min, p.Y.Max = 0, 0
	var labels []string
	var marks plotter.XYs
	for i, r := range rows {
		label := r.Method
		if r.Alpha >= 0 {
			label += fmt.Sprintf(", α %g", r.Alpha)
		}
		if r.Method == freeForm && r.Inducing > 0 {
			label += fmt.Sprintf(", M %d", r.Inducing)
		}
		labels = append(labels, label)
		for j, v := range []float64{r.ours["B"].mean, r.ours["R_train"].mean} {
			bar, err := plotter.NewBarChart(plotter.Values{v}, vg.Points(16))
			if err != nil {
				return nil, err
			}
			bar.XMin, bar.LineStyle.Width, bar.Color = float64(i), 0, color.NRGBA{0x9c, 0xb8, 0xd8, 0xff}
			if j == 1 {
				bar.Color = palette[0]
			}
			p.Add(bar)
			p.Y.Max = max(p.Y.Max, 1.15*v)
		}
		if v := r.paper["B"].mean; !math.IsNaN(v) && r.Method != freeForm {
			marks = append(marks, plotter.XY{X: float64(i), Y: v})
			p.Y.Max = max(p.Y.Max, 1.15*v)
		}
	}
	if len(marks) > 0 {
		dots, err := plotter.NewScatter(marks)
		if err != nil {
			return nil, err
		}
		dots.Shape, dots.Color, dots.Radius = draw.CrossGlyph{}, palette[1], vg.Points(4)
		p.Add(dots)
		if first {
			p.Legend.Add("paper", dots)
			p.Legend.Top = true
		}
	}
	p.NominalX(labels...)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/5, draw.XRight, draw.YCenter
	return p, nil
}

// fitCollapsed fits rows that are in memory.
func fitCollapsed(ctx context.Context, c model.CollapsedConfig, rows model.Rows) (*model.Collapsed, *model.Posterior, error) {
	t, err := model.NewCollapsed(c, rows)
	if err != nil {
		return nil, nil, err
	}
	defer t.Close()
	for !t.Done() {
		if err := errors.Join(ctx.Err(), t.Begin()); err != nil {
			return nil, nil, err
		}
		if err := errors.Join(t.Add(rows.X, rows.Y), t.End()); err != nil {
			return nil, nil, err
		}
	}
	p, _, err := t.Result()
	return t, p, err
}

// paperConfig is the paper's protocol for one-dimensional rows.
func paperConfig(rows model.Rows, epsilon float64, inducing, evaluations int) (model.CollapsedConfig, error) {
	l, err := loss.New(loss.ZeroOne, epsilon, 0, 0, 0)
	grid := model.Grid{Min: -6, Step: 0.01, Count: 1201}
	c := model.CollapsedConfig{Evaluations: evaluations, Alpha: 1}
	c.Config = model.Config{Dim: rows.Dim, N: int64(rows.Len()), Delta: 0.01, Loss: l, Grids: []model.Grid{grid, grid}, Inducing: inducing, Workers: runtime.NumCPU()}
	return c, err
}

// snelsonRows are the rows of the one-dimensional set, every step-th of them.
func snelsonRows(ctx context.Context, o options, step int) (model.Rows, error) {
	t, err := readTable(ctx, o.data, "snelson")
	if err != nil {
		return model.Rows{}, err
	}
	rows := model.Rows{Dim: 1}
	for i := 0; i < t.Rows(); i += step {
		rows.X, rows.Y = append(rows.X, t.Columns[0][i]), append(rows.Y, t.Columns[1][i])
	}
	return rows, nil
}

// A curve is a predictive distribution on a grid of inputs.
type curve struct{ x, mean, variance []float64 }

func predict(p *model.Posterior, lo, hi float64) (curve, error) {
	const points = 300
	c := curve{make([]float64, points), make([]float64, points), make([]float64, points)}
	for i := range c.x {
		c.x[i] = lo + (hi-lo)*float64(i)/(points-1)
	}
	r, err := model.NewPredictor(p, 1)
	if err != nil {
		return c, err
	}
	defer r.Close()
	return c, r.Predict(c.x, c.mean, c.variance)
}

// addBand draws the mean and two deviations beside it.
func (c curve) addBand(p *plot.Plot, col color.NRGBA, noise float64) error {
	var mean, upper, lower plotter.XYs
	for i, x := range c.x {
		s := 2 * math.Sqrt(max(0, c.variance[i])+noise)
		mean = append(mean, plotter.XY{X: x, Y: c.mean[i]})
		upper, lower = append(upper, plotter.XY{X: x, Y: c.mean[i] + s}), append(lower, plotter.XY{X: x, Y: c.mean[i] - s})
	}
	slices.Reverse(lower)
	band, err := plotter.NewPolygon(slices.Concat(upper, lower))
	if err != nil {
		return err
	}
	band.Color, band.LineStyle.Width = faint(col), 0
	line, err := plotter.NewLine(mean)
	if err != nil {
		return err
	}
	line.Color, line.Width = col, vg.Points(1.2)
	p.Add(band, line)
	return nil
}

// addRows draws the rows, and crosses for inducing points.
func addRows(p *plot.Plot, rows model.Rows, z []float64, at float64, col color.NRGBA) error {
	var all, crosses plotter.XYs
	for i, y := range rows.Y {
		all = append(all, plotter.XY{X: rows.X[i], Y: y})
	}
	for _, v := range z {
		crosses = append(crosses, plotter.XY{X: v, Y: at})
	}
	dots, err := plotter.NewScatter(all)
	if err != nil {
		return err
	}
	dots.Shape, dots.Radius, dots.Color = draw.CircleGlyph{}, vg.Points(1), color.NRGBA{0x60, 0x60, 0x60, 0xff}
	p.Add(dots)
	if len(crosses) == 0 {
		return nil
	}
	points, err := plotter.NewScatter(crosses)
	if err != nil {
		return err
	}
	points.Shape, points.Radius, points.Color = draw.CrossGlyph{}, vg.Points(2.5), col
	p.Add(points)
	return nil
}

// summary says where searches have ended.
func summary(points plotter.XYs) []string {
	best := slices.MinFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.Y, b.Y) })
	near, small := 0, 0
	for _, p := range points {
		if p.Y <= best.Y+0.01 {
			near++
		}
		if p.X < 1e-3 {
			small++
		}
	}
	return []string{strconv.Itoa(len(points)), fmt.Sprintf("%.4f", best.Y), fmt.Sprintf("%.3g", best.X), strconv.Itoa(near), strconv.Itoa(small)}
}

// within leaves out what does not lie between two numbers.
func within(all []float64, lo, hi float64) []float64 {
	return slices.DeleteFunc(slices.Clone(all), func(v float64) bool { return v < lo || v > hi })
}

// scanPanel shows KL/N over the tolerance, and the three numbers of the paper.
func scanPanel(scan plotter.XYs) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "KL/N; dashed: the paper's three", "ε/σ_n", "KL/N"
	line, dots, err := plotter.NewLinePoints(scan)
	if err != nil {
		return nil, err
	}
	line.Color, dots.Color, dots.Shape, dots.Radius = palette[0], palette[0], draw.CircleGlyph{}, vg.Points(2.2)
	p.Add(line, dots)
	for _, v := range []float64{0.097, 0.109, 0.031} {
		level, err := plotter.NewLine(plotter.XYs{{X: scan[0].X, Y: v}, {X: scan[len(scan)-1].X, Y: v}})
		if err != nil {
			return nil, err
		}
		level.Color, level.Dashes = color.NRGBA{0x80, 0x80, 0x80, 0xff}, []vg.Length{vg.Points(3), vg.Points(3)}
		p.Add(level)
	}
	p.Y.Min = 0
	return p, nil
}

// powers are ticks at powers of ten, of which some have a label.
type powers struct{}

// Ticks returns the ticks between two positive numbers.
func (powers) Ticks(least, most float64) []plot.Tick {
	const labels = 4
	from, to := int(math.Floor(math.Log10(least))), int(math.Ceil(math.Log10(most)))
	every := max(1, (to-from+labels-1)/labels)
	var ticks []plot.Tick
	for k := from; k <= to; k++ {
		tick := plot.Tick{Value: math.Pow10(k)}
		if k%every == 0 {
			tick.Label = fmt.Sprintf("1e%d", k)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// runOverfit starts FITC and kl-PAC-SGP from many noise variances on every second row, and
// draws what they end with: the evidence of FITC is best where the noise is next to none.
func runOverfit(ctx context.Context, o options) error {
	const inducing, epsilon = 8, 0.6
	rows, err := snelsonRows(ctx, o, 2)
	if err != nil {
		return err
	}
	records := [][]string{{"method", "start_noise_variance", "noise_variance", "objective", "bound", "gradients"}}
	ends := [][]string{{"method", "starts", "lowest objective", "σ_n² there", "starts that end within 0.01 of it", "that end with σ_n² below 0.001"}}
	var panels []*plot.Plot
	for i, m := range []struct {
		name      string
		axis      string
		objective model.Objective
	}{{"FITC", "−ln evidence / N", model.Evidence}, {"kl-PAC-SGP", "bound B", model.BoundKL}} {
		var points plotter.XYs
		rng := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // reproducible by intent
		for range 10 * o.reps {
			c, err := paperConfig(rows, epsilon, inducing, o.evaluations)
			if err != nil {
				return err
			}
			start := math.Log(1e-5) + rng.Float64()*math.Log(1e6)
			c.Objective, c.Seed = m.objective, rng.Uint64()
			c.Starts = []model.Start{{Theta: make([]float64, 2), LnNoise: start}}
			t, _, err := fitCollapsed(ctx, c, rows)
			if err != nil {
				return err
			}
			n2, _ := t.Noise()
			points = append(points, plotter.XY{X: n2, Y: t.Objective()})
			records = append(records, []string{
				m.name, strconv.FormatFloat(math.Exp(start), 'g', 6, 64), strconv.FormatFloat(n2, 'g', 6, 64),
				strconv.FormatFloat(t.Objective(), 'g', 8, 64), strconv.FormatFloat(t.Progress().Bound, 'g', 6, 64), strconv.Itoa(t.Evaluations()),
			})
		}
		ends = append(ends, append([]string{m.name}, summary(points)...))
		p := plot.New()
		p.Title.Text, p.X.Label.Text, p.Y.Label.Text = m.name, "learned noise variance σ_n²", m.axis
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, powers{}
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		dots.Shape, dots.Radius, dots.Color = draw.CircleGlyph{}, vg.Points(2), faint(palette[i])
		p.Add(dots)
		panels = append(panels, p)
	}
	return writeFigure("overfit", records, ends, [][]*plot.Plot{panels}, 640, 280, o)
}
