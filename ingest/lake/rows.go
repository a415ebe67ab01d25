package lake

import (
	"context"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// Rows are the rows of these files, directories and globs.
type Rows []string

// Open opens the files as [Open] does.
func (r Rows) Open(ctx context.Context, want dataset.Choice) (dataset.Opened, error) {
	src, err := Open(ctx, Config{Paths: r, Choice: want})
	if err != nil {
		return nil, err
	}
	return src, nil
}

// Release does nothing: files are only read.
func (r Rows) Release(bool) error { return nil }

// A Listing lists the current files of a lake for a schedule.
type Listing struct {
	Paths  Rows
	Folder string // the names of files are relative to it
}

// Files lists the files with their footers.
func (l Listing) Files(ctx context.Context) ([]schedule.File, error) {
	files, _, err := Files(ctx, l.Paths)
	if err != nil {
		return nil, err
	}
	all := make([]schedule.File, len(files))
	for i, f := range files {
		all[i] = schedule.File{ManifestFile: f.ListedFile(l.Folder), Where: f.Path}
		all[i].Modified = &f.Modified
	}
	return all, nil
}

// Rows returns the rows of some of the files.
func (l Listing) Rows(files []schedule.File) dataset.Rows {
	paths := make(Rows, len(files))
	for i, f := range files {
		paths[i] = f.Where
	}
	return paths
}
