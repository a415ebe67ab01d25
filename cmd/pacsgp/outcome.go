package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

// An outcome is a finished run, for people and for the run record.
type outcome struct {
	result *pipeline.Result
	record runRecord
	output string
	source config.Origin
}

// A runRecord is what is true of one run and no part of any identity.
type runRecord struct {
	Format      string               `json:"format"` // pacsgp-run/2
	Run         string               `json:"run"`    // names the process in its log
	Exit        int                  `json:"exit_status"`
	Fault       string               `json:"fault,omitempty"` // why it is not 0
	Doubts      []string             `json:"doubts"`          // what speaks against believing the certificate, such as earlier attempts
	Mean        verdictRecord        `json:"mean"`            // of the guarantee for the mean of Q, which predict writes
	Draw        verdictRecord        `json:"draw"`            // of that for a draw of Q
	Judge       config.Judge         `json:"judge"`           // which of them status and limit speak of
	Status      certify.Status       `json:"status"`
	Bound       float64              `json:"bound"`
	Suspicious  bool                 `json:"suspicious"` // consecutive rows are more alike than independent ones would be
	Limit       float64              `json:"limit,omitempty"`
	Certificate string               `json:"certificate"` // file names in the output directory
	Row         string               `json:"certificate_row"`
	Model       string               `json:"model"`
	ID          string               `json:"id"` // of the certificate
	Attempt     certify.Attempt      `json:"attempt"`
	Began       time.Time            `json:"began"`
	Seconds     float64              `json:"seconds"`
	Software    string               `json:"software"`
	Go          string               `json:"go"`
	Platform    string               `json:"platform"`
	Workers     int                  `json:"workers"`
	Memory      int64                `json:"memory"`
	Diagnostics pipeline.Diagnostics `json:"diagnostics"`
	Training    pipeline.Training    `json:"training"`

	// Of a sweep: which alternative all of the above is about, and all of them.
	Best         int                 `json:"best,omitempty"`
	Alternatives []alternativeRecord `json:"alternatives,omitempty"`
}

// A verdictRecord is a guarantee in short.
type verdictRecord struct {
	Status   certify.Status `json:"status"`
	Bound    float64        `json:"bound"`
	Headline string         `json:"headline"`
}

// enforced is the assumption that a run knows to be true because it has seen to it, and
// that its certificate cannot show to others.
const enforced = certify.AssumeHoldoutUnseen

// judge returns the guarantee that exit status and limit of a run speak of.
func judge(who config.Judge, c certify.Certificate) certify.Guarantee {
	return c.About(who.Predictor(), enforced)
}

func newOutcome(p prepared, run string, r *pipeline.Result, began time.Time) *outcome {
	mean, draw := judge(config.JudgeMean, r.Certificate), judge(config.JudgeDraw, r.Certificate)
	judged := judge(p.Judge, r.Certificate)
	model, certificate, row := publishedNames(r.ID, r.ModelDigest)
	return &outcome{
		result: r, output: p.Output, source: p.Source,
		record: runRecord{
			Format: "pacsgp-run/2", Run: run, Doubts: append([]string{}, report.Doubts(r.Certificate)...),
			Mean: verdictRecord{mean.Status, mean.Bound, mean.Headline}, Draw: verdictRecord{draw.Status, draw.Bound, draw.Headline},
			Judge: p.Judge, Status: judged.Status, Bound: judged.Bound, Limit: p.Limit, Suspicious: r.Certificate.Dependence.Suspicious,
			Certificate: certificate, Row: row, Model: model, ID: r.ID,
			Attempt: r.Certificate.Declared.Attempt, Began: began.UTC().Truncate(time.Second), Seconds: time.Since(began).Seconds(),
			Software: software(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			Workers: p.Resources.Workers, Memory: p.Resources.Memory, Diagnostics: r.Diagnostics, Training: r.Training,
		},
	}
}

// write puts run record and plot into the output.
func (o *outcome) write(to *output) error {
	var plot bytes.Buffer
	if err := o.figure().WritePNG(&plot); err != nil {
		return err
	}
	return to.report(o.record, plot.Bytes())
}

// figure is the plot of the run.
func (o *outcome) figure() report.Figure {
	c := o.result.Certificate
	mean, draw := c.About(certify.PredictorMean), c.About(certify.PredictorDraw)
	f := report.Figure{
		Title:  strings.ToUpper(string(mean.Status)) + ": " + mean.Headline,
		Target: draw.Loss.Target,
		Bound:  draw.Bound, Baseline: c.Baseline.Bound,
		Unit: "steps", PointsTitle: "Reference rows",
		Below: max(draw.Loss.Epsilon, draw.Loss.Below), Above: max(draw.Loss.Epsilon, draw.Loss.Above),
	}
	if k := c.Declared.Attempt.OnTheseRows; k > 1 {
		f.Subtitles = append(f.Subtitles, report.OtherJobs(c)+" tried on these rows before.")
	}
	for _, g := range append(c.Conditional(), draw) { // as others may believe it, not as this run knows it
		text := strings.ToUpper(string(g.Status)) + ": " + g.Headline
		if missed, ok := report.Missed(g); ok {
			text += fmt.Sprintf(" (%d of %d hold-out rows are missed)", missed, g.N)
		}
		f.Subtitles = append(f.Subtitles, text)
	}
	if c.Ledger.Reference == 0 {
		f.PointsTitle = "Train rows"
	}
	for i, p := range o.result.Training.Trace {
		f.Steps = append(f.Steps, report.Step{Pass: float64(i + 1), Bound: p.Bound, Risk: p.Risk})
	}
	for i, y := range o.result.PlotRows.Observed {
		f.Points = append(f.Points, report.Point{Observed: y, Predicted: o.result.PlotRows.Mean[i]})
	}
	return f
}

// report prints the certificate and where everything is.
func (o *outcome) report(w system) error {
	if err := o.sweepTable(w); err != nil {
		return err
	}
	if err := report.WriteCertificate(w.paper, o.result.Certificate, w.style, enforced); err != nil {
		return err
	}
	data := strings.Join(o.source.Arguments(), " ")
	path := func(name string) string { return filepath.Join(o.output, name) }
	retrain := ""
	if len(o.result.Certificate.Conditional()) > 0 {
		retrain = " --retrain"
	}
	_, err := fmt.Fprintf(w.stdout, "\nFiles\n  model        %s\n  certificate  %s\n  as a row     %s\n  run record   %s\n  plot         %s\n\nCheck it\n  pacsgp verify %s %s %s%s\n",
		path(o.record.Model), path(o.record.Certificate), path(o.record.Row), path(runFile), path(plotFile),
		path(o.record.Model), path(o.record.Certificate), data, retrain)
	return err
}
