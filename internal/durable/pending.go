package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// A Pending is a file that is hidden until [Pending.Commit] or [CommitAll] publishes it. Its hidden name is in the
// folder of its destination, so that the final rename stays in one file system. It is for one goroutine at a time.
type Pending struct {
	fs      FS
	file    File
	path    string
	written int64
	synced  bool  // everything written is durable
	seen    bool  // it has its final name, even if the rename returned an error
	err     error // the first failure; Commit returns it
}

// Create starts a file that Commit will publish as path. It replaces an older file.
func Create(fsys FS, path string) (*Pending, error) {
	f, err := fsys.CreateTemp(filepath.Dir(path))
	if err != nil {
		return nil, Explain(path, 0, err)
	}
	return &Pending{fs: fsys, file: f, path: path}, nil
}

// Name returns the hidden name of the file. It is valid until the file is published.
func (p *Pending) Name() string { return p.file.Name() }

// Size returns how many bytes were written.
func (p *Pending) Size() int64 { return p.written }

// Write appends to the file. After an error, Commit returns that error too.
func (p *Pending) Write(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	p.synced = false
	n, err := p.file.Write(b)
	p.written += int64(n)
	if err != nil {
		p.err = Explain(p.path, p.written+int64(len(b)-n), err)
	}
	return n, p.err
}

// Sync makes the content durable under its hidden name, so that a full disk fails now and not in
// Commit. After an error the file is removed.
func (p *Pending) Sync() error {
	if p.file == nil {
		return fmt.Errorf("%s: committed or aborted before", p.path)
	}
	if p.err == nil && !p.synced {
		p.fail(p.file.Sync())
		p.synced = true
	}
	if p.err != nil {
		p.Abort()
	}
	return p.err
}

// Commit publishes the file: first it makes the content durable, then the name. If it returns nil, the file survives
// a power cut. After an error the destination is unchanged or, if only the last step failed, is the whole new file.
func (p *Pending) Commit() error { return CommitAll(p) }

// CommitAs is Commit with another file name in the same folder.
func (p *Pending) CommitAs(name string) error {
	p.path = filepath.Join(filepath.Dir(p.path), name)
	return p.Commit()
}

// CommitAll publishes new files of one folder in order. The last becomes visible only when the others are durable.
// After an error before that, it removes all files, so that none is visible unless the removal fails too.
func CommitAll(files ...*Pending) (err error) {
	defer func() {
		if err == nil || files[len(files)-1].seen {
			return
		}
		for _, p := range files {
			if p.seen {
				_ = p.fs.Remove(p.path) // the first error is the one to report
			}
			p.Abort()
		}
	}()
	for _, p := range files {
		if err := p.Sync(); err != nil {
			return err
		}
	}
	for i, p := range files {
		if i > 0 && i == len(files)-1 {
			if err := p.syncDir(); err != nil {
				return err
			}
		}
		if err := p.publish(); err != nil {
			return err
		}
	}
	if len(files) == 0 {
		return nil
	}
	return files[len(files)-1].syncDir()
}

// publish renames a durable file to its final name, which is not durable yet. It unlocks the file
// last: before the rename, the sweep of another process would remove an unlocked file.
func (p *Pending) publish() error {
	err := p.fs.Rename(p.file.Name(), p.path)
	p.fail(err)
	if p.seen = err == nil; !p.seen {
		// The first error is reported. A leftover that cannot be removed now is removed when the
		// directory is opened again. If the hidden file is gone, the rename was done.
		gone := p.fs.Remove(p.file.Name())
		p.seen = errors.Is(gone, fs.ErrNotExist) && !errors.Is(err, fs.ErrNotExist)
	}
	p.fail(p.file.Close())
	p.file = nil
	return p.err
}

func (p *Pending) syncDir() error {
	if err := SyncDir(p.fs, filepath.Dir(p.path)); err != nil {
		return Explain(p.path, p.written, err)
	}
	return nil
}

// Abort removes the file. After Commit it does nothing, so that it can be deferred.
func (p *Pending) Abort() {
	if p.file == nil {
		return
	}
	_ = p.file.Close() // the file is not needed
	_ = p.fs.Remove(p.file.Name())
	p.file = nil
}

func (p *Pending) fail(err error) {
	if err != nil && p.err == nil {
		p.err = Explain(p.path, p.written, err)
	}
}

// Stage writes data to a hidden, durable file that Commit will publish as path.
func Stage(fsys FS, path string, data []byte) (*Pending, error) {
	p, err := Create(fsys, path)
	if err != nil {
		return nil, err
	}
	_, _ = p.Write(data) // Sync returns its error
	if err := p.Sync(); err != nil {
		return nil, err
	}
	return p, nil
}

// Write publishes a file as path, with what write writes. After an error an older file stays.
func Write(fsys FS, path string, write func(p *Pending) error) error {
	p, err := Create(fsys, path)
	if err != nil {
		return err
	}
	defer p.Abort()
	if err := write(p); err != nil {
		return err
	}
	return p.Commit()
}

// WriteFile publishes data as path, like [Write].
func WriteFile(fsys FS, path string, data []byte) error {
	return Write(fsys, path, func(p *Pending) error {
		_, err := p.Write(data)
		return err
	})
}

// Explain adds to an error of writing path what to do about it. The file needs at least size bytes.
func Explain(path string, size int64, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("write %s: %w (hint: free at least %d bytes, and start it again if it has ended; nothing half-written stays)", path, err, size)
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("write %s: %w (hint: make its folder writable for this user, or choose another output)", path, err)
	}
	return fmt.Errorf("write %s: %w", path, err)
}

// Sweep removes the unfinished files of killed processes from dir: unlocked files with names from [FS.CreateTemp].
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
			continue // in use, or not a regular file of ours
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
