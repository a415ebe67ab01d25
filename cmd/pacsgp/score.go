package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

func scoreCommand(w system) *cobra.Command {
	var path string
	var once bool
	cmd := &cobra.Command{
		Use:   "score -c score.yaml",
		Short: "Predict new files of a lake, or rows of a topic, with the model that is current",
		Long: "Write predictions for each file of a lake that has none yet, or for the rows of a topic to\n" +
			"another one, and go on as files or rows come. The model is the one that a pointer names,\n" +
			"looked up anew before each file or batch of rows: a new one is taken between two, never\n" +
			"within one. Killed at any moment and started again, it predicts no file twice, and with\n" +
			"exactly_once no row. docs/schedule.md explains the score file.",
		Args: exactly(0, "none, for the score file is given by -c"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadScore(cmd.Context(), path, w)
			if err != nil {
				return err
			}
			if c.onTopics() {
				return scoreTopics(cmd.Context(), w, c, once)
			}
			return score(cmd.Context(), w, c, once)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&path, "config", "c", "", "the score file (YAML)")
	f.BoolVar(&once, "once", false, "predict what is there now, and end; status 1 if a file could not be read")
	return cmd
}

// score predicts what is there and, unless it is once, what comes.
func score(ctx context.Context, w system, c scoreConfig, once bool) (err error) {
	show := newDisplay(w)
	defer show.end()
	from, closeStand, err := c.stand(show.notice, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStand()) }()
	out, err := sinklake.Open(c.Output.folder, w.fs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	s := newScorer(c, w, from, show.notice, show.event)
	if s.follower.first, s.follower.about, err = readAbout(ctx, c.Output.folder); err != nil {
		return err
	}
	defer func() {
		if s.follower.ready != nil {
			s.follower.ready.Close()
		}
	}()
	unserve, err := c.serve(ctx, s.metrics, show.event)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unserve()) }()
	wait := time.NewTicker(cmp.Or(time.Duration(c.Poll), defaultPoll))
	defer wait.Stop()
	for {
		failed, err := s.round(ctx)
		if err != nil && (once || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			s.once(err)
			s.metrics.fails(err)
		}
		if once {
			return s.summary(failed)
		}
		select {
		case <-wait.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// A scorer writes the predictions of files that have none yet.
type scorer struct {
	scoreConfig
	w        system
	follower follower
	say      func(string)
	event    func(string) // is told what was done
	metrics  *scoreMetrics
	of       string          // the certificate of the model that predicts
	told     map[string]bool // faults, which are said once
	swept    map[string]bool // folders
	places   map[string]place
	files    int
	rows     int64
	refused  int64
}

func newScorer(c scoreConfig, w system, from stand, say, event func(string)) *scorer {
	return &scorer{
		scoreConfig: c, w: w, say: say, event: event, metrics: newScoreMetrics(), told: map[string]bool{}, swept: map[string]bool{}, places: map[string]place{},
		follower: follower{from: from, res: c.resources(), say: say},
	}
}

func (s *scorer) once(err error) {
	if text := err.Error(); !s.told[text] {
		s.told[text] = true
		s.say(text)
	}
}

// round predicts all files that have no predictions, and counts those that it could not.
func (s *scorer) round(ctx context.Context) (failed int, err error) {
	paths, err := ingestlake.List(ctx, s.Source.Paths)
	if err != nil {
		return 0, err
	}
	for _, path := range paths {
		switch err := s.file(ctx, path); {
		case ctx.Err() != nil:
			return failed, ctx.Err()
		case errors.Is(err, errOutput), errors.Is(err, errNoModel):
			return failed, err
		case err != nil:
			failed++
			s.once(err)
		}
	}
	return failed, nil
}

// errOutput marks faults of the place that predictions go to.
var errOutput = errors.New("predictions cannot be written")

// file predicts a file, unless it has predictions: that they are there, whole, is all that
// is recorded of it.
func (s *scorer) file(ctx context.Context, path string) error {
	to, err := s.goes(ctx, path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.follower.follow(ctx, func(m pipeline.Model) error {
		_, err := s.open(ctx, path, m)
		return err
	}); err != nil {
		return err
	}
	return s.predict(ctx, path, to)
}

// A place is where the predictions of a file go, as long as it stays as it is.
type place struct {
	to   string
	info os.FileInfo
}

// goes returns where the predictions of a file go. Its footer is read when it is new or has
// become another one.
func (s *scorer) goes(ctx context.Context, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if known, ok := s.places[path]; ok && os.SameFile(known.info, info) && known.info.Size() == info.Size() && known.info.ModTime().Equal(info.ModTime()) {
		return known.to, nil
	}
	found, _, err := ingestlake.Files(ctx, []string{path})
	if err != nil {
		return "", err
	}
	s.places[path] = place{s.predictionsOf(listed(found, s.folder)[0]), info}
	return s.places[path].to, nil
}

// open opens a file for a model.
func (s *scorer) open(ctx context.Context, path string, m pipeline.Model) (rows, error) {
	return lakeOrigin{path}.open(ctx, reading{
		Choice: ingest.Choice{Features: featuresOf(m)}, bad: ingest.Mark, decoders: s.follower.res.Workers, pages: forPages(s.follower.res),
	})
}

func (s *scorer) predict(ctx context.Context, path, to string) error {
	src, err := s.open(ctx, path, s.follower.model)
	if err != nil {
		return err
	}
	kept := pipeline.NewBeside(nil)
	if len(s.Keep) > 0 {
		beside, err := (lakeOrigin{path}).open(ctx, reading{Choice: ingest.Choice{Features: s.Keep}, bad: ingest.Mark, decoders: 1})
		if err != nil {
			return err
		}
		kept = pipeline.NewBeside(beside)
	}
	defer kept.Close()
	file, err := s.begin(to)
	if err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	defer file.Abort()
	out := sink.NewPredictions(file, carried(s.follower.current, s.follower.id), s.Keep...)
	if s.of != s.follower.id {
		s.of = s.follower.id
		s.metrics.took(s.of)
		s.event("predictions are those of certificate " + s.of)
	}
	n, err := s.write(ctx, src, kept, out)
	if err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	if err := s.keepAbout(); err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	if err := file.Commit(); err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	s.files, s.rows, s.refused = s.files+1, s.rows+n.rows, s.refused+n.refused
	s.metrics.predicted(n)
	s.event(fmt.Sprintf("%s: predictions of %s, %d of them without a prediction, in %s", path, certify.Count(n.rows, "row"), n.refused, to))
	return nil
}

// batchesAhead is how many batches of predictions may wait to be written.
const batchesAhead = 2

// write predicts the rows of a source, and writes one batch while the next is predicted.
func (s *scorer) write(ctx context.Context, src pipeline.Source, kept *pipeline.Beside, out *sink.Predictions) (n tally, err error) {
	both, within := errgroup.WithContext(ctx)
	full := make(chan []pipeline.Prediction, batchesAhead)
	used := make(chan []pipeline.Prediction, batchesAhead+2) // all that there are
	both.Go(func() error {
		defer close(full)
		return s.follower.ready.Predict(within, src, func(batch []pipeline.Prediction) error {
			var own []pipeline.Prediction
			select {
			case own = <-used:
			default:
			}
			select {
			case full <- append(own[:0], batch...):
				return nil
			case <-within.Done():
				return within.Err()
			}
		})
	})
	both.Go(func() error {
		for batch := range full {
			for _, p := range batch {
				if n.rows++; p.Reason != "" {
					n.refused++
				}
			}
			beside, err := kept.Next(within, len(batch))
			if err != nil {
				return err
			}
			if err := out.Write(batch, beside...); err != nil {
				return fmt.Errorf("%w: %w", errOutput, err)
			}
			used <- batch
		}
		return nil
	})
	err = both.Wait()
	return n, err
}

// begin starts a file of predictions.
func (s *scorer) begin(to string) (*sinklake.Pending, error) {
	folder := filepath.Dir(to)
	if !s.swept[folder] { // what a killed process has left there goes
		if err := s.w.fs.MkdirAll(folder); err != nil {
			return nil, err
		}
		if err := sinklake.Sweep(s.w.fs, folder); err != nil {
			return nil, err
		}
		s.swept[folder] = true
	}
	return sinklake.Create(s.w.fs, to)
}

// summary ends a command that is not to wait.
func (s *scorer) summary(failed int) error {
	_, err := fmt.Fprintf(s.w.stdout, "%s: predictions of %s, %s, %d of them without a prediction (column reason says why)\n",
		s.Output.folder, certify.Count(int64(s.files), "new file"), certify.Count(s.rows, "row"), s.refused)
	if failed > 0 {
		err = errors.Join(err, fmt.Errorf("%s could not be predicted", certify.Count(int64(failed), "file")))
	}
	return err
}
