package config

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A Stdin is the rows that arrive on standard input. Opened first, it is consumed
// into a spool, which every opening reads.
type Stdin struct {
	in        io.Reader
	config    kafkalog.Config
	keep      bool
	file      string // job file
	temporary bool   // the spool goes when it was read
	mine      bool   // it was made
	window    *kafkalog.Window
	lock      io.Closer
}

// piped is the stream for a job.
func (s SourceSection) piped(job pipeline.Job, output string, faults *yamlfile.Faults) Origin {
	faults.Unless(s.Stream == "-", "source.stream", "%q: want \"-\", which is standard input", s.Stream)
	config := kafkalog.Config{Tolerant: job.BadRows.Some(), Limit: int64(s.Spool.Limit), Folder: s.Spool.Folder}
	config.Columns = spooledColumns(job, "the rows of a stream", faults)
	if config.Folder == "" {
		config.Folder = filepath.Join(output, "_stream")
	}
	return &Stdin{in: s.stdin, config: config, keep: s.Spool.Keep, file: s.file}
}

// Open opens the rows, which are consumed into a spool first if they are not there.
func (s *Stdin) Open(ctx context.Context, want pipeline.Choice) (pipeline.Opened, error) {
	if s.window == nil {
		if err := s.spool(ctx, want); err != nil {
			return nil, err
		}
	}
	return s.window.Open(ctx, want)
}

// spool consumes the stream.
func (s *Stdin) spool(ctx context.Context, want pipeline.Choice) (err error) {
	if s.in == nil {
		return errors.New("stream: there is no standard input")
	}
	if s.config.Columns == nil {
		if s.config.Columns = slices.Clone(want.Features); want.Target != "" {
			s.config.Columns = append(s.config.Columns, want.Target)
		}
	}
	// What an earlier run has kept goes only when something comes.
	in := bufio.NewReader(s.in)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return errors.New("stream: nothing came")
	}
	if s.temporary {
		if s.config.Folder, err = os.MkdirTemp("", "pacsgp-spool-"); err != nil {
			return err
		}
	} else {
		files := durable.OS{}
		if err := files.MkdirAll(s.config.Folder); err != nil {
			return err
		}
		if s.lock, err = files.Lock(filepath.Join(s.config.Folder, ".lock")); err != nil {
			return spoolLocked(err)
		}
	}
	s.mine, s.config.Progress = true, want.Spooled
	s.window, err = kafkalog.SpoolStream(ctx, s.config, in)
	return err
}

// Finds returns "": no file is read by its name.
func (s *Stdin) Finds(string) string { return "" }

// Arguments are what means the same as DATA of a command.
func (s *Stdin) Arguments() []string {
	if s.keep {
		return []string{s.config.Folder}
	}
	return []string{"--source", s.file, "<", "ROWS"} // the same rows on standard input
}

// Replay is the origin of the rows that a certificate names, read again.
func (s *Stdin) Replay(certify.Certificate) (Origin, error) { return s, nil }

// Release removes the spool, also one of a job that failed: the rows have to be sent again
// anyhow.
func (s *Stdin) Release(bool) error {
	var err error
	if s.lock != nil {
		err = s.lock.Close()
		s.lock = nil
	}
	if s.mine && (s.temporary || !s.keep || s.window == nil) {
		err = errors.Join(err, kafkalog.Remove(s.config.Folder))
	}
	return err
}
