package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

func scoreCommand(w system) *cobra.Command {
	var path, trusted string
	var once bool
	cmd := &cobra.Command{
		Use:   "score score.yaml",
		Short: "Predict new files, or rows of a topic, with the current model",
		Long: "Predict each new file of a lake, or the rows of a topic, and go on as files or rows arrive. The current " +
			"model is read again before each file or batch of rows. No row is predicted twice, even if the command is " +
			"killed and started again. docs/howto/score.md explains the score file.",
		Args: orFile(&path, "the score file"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.ReadScore(cmd.Context(), path, w.environment())
			if err != nil {
				return err
			}
			return runScore(cmd.Context(), w, c, trusted, once)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&path, "config", "c", "", "the score file (YAML)")
	f.StringVar(&trusted, "trusted", "", config.TrustedKeys)
	f.BoolVar(&once, "once", false, "predict what is there and exit; status 1 if a file fails")
	return cmd
}

// runScore predicts the rows that exist and, unless once is set, new rows as they arrive.
func runScore(ctx context.Context, w system, c config.ScoreFile, trusted string, once bool) error {
	show := newDisplay(w)
	defer show.end()
	e := newScoreEvents(c, show)
	s := config.Scoring{
		ScoreFile: c, Service: config.Service{FS: w.fs, Said: show.event, Warned: show.warning},
		Trusted: trusted, Once: once, Events: e, RoundEnded: e.round,
	}
	if !once && c.OnTopics() {
		s.Patience = config.ServicePatience
	}
	if group := e.group; group != nil {
		s.OnChange, group.shared = group.membership, c.Shared()
		if c.Serve.Declared() {
			s.Lags = group.behind
		}
	}
	return operate(ctx, show, c.Serve, e.registry, func() error { return e.ready(ctx) }, []string{c.Model.Folder}, !once, func() error {
		failed, err := s.Run(ctx)
		if ctx.Err() != nil && !once {
			e.logCounts(true)
		}
		if err != nil {
			return err
		}
		return e.summary(w, c, failed)
	})
}

// summary prints what a command with --once has predicted. Failed files are an error.
func (e *scoreEvents) summary(w system, c config.ScoreFile, failed int) error {
	where, what := "topic "+c.Output.Kafka, "member"
	if !c.ToTopic() {
		where, what = c.Output.Folder, "column"
	}
	rows := words.Count(e.sum.Rows, "row")
	if !c.OnTopics() {
		rows = words.Count(e.files, "new file") + ", " + rows
	}
	_, err := fmt.Fprintf(w.stdout, "%s: predictions of %s%s\n", where, rows, config.Without(e.sum.Refused, what))
	if failed > 0 {
		err = errors.Join(err, fmt.Errorf("%s could not be predicted", words.Count(int64(failed), "file")))
	}
	return err
}

// scoreEvents reports what score does, in the log and in metrics.
type scoreEvents struct {
	fileFaults
	file  config.ScoreFile
	group *groupMetrics // nil if rows are in files

	mu    sync.Mutex // guards the fields below
	sum   score.Counts
	files int64
	last  score.Counts // the part of sum that the log already has
	since time.Time
	by    string // id of the certificate of the last predictions
}

func newScoreEvents(c config.ScoreFile, show *display) *scoreEvents {
	e := &scoreEvents{fileFaults: fileFaults{meters: newMeters(), show: show, verb: "predicted", every: c.Every()}, file: c, since: time.Now()}
	e.counter("pacsgp_predictions_total", "Rows that score has dealt with, by whether they have a prediction.", "outcome")
	e.counter("pacsgp_prediction_batches_total", "Files, or batches of rows of a topic, that were predicted.")
	e.counter("pacsgp_models_taken_total", "Models that score has taken, the first included.")
	e.gauge("pacsgp_prediction_last_success_timestamp_seconds", "Time of the last committed predictions of this process.")
	e.add("pacsgp_predictions_total", 0, "predicted")
	e.add("pacsgp_predictions_total", 0, "refused")
	if c.OnTopics() {
		e.group = newGroupMetrics(e.meters)
	} else {
		e.failedFiles()
	}
	return e
}

func (e *scoreEvents) Adopted(by *score.Predictor) {
	e.why.set(nil)
	e.add("pacsgp_models_taken_total", 1)
	e.show.event("predictions come from the model of certificate " + by.ID)
}

func (e *scoreEvents) Predicted(what score.Done) {
	if e.group != nil { // for files, round does this
		e.why.set(nil)
	}
	n := what.Counts
	e.set("pacsgp_prediction_last_success_timestamp_seconds", unixSeconds(time.Now()))
	e.add("pacsgp_prediction_batches_total", float64(n.Units))
	e.add("pacsgp_predictions_total", float64(n.Rows-n.Refused), "predicted")
	e.add("pacsgp_predictions_total", float64(n.Refused), "refused")
	e.mu.Lock()
	e.sum, e.by = e.sum.Plus(n), what.By
	e.files += int64(len(what.Files))
	e.mu.Unlock()
	for _, f := range what.Files {
		e.show.event(fmt.Sprintf("%s: predictions of %s%s, in %s", f.Path, words.Count(f.Rows, "row"), config.Without(f.Refused, "column"), e.file.Where(f.File)))
		e.others(f.Path+": ", f.Counts)
	}
	e.logCounts(false)
}

// sumEvery is the least time between two log lines about predicted or counted records.
const sumEvery = 10 * time.Second

// logCounts logs how many records were predicted since its last line, at most every sumEvery unless now.
func (e *scoreEvents) logCounts(now bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.sum.Rows - e.last.Rows
	if e.group == nil || n == 0 || !now && time.Since(e.since) < sumEvery {
		return
	}
	e.show.event(fmt.Sprintf("predicted %s in %s%s, by the model of certificate %.12s…",
		words.Count(n, "row"), words.Count(e.sum.Units-e.last.Units, "batch", "batches"), config.Without(e.sum.Refused-e.last.Refused, "its"), e.by))
	e.others("", score.Counts{Rows: n, Other: e.sum.Other - e.last.Other})
	e.since, e.last = time.Now(), e.sum
}

// others warns of rows with a level that the model does not know.
func (e *scoreEvents) others(where string, n score.Counts) {
	if n.Other > 0 {
		e.show.warning(fmt.Sprintf("%s%d of %s with a value of an encoded feature that is new or rare: it counts as other", where, n.Other, words.Count(n.Rows, "row")))
	}
}

// ready returns why score cannot predict, or nil if it can.
func (e *scoreEvents) ready(ctx context.Context) error {
	if err := e.file.Ready(ctx, e.why.get()); err != nil || e.group == nil {
		return err
	}
	return e.group.ready()
}

// fileFaults reports files that cannot be predicted or counted.
type fileFaults struct {
	meters
	show  *display
	verb  string        // predicted or counted
	every time.Duration // between two rounds
	why   reason        // why the service waits, or why files fail
	fault reason        // why the last failed file has failed
}

func (e *fileFaults) failedFiles() {
	e.gauge("pacsgp_prediction_failed_files", "Files that could not be "+e.verb+" in the last round.")
}

func (e *fileFaults) Waits(err error) {
	if errors.Is(err, config.ErrFull) {
		err = fmt.Errorf("%w (hint: free space; it is tried again every %v)", err, e.every)
	}
	e.show.warnOnce(err.Error())
	e.why.set(err)
}

// Failed logs why a file fails, once.
func (e *fileFaults) Failed(err error) {
	e.show.warnOnce(err.Error())
	e.fault.set(err)
}

// round records how many files have failed in a round over all files.
func (e *fileFaults) round(failed int) {
	e.set("pacsgp_prediction_failed_files", float64(failed))
	fault := e.fault.get()
	if failed == 0 || fault == nil {
		e.why.set(nil)
		return
	}
	example := words.If(failed > 1, ", for example")
	e.why.set(fmt.Errorf("%s cannot be %s%s: %w", words.Count(int64(failed), "file"), e.verb, example, fault))
}
