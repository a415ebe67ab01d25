package main

import (
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

// unknownWidth is the assumed width of a terminal that does not tell its own.
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

// styleOf is the style of certificates on f: as wide as its terminal and in colour, unless
// NO_COLOR is set; plain if it is no terminal.
func styleOf(f *os.File) report.Style {
	width := terminalWidth(f)
	_, plain := os.LookupEnv("NO_COLOR")
	return report.Style{Width: width, Colour: width > 0 && !plain}
}

// A display shows the progress of a run: lines and a bar for people, or records.
type display struct {
	w     system
	log   *slog.Logger // of records; nil: for people
	bar   *progressbar.ProgressBar
	stage string
	shown time.Time // the last step

	once     sync.Map   // warnings that are shown once
	spooling sync.Mutex // of counted
	counts   time.Time  // the last number of it
}

func newDisplay(w system) *display {
	d := &display{w: w}
	if w.log.asJSON(w.terminal > 0) {
		d.log = w.log.records(w.stderr)
	}
	return d
}

// shows reports whether the log has this level.
func (d *display) shows(level slog.Level) bool { return level >= d.w.log.from() }

// stepEvery is the least time between two steps in a log, below the level debug.
const stepEvery = time.Second

// observer shows progress; watch gets each step as well.
func (d *display) observer(watch ...func(job.Progress)) job.Observer {
	return job.Observer{Warning: d.warning, Event: d.event, Starting: d.starting, Fitting: d.fitting, Progress: func(p job.Progress) {
		d.progress(p)
		for _, also := range watch {
			if also != nil {
				also(p)
			}
		}
	}}
}

func (d *display) progress(p job.Progress) {
	level := slog.LevelInfo
	if p.Steps > 0 && (d.log != nil || d.w.terminal == 0) {
		if time.Since(d.shown) < stepEvery {
			level = slog.LevelDebug
		} else {
			d.shown = time.Now()
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
		d.line(fmt.Sprintf("train M=%d  step %d of at most %d  bound ~%.4f  risk ~%.4f  KL %.0f", p.Inducing, p.Step, p.Steps, p.Bound, p.Risk, p.KL))
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
	_ = d.bar.Set(p.Step) // a broken terminal stops no run
}

// spooled shows the number of spooled rows. Several goroutines may call it.
func (d *display) spooled(rows int64) {
	d.counted("spool", words.Count(rows, "row"), rows, -1, slog.Int64("rows", rows))
}

// starting shows the progress of start values.
func (d *display) starting(done, most int) {
	words := fmt.Sprintf("%d of at most %d evaluations", done, most)
	d.counted(string(job.PhaseStart), words, int64(done), int64(most), slog.Int("step", done), slog.Int("steps", most))
}

// fitting shows the progress of the predictor.
func (d *display) fitting(done, most int64) {
	words := fmt.Sprintf("%d of %s", done, words.Count(most, "row"))
	d.counted(string(job.PhasePredictor), words, done, most, slog.Int64("step", done), slog.Int64("steps", most))
}

// counted shows a number, and its largest value or -1.
func (d *display) counted(what, words string, n, most int64, attrs ...any) {
	d.spooling.Lock()
	defer d.spooling.Unlock()
	if time.Since(d.counts) < stepEvery || !d.shows(slog.LevelInfo) {
		return
	}
	d.counts = time.Now()
	switch {
	case d.log != nil:
		d.record(slog.LevelInfo, what, attrs...)
	case d.w.terminal == 0:
		d.line(what + ": " + words)
	default:
		if d.bar == nil || d.stage != what {
			d.end()
			d.stage = what
			d.bar = progressbar.NewOptions64(most, progressbar.OptionSetWriter(d.w.screen), progressbar.OptionShowCount(), progressbar.OptionSetDescription(what))
		}
		_ = d.bar.Set64(n) // a broken terminal stops no run
	}
}

// phaseWords describes a phase without steps.
func phaseWords(phase job.Phase) string {
	switch phase {
	case job.PhaseFirstPass:
		return "first pass: the rows are read, split and scaled"
	case job.PhaseStart:
		return "start values: lengthscales, noise, number of inducing points"
	case job.PhasePredictor:
		return "predictions: least squares on all training rows"
	case job.PhaseLastPass:
		return "last pass: rows and model are read again, and every row's loss is bounded"
	case job.PhaseTrain, job.PhasePublish:
	}
	return string(phase)
}

func (d *display) line(text string) { _, _ = fmt.Fprintln(d.w.stderr, text) }

// end ends the bar.
func (d *display) end() {
	if d.bar == nil {
		return
	}
	_ = d.bar.Exit()
	d.line("")
	d.bar = nil
}

func (d *display) logLine(level slog.Level, p job.Progress) {
	attrs := []any{slog.Float64("elapsed_seconds", float64(time.Duration(p.Elapsed).Round(time.Millisecond).Milliseconds())/1000)}
	if p.Steps > 0 {
		attrs = append(attrs, slog.Int("inducing", p.Inducing), slog.String("stage", p.Stage),
			slog.Int("step", p.Step), slog.Int("steps", p.Steps),
			slog.Float64("bound", p.Bound), slog.Float64("risk", p.Risk), slog.Float64("kl", p.KL))
	}
	d.record(level, string(p.Phase), attrs...)
}

func (d *display) warning(text string) { d.say(slog.LevelWarn, "note: ", text) }

// warnOnce shows a warning unless it was shown before.
func (d *display) warnOnce(text string) {
	if _, was := d.once.LoadOrStore(text, true); !was {
		d.warning(text)
	}
}

func (d *display) event(text string) { d.say(slog.LevelInfo, "", text) }

// say writes a text, for people behind its kind.
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
	case d.w.terminal > 0:
		d.end()
		report.WriteWrapped(d.w.stderr, kind, text, report.Style{Width: d.w.terminal})
	default:
		d.line(kind + text)
	}
}

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
