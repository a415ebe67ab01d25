package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/sink/report"
)

// logging is the format and the level of messages on standard error, including the final error.
type logging struct {
	format string // formatText, formatJSON, or "": text on a terminal and JSON elsewhere
	level  string
	quiet  bool
	run    string // id of this process, in each record
}

// Formats of the log and of the output of lint.
const (
	formatText = "text"
	formatJSON = "json"
)

func newLogging() *logging {
	id := make([]byte, 6)
	_, _ = rand.Read(id) // it never returns an error
	return &logging{run: hex.EncodeToString(id)}
}

// flags declares the flags that all commands have.
func (l *logging) flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&l.format, "log-format", "", "text or json (default text on a terminal, else json)")
	f.StringVar(&l.level, "log-level", "", "debug (each step), info, warn, error (default info)")
	f.BoolVarP(&l.quiet, "quiet", "q", false, "the same as --log-level warn")
}

func (l *logging) check() error {
	_, known := levels[l.level]
	switch {
	case l.format != "" && l.format != formatText && l.format != formatJSON:
		format := l.format
		l.format = "" // for the error itself
		return config.Argument(fmt.Errorf("--log-format: %q is neither text nor json", format))
	case !known:
		return config.Argument(fmt.Errorf("--log-level: %q is none of debug, info, warn, error", l.level))
	case l.quiet && l.level != "" && l.level != "warn":
		return config.Argument(errors.New("--quiet means --log-level warn: give one of both"))
	default:
		return nil
	}
}

var levels = map[string]slog.Level{
	"": slog.LevelInfo, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// from returns the lowest level that is logged.
func (l *logging) from() slog.Level {
	if l.quiet {
		return slog.LevelWarn
	}
	return levels[l.level]
}

// asJSON reports whether the log has JSON records instead of text. terminal is its width, or 0.
func (l *logging) asJSON(terminal int) bool {
	return l.format == formatJSON || l.format == "" && terminal == 0
}

func (l *logging) records(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l.from()})).With("run", l.run)
}

// fail writes the final error of a command: each fault with its hints.
func (l *logging) fail(w io.Writer, terminal int, err error) {
	if !l.asJSON(terminal) {
		explain(w, terminal, err)
		return
	}
	escaped := report.NewEscaper(w)
	defer escaped.Flush() //nolint:errcheck // standard error is where an error would be reported
	type fault struct{ text, hint string }
	var faults []fault
	for _, line := range messageLines(err) {
		text, hint := cutHint(line)
		if text != "" || len(faults) == 0 {
			faults = append(faults, fault{text: text})
		}
		last := &faults[len(faults)-1]
		last.hint = strings.Trim(last.hint+"; "+hint, "; ")
	}
	log := l.records(escaped).With("status", status(err))
	for _, f := range faults {
		logRecord(log, (*slog.Logger).Error, f.text, f.hint)
	}
}

// logRecord logs a message at the level of write, with its hint if it has one.
func logRecord(log *slog.Logger, write func(*slog.Logger, string, ...any), text, hint string) {
	if hint != "" {
		log = log.With("hint", hint)
	}
	write(log, text)
}

// cutHint splits a line into text and hint. A hint is the whole line, or in brackets at its end.
func cutHint(line string) (text, hint string) {
	if hint, only := strings.CutPrefix(line, "hint: "); only {
		return "", hint
	}
	if i := strings.LastIndex(line, " (hint: "); i > 0 && strings.HasSuffix(line, ")") {
		return line[:i], line[i+len(" (hint: ") : len(line)-1]
	}
	return line, ""
}

// packageName matches the names of packages with which errors begin, also inside other errors.
var packageName = regexp.MustCompile(`(^|^source: )(?:sink|model|report|synth): |(^|: )(?:pipeline|certify): `)

// systemCall matches the system call in an error about a missing file.
var systemCall = regexp.MustCompile(`(^|: )(?:open|l?stat) ([^:]+: (?:no such file or directory|too many levels of symbolic links))`)

// libraryWords replaces texts of libraries about their own settings and YAML's grammar.
var libraryWords = strings.NewReplacer("too many levels of symbolic links", "a symbolic link that leads to itself", "decompressed size exceeds configured limit", "it is larger decompressed than it says",
	"could not find flow map content", "the { is not closed", "could not find flow mapping end token '}'", "the { is not closed",
	"sequence end token ']' not found", "the [ is not closed", "non-map value is specified", "want KEY: VALUE", "found an invalid key for this map", "a key must be a word",
	"mapping value is not allowed in this context", "a second colon in a line: put text with a colon in quotes", "mapping key \"", "key \"", "\" already defined at", "\" is already given at")

// inPlainWords removes names of packages and system calls from a line of an error's text.
func inPlainWords(line string) string {
	line = packageName.ReplaceAllString(line, "$1$2")
	return libraryWords.Replace(systemCall.ReplaceAllString(line, "$1$2"))
}

// messageLines returns the lines of an error for people: at most mostFaults faults, and hints.
func messageLines(err error) []string {
	var lines []string
	faults := 0
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.HasPrefix(line, "hint: ") {
			faults++
		}
		if faults <= mostFaults {
			lines = append(lines, job.Shortened(inPlainWords(line)))
		}
	}
	if faults > mostFaults {
		lines = append(lines, fmt.Sprintf("and %d more faults", faults-mostFaults))
	}
	if config.Malformed(err) {
		lines = append(lines, "hint: the file is damaged, or was written wrongly: restore it, or write it again")
	}
	if isUsage(err) {
		lines = append(lines, "hint: pacsgp --help lists the commands, pacsgp COMMAND --help their flags")
	}
	return lines
}

// Exit statuses of the command.
const (
	exitFailure      = pipeline.ExitFailure
	exitUsage        = 2
	exitNotCertified = pipeline.ExitNotCertified
	exitConfig       = pipeline.ExitConfig
	exitInterrupted  = 130
)

// mostFaults is how many faults of an error are shown.
const mostFaults = 20

// explain prints an error for people with [printMessage], each fault and hint on its own.
func explain(w io.Writer, terminal int, err error) {
	escaped := report.NewEscaper(w)
	defer escaped.Flush() //nolint:errcheck // standard error is where an error would be reported
	for _, line := range messageLines(err) {
		printMessage(escaped, terminal, "pacsgp: ", line)
	}
}

// printMessage prints a line of an error or warning. For a terminal it wraps the text and puts the
// hint below; for a file or pipe it prints one line, for grep. A hint without text has no head.
func printMessage(w io.Writer, terminal int, head, line string) {
	switch text, hint := cutHint(line); {
	case terminal > 0:
		report.WriteWrapped(w, head, text, report.Style{Width: terminal})
		report.WriteWrapped(w, "hint: ", hint, report.Style{Width: terminal})
	case text == "":
		_, _ = fmt.Fprintln(w, line)
	default:
		_, _ = fmt.Fprintln(w, head+line)
	}
}

// isUsage reports whether an error is about the command's arguments.
func isUsage(err error) bool {
	_, ok := errors.AsType[config.ArgumentError](err)
	return ok
}

func status(err error) int {
	var round schedule.RoundError
	switch {
	case errors.Is(err, pipeline.ErrInterrupted):
		return exitInterrupted
	case errors.As(err, &round):
		return round.Exit
	case isUsage(err):
		return exitUsage
	default:
		return pipeline.ExitStatus(err)
	}
}
