package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// A Pending is a file that is hidden until [Pending.Commit] or [CommitAll]. Its hidden name
// is in the folder of its destination, so that the final rename stays inside one file system.
// It is for one goroutine at a time.
type Pending struct {
	fs      FS
	file    File
	path    string
	written int64
	synced  bool  // all that was written is durable
	seen    bool  // it has its name, even if the file system said otherwise
	err     error // the first failure; Commit returns it
}

// Create starts a file that Commit will publish as path, instead of an older one.
func Create(fsys FS, path string) (*Pending, error) {
	f, err := fsys.CreateTemp(filepath.Dir(path))
	if err != nil {
		return nil, Explain(path, 0, err)
	}
	return &Pending{fs: fsys, file: f, path: path}, nil
}

// Name returns the hidden name that the file has before its publication, for its writer.
func (p *Pending) Name() string { return p.file.Name() }

// Size returns how many bytes were written.
func (p *Pending) Size() int64 { return p.written }

// Write appends to the file. A failure is final: Commit will return it too.
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

// Sync makes the content durable under its hidden name, as Commit does: a full disk fails now.
// After an error the file is removed.
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

// Commit publishes the file: content first, then the name, each made durable before the next
// step. When it returns nil the file survives a power cut. After an error the destination is as
// before, or, if only the last step failed, the whole new file.
func (p *Pending) Commit() error { return CommitAll(p) }

// CommitAs is Commit under another name in the same folder.
func (p *Pending) CommitAs(name string) error {
	p.path = filepath.Join(filepath.Dir(p.path), name)
	return p.Commit()
}

// CommitAll publishes new files of one folder in order. The last is seen only where the others
// are durable. After an error before that, all are removed, and none is seen unless the file
// system refuses to remove it.
func CommitAll(files ...*Pending) (err error) {
	defer func() {
		if err == nil || files[len(files)-1].seen {
			return
		}
		for _, p := range files {
			if p.seen {
				_ = p.fs.Remove(p.path) // the failure to report is the first one
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

// publish gives a durable file its name, which is not durable yet. Its lock goes last: between
// unlocking and renaming the sweep of another process would remove it.
func (p *Pending) publish() error {
	err := p.fs.Rename(p.file.Name(), p.path)
	p.fail(err)
	if p.seen = err == nil; !p.seen {
		// The first failure is reported. A leftover that cannot be removed now goes when the
		// directory is opened again. If it is gone, the rename has had its effect.
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

// Abort removes the file. After Commit it does nothing, so that it can be
// deferred.
func (p *Pending) Abort() {
	if p.file == nil {
		return
	}
	_ = p.file.Close() // nothing of the file is wanted any more
	_ = p.fs.Remove(p.file.Name())
	p.file = nil
}

func (p *Pending) fail(err error) {
	if err != nil && p.err == nil {
		p.err = Explain(p.path, p.written, err)
	}
}

// Stage writes data to a file, durably and unseen, that Commit will publish as path.
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

// Write publishes what write writes as path, instead of an older file. After an error of write nothing stays.
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

// WriteFile publishes data as path, as [Write] does.
func WriteFile(fsys FS, path string, data []byte) error {
	return Write(fsys, path, func(p *Pending) error {
		_, err := p.Write(data)
		return err
	})
}

// Explain returns the failure err of a write of path, of at least size bytes, with what to do
// about it.
func Explain(path string, size int64, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("write %s: %w (hint: free at least %d bytes, and start it again; nothing half-written stays)", path, err, size)
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("write %s: %w (hint: choose an output directory that this user may write to)", path, err)
	}
	return fmt.Errorf("write %s: %w", path, err)
}

// Sweep removes the unfinished files of killed commands from dir: regular files with names of
// theirs that are not locked.
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
			continue // in use, or not ours; it is not read in either case
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
