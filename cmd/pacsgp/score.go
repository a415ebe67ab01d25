package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/words"
)

func scoreCommand(w system) *cobra.Command {
	var path, trusted string
	var once bool
	cmd := &cobra.Command{
		Use:   "score score.yaml",
		Short: "Predict new files of a lake, or rows of a topic, with the model that is current",
		Long: "Write predictions for each file of a lake that has none yet, to files, or for the rows of a\n" +
			"topic, to files or to a topic, and go on as files or rows come. The model is the one that a pointer\n" +
			"names, read again before each file or batch of rows: a new one is taken between two,\n" +
			"never within one. Killed at any moment and started again, it predicts no row twice.\n" +
			"docs/howto/score.md explains the score file.",
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
	f.Func("trusted", config.TrustedKeys, config.Trust(&trusted))
	f.BoolVar(&once, "once", false, "predict what is there now, and end; status 1 if a file could not be predicted")
	return cmd
}

// runScore predicts the rows that are there and, unless once is set, those that come.
func runScore(ctx context.Context, w system, c config.ScoreFile, trusted string, once bool) (err error) {
	show := newDisplay(w)
	defer show.end()
	e := newScoreEvents(c, show)
	s := config.Scoring{
		ScoreFile: c, Service: config.Service{FS: w.fs, Said: show.event, Warned: show.warning},
		Trusted: trusted, Once: once, Events: e, RoundEnded: e.metrics.round,
	}
	if !once && c.OnTopics() {
		s.Patience = config.ServicePatience
	}
	if group := e.metrics.group; group != nil {
		s.OnChange, group.shared = group.membership, c.Shared()
		if c.Serve.Declared() {
			s.Lags = group.behind
		}
	}
	unserve, err := serve(ctx, c.Serve, e.metrics.registry, e.metrics.ready, []string{c.Model.Folder}, show.event)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unserve()) }()
	failed, err := s.Run(ctx)
	switch {
	case ctx.Err() != nil && once:
		return ctx.Err()
	case ctx.Err() != nil:
		e.logCounts(true)
		show.event("stopped: started again, it goes on where it was")
		return nil
	case errors.Is(err, config.ErrFull):
		return fmt.Errorf("%w (hint: free space, then run the same command again: it goes on with what has no predictions yet)", err)
	case err != nil:
		return err
	}
	return e.summary(w, c, failed)
}

// summary ends a command with --once.
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
