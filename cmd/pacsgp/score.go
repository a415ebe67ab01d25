package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/inorder"
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
		Long: "Write predictions for each file of a lake that has none yet, or for the rows of a topic, to\n" +
			"files or to a topic, and go on as files or rows come. The model is the one that a pointer\n" +
			"names, looked up anew before each file or batch of rows: a new one is taken between two,\n" +
			"never within one. Killed at any moment and started again, it predicts no row twice, if the\n" +
			"row is one of a file, goes to one, or exactly_once says so. docs/score.md explains the\n" +
			"score file.",
		Args: exactly(0, "none, for the score file is given by -c"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadScore(cmd.Context(), path, w)
			if err != nil {
				return err
			}
			switch {
			case c.OnTopics():
				err = scoreTopics(cmd.Context(), w, c, once)
			case c.ToTopic():
				err = scoreToTopic(cmd.Context(), w, c, once)
			default:
				err = score(cmd.Context(), w, c, once)
			}
			if !once && cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
				return nil // it was told to end
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVarP(&path, "config", "c", "", "the score file (YAML)")
	f.BoolVar(&once, "once", false, "predict what is there now, and end; status 1 if a file could not be predicted")
	return cmd
}

// score predicts what is there and, unless it is once, what comes.
func score(ctx context.Context, w system, c scoring, once bool) (err error) {
	show := newDisplay(w)
	defer show.end()
	from, closeStand, err := c.stand(show.notice, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStand()) }()
	out, err := sinklake.Open(c.Output.Folder, w.fs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	s := newScorer(c, w, from, show.notice, show.event)
	if err := s.follower.reads(ctx, c.Output.Folder); err != nil {
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
	wait := time.NewTicker(c.Every())
	defer wait.Stop()
	for {
		failed, err := s.round(ctx)
		if err != nil && (once || ctx.Err() != nil) {
			return withSpaceHint(err)
		}
		if errors.Is(err, errFull) {
			err = fmt.Errorf("%w (hint: free space; it is tried again every %v)", err, c.Every())
		}
		if err != nil {
			s.once(err)
			s.metrics.fails(err)
		}
		if once {
			return s.summary(s.Output.Folder, "column", failed)
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
	scoring
	w        system
	follower follower
	say      func(string)
	event    func(string) // is told what was done
	metrics  *scoreMetrics
	of       string          // the certificate of the model that predicts
	told     map[string]bool // faults, which are said once
	swept    map[string]bool // folders
	files    map[string]knownFile
	done     int // files
	rows     int64
	refused  int64
}

func newScorer(c scoring, w system, from stand, say, event func(string)) *scorer {
	return &scorer{
		scoring: c, w: w, say: say, event: event, metrics: newScoreMetrics(), told: map[string]bool{}, swept: map[string]bool{}, files: map[string]knownFile{},
		follower: follower{from: from, res: c.Resources(), say: say},
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
	return s.predictAll(ctx, paths)
}

// filesAtOnce is how many files are predicted at the same time: while one is opened, or
// waits for the disk, there is another.
const filesAtOnce = 3

// A scoredFile is a file, the model that predicts it, and what came of it.
type scoredFile struct {
	path, to string
	ready    *pipeline.Ready
	model    pipeline.Model
	current  certify.Certificate
	id       string
	n        tally
	err      error
}

// predictAll predicts those of the files that have no predictions, and counts those that
// it could not.
func (s *scorer) predictAll(ctx context.Context, paths []string) (failed int, err error) {
	err = inorder.Run(
		ctx, filesAtOnce,
		func(ctx context.Context, next func(scoredFile) error) error {
			for _, path := range paths {
				f, has, err := s.file(ctx, path)
				switch {
				case ctx.Err() != nil:
					return ctx.Err()
				case errors.Is(err, errOutput), errors.Is(err, errNoModel):
					return err
				case has:
					continue
				}
				f.err = err
				s.follower.users.Add(1)
				if err := next(f); err != nil {
					s.follower.users.Done()
					return err
				}
			}
			return nil
		},
		func(f scoredFile) (scoredFile, error) {
			defer s.follower.users.Done()
			if f.err == nil {
				f.n, f.err = s.predict(ctx, f)
			}
			if ctx.Err() != nil {
				return f, ctx.Err()
			}
			if errors.Is(f.err, errOutput) {
				return f, f.err
			}
			return f, nil
		},
		func(f scoredFile) error {
			if f.err != nil { // which stops no other file
				failed++
				s.once(f.err)
			} else {
				s.did(f)
			}
			return nil
		},
	)
	return failed, err
}

// did counts a file that has its predictions.
func (s *scorer) did(f scoredFile) {
	s.done, s.rows, s.refused = s.done+1, s.rows+f.n.rows, s.refused+f.n.refused
	s.metrics.predicted(f.n)
	s.event(fmt.Sprintf("%s: predictions of %s, %d of them without a prediction, in %s", f.path, certify.Count(f.n.rows, "row"), f.n.refused, f.to))
}

// file finds out where the predictions of a file go and which model makes them, unless it
// has predictions: that they are there, whole, is all that is recorded of it.
func (s *scorer) file(ctx context.Context, path string) (f scoredFile, has bool, err error) {
	known, err := s.known(ctx, path)
	if err != nil {
		return f, false, err
	}
	to := s.predictionsOf(known)
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return f, err == nil, err
	}
	if err := s.follow(ctx, path); err != nil {
		return f, false, err
	}
	if err := s.sweep(filepath.Dir(to)); err != nil {
		return f, false, s.unwritten(err)
	}
	return scoredFile{path: path, to: to, ready: s.follower.ready, model: s.follower.model, current: s.follower.current, id: s.follower.id}, false, nil
}

// follow takes the model that is current for a file.
func (s *scorer) follow(ctx context.Context, path string) error {
	if err := s.follower.follow(ctx, func(m pipeline.Model) error {
		_, err := s.open(ctx, path, m)
		return err
	}); err != nil {
		return err
	}
	if s.of != s.follower.id {
		s.of = s.follower.id
		s.metrics.took(s.of)
		s.event("predictions are those of certificate " + s.of)
	}
	return nil
}

// sweep makes a folder for predictions, and removes what a killed process has left there.
func (s *scorer) sweep(folder string) error {
	if s.swept[folder] {
		return nil
	}
	if err := s.w.fs.MkdirAll(folder); err != nil {
		return err
	}
	if err := durable.Sweep(s.w.fs, folder); err != nil {
		return err
	}
	s.swept[folder] = true
	return nil
}

// A knownFile is what the footer of a file says, as long as it stays as it is.
type knownFile struct {
	pipeline.ManifestFile

	info os.FileInfo
}

// known returns what is known of a file. Its footer is read when it is new or has become
// another one.
func (s *scorer) known(ctx context.Context, path string) (pipeline.ManifestFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return pipeline.ManifestFile{}, err
	}
	if of, ok := s.files[path]; ok && os.SameFile(of.info, info) && of.info.Size() == info.Size() && of.info.ModTime().Equal(info.ModTime()) {
		return of.ManifestFile, nil
	}
	found, _, err := ingestlake.Files(ctx, []string{path})
	if err != nil {
		return pipeline.ManifestFile{}, err
	}
	s.files[path] = knownFile{found[0].Listed(s.Folder), info}
	return s.files[path].ManifestFile, nil
}

// open opens a file for a model.
func (s *scorer) open(ctx context.Context, path string, m pipeline.Model) (pipeline.Opened, error) {
	return config.Lake{path}.Open(ctx, pipeline.Choice{
		Features: featuresOf(m), Mark: true, Decoders: s.follower.res.Workers, Pages: s.follower.res.PageMemory() / filesAtOnce, NoDigests: true,
	})
}

// openBoth opens a file for a model, and its columns that are kept.
func (s *scorer) openBoth(ctx context.Context, path string, m pipeline.Model) (pipeline.Opened, *ingestlake.Stored, []sink.Kept, error) {
	src, err := s.open(ctx, path, m)
	if err != nil {
		return nil, nil, nil, err
	}
	kept, err := ingestlake.OpenStored(ctx, path, s.Keep, s.follower.res.PageMemory()/int64(filesAtOnce*max(1, len(s.Keep))))
	if err != nil {
		return nil, nil, nil, err
	}
	columns := make([]sink.Kept, len(s.Keep))
	for i, c := range kept.Columns() {
		columns[i] = sink.Kept{Name: c.Name, Node: c.Node}
	}
	return src, kept, columns, nil
}

// predict writes the predictions of a file.
func (s *scorer) predict(ctx context.Context, f scoredFile) (n tally, err error) {
	src, kept, columns, err := s.openBoth(ctx, f.path, f.model)
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	file, err := durable.Create(s.w.fs, f.to)
	if err != nil {
		return n, s.unwritten(err)
	}
	defer file.Abort()
	out := sink.NewPredictions(file, carried(f.current, f.id), columns...)
	n.batches = 1
	err = f.ready.Predict(ctx, src, func(batch []pipeline.Prediction) error {
		n = n.and(tallyOf(batch))
		beside, err := kept.Next(ctx, len(batch))
		if err != nil {
			return err
		}
		if err := out.Write(batch, beside...); err != nil {
			return s.unwritten(err)
		}
		return nil
	})
	if err != nil {
		return n, err
	}
	for _, step := range []func() error{out.Close, func() error { return s.follower.keepAbout(s.w.fs, s.Output.Folder, f.current) }, file.Commit} {
		if err := step(); err != nil {
			return n, s.unwritten(err)
		}
	}
	return n, nil
}

// summary ends a command that is not to wait. What has the reasons is named.
func (s *scorer) summary(where, reasons string, failed int) error {
	_, err := fmt.Fprintf(s.w.stdout, "%s: predictions of %s, %s, %d of them without a prediction (%s reason says why)\n",
		where, certify.Count(int64(s.done), "new file"), certify.Count(s.rows, "row"), s.refused, reasons)
	if failed > 0 {
		err = errors.Join(err, fmt.Errorf("%s could not be predicted", certify.Count(int64(failed), "file")))
	}
	return err
}
