package main

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

// unknownWidth is taken for the columns of a terminal that does not tell them, as
// one that a program has opened.
const unknownWidth = 80

// terminalWidth returns the columns of the terminal behind f, or 0 if there is
// none.
func terminalWidth(f *os.File) int {
	if !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width == 0 {
		return unknownWidth
	}
	return width
}

// styleOf is how certificates are printed to f: as wide as its terminal and in
// colour unless NO_COLOR is set, or plain if it is no terminal.
func styleOf(f *os.File) report.Style {
	width := terminalWidth(f)
	_, plain := os.LookupEnv("NO_COLOR")
	return report.Style{Width: width, Colour: width > 0 && !plain}
}

// A display shows how a run goes on: for people, with a bar on a terminal, or as
// records.
type display struct {
	w     system
	log   *slog.Logger // of records; nil: for people
	bar   *progressbar.ProgressBar
	stage string
	told  time.Time // when the last step was

	spooling sync.Mutex // of what spooled changes
}

func newDisplay(w system) *display {
	d := &display{w: w}
	if w.log.asJSON(w.terminal > 0) {
		d.log = w.log.records(w.stderr)
	}
	return d
}

// shows reports whether something of that level is written.
func (d *display) shows(level slog.Level) bool { return level >= d.w.log.from() }

// stepEvery is the least time between two steps that are told without a terminal,
// unless all are asked for.
const stepEvery = time.Second

// observer shows what happens, and tells those that watch its steps.
func (d *display) observer(watch ...func(pipeline.Progress)) pipeline.Observer {
	return pipeline.Observer{Notice: d.notice, Event: d.event, Progress: func(p pipeline.Progress) {
		d.progress(p)
		for _, told := range watch {
			if told != nil {
				told(p)
			}
		}
	}}
}

func (d *display) progress(p pipeline.Progress) {
	level := slog.LevelInfo
	if p.Steps > 0 && (d.log != nil || d.w.terminal == 0) {
		if time.Since(d.told) < stepEvery {
			level = slog.LevelDebug
		} else {
			d.told = time.Now()
		}
	}
	switch {
	case !d.shows(level):
		return
	case d.log != nil:
		d.logLine(level, p)
		return
	case p.Steps == 0:
		d.end()
		d.line(phaseWords(p.Phase))
		return
	case d.w.terminal == 0:
		d.line(fmt.Sprintf("train M=%d  step %d of %d  bound ~%.4f  risk ~%.4f  KL %.0f", p.Inducing, p.Step, p.Steps, p.Bound, p.Risk, p.KL))
		return
	}
	if stage := fmt.Sprint(p.Phase, p.Inducing); stage != d.stage || d.bar == nil {
		d.end()
		d.stage = stage
		d.bar = progressbar.NewOptions(p.Steps,
			progressbar.OptionSetWriter(d.w.screen), progressbar.OptionSetWidth(max(10, min(40, d.w.terminal-75))),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetElapsedTime(true), progressbar.OptionSetRenderBlankState(true),
			progressbar.OptionSetTheme(progressbar.Theme{Saucer: "━", SaucerPadding: " ", BarStart: "", BarEnd: ""}),
		)
	}
	d.bar.Describe(fmt.Sprintf("%-48s", fmt.Sprintf("train M=%d  bound ~%.4f  risk ~%.4f  KL %.0f", p.Inducing, p.Bound, p.Risk, p.KL)))
	d.bar.ChangeMax(p.Steps)
	_ = d.bar.Set(p.Step) // a terminal that cannot be written to stops no run
}

// spooled tells how many rows have come into the spool. Several goroutines may call it.
func (d *display) spooled(rows int64) {
	d.spooling.Lock()
	defer d.spooling.Unlock()
	if time.Since(d.told) < stepEvery || !d.shows(slog.LevelInfo) {
		return
	}
	d.told = time.Now()
	switch {
	case d.log != nil:
		d.record(slog.LevelInfo, "spool", slog.Int64("rows", rows))
	case d.w.terminal == 0:
		d.line("spool: " + certify.Count(rows, "row"))
	default:
		if d.bar == nil {
			d.bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(d.w.screen), progressbar.OptionShowCount(), progressbar.OptionSetDescription("spool: rows"))
		}
		_ = d.bar.Set64(rows) // a terminal that cannot be written to stops no run
	}
}

// phaseWords says what a phase without steps does.
func phaseWords(phase pipeline.Phase) string {
	switch phase {
	case pipeline.PhaseSurvey:
		return "first pass: digest, roles, scaling; start values"
	case pipeline.PhaseLastPass:
		return "last pass: rows and model read again, exact risk"
	case pipeline.PhaseTrain, pipeline.PhasePublish:
	}
	return string(phase)
}

// line writes a line of its own to the terminal.
func (d *display) line(text string) { _, _ = fmt.Fprintln(d.w.stderr, text) }

// end leaves the bar as it is and starts a new line.
func (d *display) end() {
	if d.bar == nil {
		return
	}
	_ = d.bar.Exit()
	d.line("")
	d.bar = nil
}

func (d *display) logLine(level slog.Level, p pipeline.Progress) {
	attrs := []any{slog.Float64("elapsed_seconds", time.Duration(p.Elapsed).Round(time.Millisecond).Seconds())}
	if p.Steps > 0 {
		attrs = append(attrs, slog.Int("inducing", p.Inducing), slog.String("stage", p.Stage),
			slog.Int("step", p.Step), slog.Int("steps", p.Steps),
			slog.Float64("bound", p.Bound), slog.Float64("risk", p.Risk), slog.Float64("kl", p.KL))
	}
	d.record(level, string(p.Phase), attrs...)
}

func (d *display) notice(text string) { d.say(slog.LevelWarn, "note: ", text) }

func (d *display) event(text string) { d.say(slog.LevelInfo, "", text) }

// say writes a text, for people with what it is before it.
func (d *display) say(level slog.Level, kind, text string) {
	switch {
	case !d.shows(level):
	case d.log != nil:
		text, hint := cutHint(text)
		var attrs []any
		if hint != "" {
			attrs = append(attrs, slog.String("hint", hint))
		}
		d.record(level, text, attrs...)
	default:
		d.end()
		d.line(kind + text)
	}
}

// record writes a record.
func (d *display) record(level slog.Level, text string, attrs ...any) {
	switch level {
	case slog.LevelDebug:
		d.log.Debug(text, attrs...)
	case slog.LevelWarn:
		d.log.Warn(text, attrs...)
	default:
		d.log.Info(text, attrs...)
	}
}
