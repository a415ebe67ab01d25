package config

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Stdin is the rows that arrive on standard input.
type Stdin struct {
	spooled

	in   io.Reader
	keep bool
	mine bool // this process made the spool
}

// piped is the stream for a job.
func (s SourceSection) piped(job job.Job, output string, faults *yamlfile.Faults) Origin {
	config := kafkalog.Config{Tolerant: job.BadRows.Some(), Encoded: job.Encode, Limit: int64(s.Spool.Limit), Folder: s.Spool.Folder}
	config.Columns = spooledColumns(job, "the rows of a stream", faults)
	if config.Folder == "" {
		config.Folder = filepath.Join(output, "_stream")
	}
	return &Stdin{spooled: spooled{Config: config, file: s.file}, in: s.stdin, keep: s.Spool.Keep}
}

// Open opens the rows, after consuming them into a spool if necessary.
func (s *Stdin) Open(ctx context.Context, want dataset.Choice) (dataset.Opened, error) {
	return s.open(ctx, want, s.consume)
}

// consume consumes the stream into its spool.
func (s *Stdin) consume(ctx context.Context) (err error) {
	if s.in == nil {
		return errors.New("stream: there is no standard input")
	}
	// The kept spool of an earlier run is replaced by rows only.
	in := bufio.NewReader(s.in)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return errors.New("stream: nothing came")
	}
	if err := s.place(); err != nil {
		return err
	}
	s.mine = true
	s.frozen, err = kafkalog.SpoolStream(ctx, s.Config, in)
	return err
}

// Arguments name these rows on a command line.
func (s *Stdin) Arguments() []string {
	if s.keep {
		return []string{s.Config.Folder}
	}
	return []string{"--source", s.file, "<", "ROWS"} // the same rows on standard input
}

// Replay is the origin of the rows of a certificate.
func (s *Stdin) Replay(certify.Certificate) (Origin, error) { return s, nil }

// Release removes the spool, also that of a failed job, which needs the rows again.
func (s *Stdin) Release(bool) error {
	err := s.unlock()
	if s.mine && (s.temporary || !s.keep || s.frozen == nil) {
		err = errors.Join(err, kafkalog.Remove(s.Config.Folder))
	}
	return err
}
