package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink/report"
)

// unknownWidth is the width for a terminal that does not report its own, in columns.
const unknownWidth = 80

// terminalWidth returns the width of the terminal at f in columns, or 0 if f is no terminal.
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

// styleOf returns the style of certificates on f: as wide as its terminal, and in colour unless
// NO_COLOR is set. If f is no terminal it is plain.
func styleOf(f *os.File) report.Style {
	width := terminalWidth(f)
	_, plain := os.LookupEnv("NO_COLOR")
	return report.Style{Width: width, Colour: width > 0 && !plain}
}

// A display shows the progress of a run: lines and a bar for people, or JSON records.
type display struct {
	w    system
	log  *slog.Logger // nil if the output is for people
	once sync.Map     // warnings that warnOnce has shown

	mu    sync.Mutex // guards the fields below
	bar   *progressbar.ProgressBar
	stage string    // the stage that the bar shows
	shown time.Time // when a step was last shown
	phase string    // the phase of the last step
}

func newDisplay(w system) *display {
	d := &display{w: w}
	if w.log.asJSON(w.terminal) {
		d.log = w.log.records(w.stderr)
	}
	return d
}

// shows reports whether the log includes this level.
func (d *display) shows(level slog.Level) bool { return level >= d.w.log.from() }

// stepEvery is the least time between two steps in a log; the level debug has all of them.
const stepEvery = time.Second

// observer returns an observer that shows progress. watch, if not nil, also gets each step.
func (d *display) observer(watch func(job.Progress)) job.Observer {
	return job.Observer{Warning: d.warning, Event: d.event, Starting: d.starting, Fitting: d.fitting, Progress: func(p job.Progress) {
		d.progress(p)
		if watch != nil {
			watch(p)
		}
	}}
}

// progress shows a step of training, or that another phase begins.
func (d *display) progress(p job.Progress) {
	attrs := []any{slog.Float64("elapsed_seconds", float64(time.Duration(p.Elapsed).Round(time.Millisecond).Milliseconds())/1000)}
	if p.Steps > 0 {
		words := fmt.Sprintf("bound ~%.4f  risk ~%.4f  KL %.0f", p.Bound, p.Risk, p.KL)
		d.step(string(p.Phase), fmt.Sprintf("train M=%d  ", p.Inducing), words, int64(p.Step), int64(p.Steps), append(
			attrs, slog.Int("inducing", p.Inducing), slog.String("stage", p.Stage), slog.Int("step", p.Step), slog.Int("steps", p.Steps),
			slog.Float64("bound", p.Bound), slog.Float64("risk", p.Risk), slog.Float64("kl", p.KL))...)
		return
	}
	switch {
	case !d.shows(slog.LevelInfo):
	case d.log != nil:
		d.log.Info(string(p.Phase), attrs...)
	default:
		d.end()
		d.line(cmp.Or(phaseWords[p.Phase], string(p.Phase)))
	}
}

// spooled shows the number of spooled rows. Several goroutines may call it.
func (d *display) spooled(rows int64) {
	d.step("spool", "spool: ", words.Count(rows, "row"), rows, -1, slog.Int64("rows", rows))
}

func (d *display) starting(done, total int) {
	d.step(string(job.PhaseStart), "start values: ", "evaluations", int64(done), int64(total), slog.Int("step", done), slog.Int("steps", total))
}

func (d *display) fitting(done, total int64) {
	d.step(string(job.PhasePredictor), "predictions: ", "rows", done, total, slog.Int64("step", done), slog.Int64("steps", total))
}

// step shows step n of up to total, −1 if unknown. Only the level debug has all steps.
func (d *display) step(phase, head, words string, n, total int64, attrs ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if phase != d.phase {
		d.phase, d.shown = phase, time.Time{} // show the first step of each phase
	}
	bar := d.log == nil && d.w.terminal > 0
	level := slog.LevelInfo
	if !bar && time.Since(d.shown) < stepEvery {
		level = slog.LevelDebug
	}
	if !d.shows(level) {
		return
	}
	if level == slog.LevelInfo {
		d.shown = time.Now()
	}
	switch {
	case bar:
		d.advance(head, words, n, total)
	case d.log != nil && level == slog.LevelDebug:
		d.log.Debug(phase, attrs...)
	case d.log != nil:
		d.log.Info(phase, attrs...)
	case total < 0:
		d.line(head + words)
	default:
		d.line(fmt.Sprintf("%s%d of at most %d  %s", head, n, total, words))
	}
}

// advance sets the bar to n, or begins a new bar.
func (d *display) advance(head, words string, n, total int64) {
	if d.bar == nil || d.stage != head {
		d.end()
		d.stage = head
		d.bar = progressbar.NewOptions64(
			total, progressbar.OptionSetWriter(d.w.screen), progressbar.OptionSetWidth(max(10, min(40, d.w.terminal-75))),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetElapsedTime(true), progressbar.OptionSetRenderBlankState(true),
			progressbar.OptionSetTheme(progressbar.Theme{Saucer: "━", SaucerPadding: " ", BarStart: "", BarEnd: ""}),
		)
	}
	d.bar.Describe(fmt.Sprintf("%-48s", head+words))
	d.bar.ChangeMax64(total)
	_ = d.bar.Set64(n) // the run goes on if the terminal is broken
}

// phaseWords describes the phases that have no steps.
var phaseWords = map[job.Phase]string{
	job.PhaseFirstPass: "first pass: the rows are read, split and scaled",
	job.PhaseStart:     "start values: lengthscales, noise, number of inducing points",
	job.PhasePredictor: "predictions: least squares on all training rows",
	job.PhaseLastPass:  "last pass: rows and model are read again, and every row's loss is bounded",
}

func (d *display) line(text string) { _, _ = fmt.Fprintln(d.w.stderr, text) }

func (d *display) end() {
	if d.bar == nil {
		return
	}
	_ = d.bar.Exit()
	d.line("")
	d.bar = nil
}

func (d *display) warning(text string) { d.say(slog.LevelWarn, (*slog.Logger).Warn, "note: ", text) }

func (d *display) warnings(texts []string) {
	for _, text := range texts {
		d.warning(text)
	}
}

// warnOnce shows a warning, unless it has shown the same text before.
func (d *display) warnOnce(text string) {
	if _, was := d.once.LoadOrStore(text, true); !was {
		d.warning(text)
	}
}

func (d *display) event(text string) { d.say(slog.LevelInfo, (*slog.Logger).Info, "", text) }

// say shows a text at a level, which is that of write. For people, kind comes before it.
func (d *display) say(level slog.Level, write func(*slog.Logger, string, ...any), kind, text string) {
	switch {
	case !d.shows(level):
	case d.log != nil:
		text, hint := cutHint(text)
		logRecord(d.log, write, text, hint)
	default:
		d.end()
		printMessage(d.w.stderr, d.w.terminal, kind, text)
	}
}
