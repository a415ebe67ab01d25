package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// A spooled origin is consumed into its spool at its first opening. All openings read the spool.
type spooled struct {
	Config    kafkalog.Config
	file      string           // job file
	temporary bool             // the spool is removed after reading
	frozen    *kafkalog.Window // nil before spooling
	lock      io.Closer
}

// open opens the spool, after consume has filled it if necessary.
func (s *spooled) open(ctx context.Context, want dataset.Choice, consume func(context.Context) error) (dataset.Opened, error) {
	if s.frozen == nil {
		if s.Config.Columns == nil {
			if s.Config.Columns = slices.Clone(want.Features); want.Target != "" {
				s.Config.Columns = append(s.Config.Columns, want.Target)
			}
		}
		s.Config.Progress = want.Spooled
		if err := consume(ctx); err != nil {
			return nil, err
		}
	}
	return s.frozen.Open(ctx, want)
}

// makeFolder makes the folder of the spool: a temporary one, or the declared one with a lock.
func (s *spooled) makeFolder() (err error) {
	if s.temporary {
		s.Config.Folder, err = os.MkdirTemp("", "pacsgp-spool-")
		return err
	}
	files := durable.OS{}
	if err := files.MkdirAll(s.Config.Folder); err != nil {
		return err
	}
	s.lock, err = files.Lock(filepath.Join(s.Config.Folder, ".lock"))
	if errors.Is(err, durable.ErrLocked) {
		err = pipeline.ErrHeld
	}
	if err != nil {
		err = fmt.Errorf("spool: %w", err)
	}
	return err
}

// unlock unlocks the folder.
func (s *spooled) unlock() (err error) {
	if s.lock != nil {
		err = s.lock.Close()
		s.lock = nil
	}
	return err
}

// Finds returns "": no file is read by its name.
func (s *spooled) Finds(string) string { return "" }
