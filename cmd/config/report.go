package config

import (
	"bytes"

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
	mean, draw := c.About(certify.PredictorMean), c.About(certify.PredictorDraw)
	f := report.Figure{
		Title:     report.Headline(c, mean),
		Subtitles: append([]string{report.Headline(c, draw)}, report.Warnings(c)...),
		Target:    c.Loss.Target,
		Bound:     draw.Bound, Baseline: draw.Baseline,
		Unit: "steps", PointsTitle: "Prior rows",
		Below: max(c.Loss.Epsilon, c.Loss.Below), Above: max(c.Loss.Epsilon, c.Loss.Above), Relative: c.Loss.Kind.Relative(),
	}
	if g, ok := c.Claim(certify.ClaimCurve); ok {
		f.Curve, f.Epsilon, f.Held = g.Curve, c.Loss.Epsilon, g.N
	}
	if g, ok := c.Claim(certify.ClaimGroups); ok && g.Status == certify.StatusCertified {
		f.Groups, f.Column = g.Groups, c.Grouping.Column
		for i := range g.Groups {
			f.GroupNames = append(f.GroupNames, report.Group(c, i))
		}
	}
	if c.Counts.Reference == 0 {
		f.PointsTitle = "Training rows"
	}
	for i, p := range r.Training.Trace {
		f.Steps = append(f.Steps, report.Step{Pass: float64(i + 1), Bound: p.Bound, Risk: p.Risk})
	}
	for i, y := range r.PlotRows.Observed {
		f.Points = append(f.Points, report.Point{Observed: y, Predicted: r.PlotRows.Mean[i]})
	}
	return f
}
