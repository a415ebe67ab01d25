package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Sweep removes the unfinished files of killed commands from dir: regular files with names of
// theirs that nobody has locked.
func Sweep(fsys FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, name := range names {
		if !temporary.MatchString(name) {
			continue
		}
		path := filepath.Join(dir, name)
		lock, err := fsys.Lock(path)
		if err != nil {
			continue // in use, or no file of ours; nobody reads it in either case
		}
		if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("remove leftover %s: %w", path, err), lock.Close())
		}
		if err := lock.Close(); err != nil {
			return fmt.Errorf("remove leftover %s: %w", path, err)
		}
	}
	return nil
}
