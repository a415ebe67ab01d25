package config

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

// Report puts the plot and the record of a run into an output.
func Report(out *Output) func(*pipeline.Outcome) error {
	return func(o *pipeline.Outcome) error {
		var plot bytes.Buffer
		if err := figure(o.Result).WritePNG(&plot); err != nil {
			return err
		}
		return out.PutReport(o.Record, plot.Bytes())
	}
}

// figure is the plot of a run.
func figure(r *pipeline.Result) report.Figure {
	c := r.Certificate
	mean, draw := c.Best(certify.PredictorMean), c.About(certify.PredictorDraw)
	title, condition, conditional := strings.Cut(strings.ToUpper(string(mean.Status))+": "+mean.Headline, " confidence if ")
	f := report.Figure{
		Title:  title,
		Target: draw.Loss.Target,
		Bound:  draw.Bound, Baseline: c.Baseline.Bound,
		Unit: "steps", PointsTitle: "Reference rows",
		Below: max(draw.Loss.Epsilon, draw.Loss.Below), Above: max(draw.Loss.Epsilon, draw.Loss.Above), Relative: draw.Loss.Kind.Relative(),
	}
	if k := c.Declared.Attempt.OnTheseRows; k > 1 {
		f.Subtitles = append(f.Subtitles, c.OtherJobs()+" tried on these rows before.")
	}
	if conditional {
		f.Title += " confidence,"
		text := "if " + condition
		if missed, ok := report.Missed(mean); ok {
			text += fmt.Sprintf(" (%d of %d hold-out %ss are missed)", missed, mean.N, c.Ledger.Example())
		}
		f.Subtitles = append(f.Subtitles, text)
	}
	for _, g := range []certify.Guarantee{c.About(certify.PredictorMean), draw} {
		if g.ID != mean.ID {
			f.Subtitles = append(f.Subtitles, strings.ToUpper(string(g.Status))+": "+g.Headline)
		}
	}
	if g, ok := c.Guarantee(certify.GuaranteeCurve); ok {
		f.Curve, f.CurveLoss, f.Held = g.Curve, g.Loss, g.N
	}
	if g, ok := c.Guarantee(certify.GuaranteeGroups); ok && g.Status.Promises() {
		f.Groups = g.Groups
	}
	if c.Ledger.Reference == 0 {
		f.PointsTitle = "Train rows"
	}
	for i, p := range r.Training.Trace {
		f.Steps = append(f.Steps, report.Step{Pass: float64(i + 1), Bound: p.Bound, Risk: p.Risk})
	}
	for i, y := range r.PlotRows.Observed {
		f.Points = append(f.Points, report.Point{Observed: y, Predicted: r.PlotRows.Mean[i]})
	}
	return f
}
