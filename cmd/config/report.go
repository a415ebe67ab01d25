package config

import (
	"bytes"

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
	f := report.Figure{Certificate: r.Certificate}
	for _, p := range r.Training.Trace {
		f.Steps = append(f.Steps, report.Step{Bound: p.Bound, Risk: p.Risk})
	}
	for i, y := range r.PlotRows.Observed {
		f.Points = append(f.Points, report.Point{Observed: y, Predicted: r.PlotRows.Mean[i]})
	}
	return f
}
