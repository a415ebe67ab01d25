package lake

import (
	"context"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/pipeline"
)

// Rows are the rows of the files, directories and globs that it lists.
type Rows []string

var _ pipeline.Rows = Rows(nil)

// Open opens the files as [Open] does.
func (r Rows) Open(ctx context.Context, want pipeline.Choice) (pipeline.Opened, error) {
	src, err := Open(ctx, Config{
		Paths: r, Features: want.Features, Exclude: want.Exclude, Target: want.Target, BadRows: ingest.Marking(want.Mark), Decoders: want.Decoders,
		Pages: want.Pages, NoDigests: want.NoDigests,
	})
	if err != nil {
		return nil, err
	}
	return src, nil
}

// Release does nothing: files are only read.
func (r Rows) Release(bool) error { return nil }
