package lake

import (
	"context"
	"math"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
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

// A Listing is a lake as a schedule looks at it: the files that are there now.
type Listing struct {
	Paths  Rows
	Folder string // that its files are named relative to
}

var _ schedule.Lake = Listing{}

// Files lists them, by their footers.
func (l Listing) Files(ctx context.Context) ([]schedule.File, error) {
	files, _, err := Files(ctx, l.Paths)
	if err != nil {
		return nil, err
	}
	all := make([]schedule.File, len(files))
	for i, f := range files {
		all[i] = schedule.File{ManifestFile: f.Listed(l.Folder), Where: f.Path}
		all[i].Modified = &f.Modified
	}
	return all, nil
}

// Rows are those of some of them.
func (l Listing) Rows(files []schedule.File) pipeline.Rows {
	paths := make(Rows, len(files))
	for i, f := range files {
		paths[i] = f.Where
	}
	return paths
}

// Most is the largest value of a column that the footer of a file tells, else NaN.
func (l Listing) Most(ctx context.Context, f schedule.File, column string) (float64, error) {
	src, err := Open(ctx, Config{Paths: []string{f.Where}, Features: []string{column}})
	if err != nil {
		return 0, err
	}
	found, err := src.Told(ctx)
	if err != nil || len(found) != 1 {
		return math.NaN(), err
	}
	return found[0].Most, nil
}
