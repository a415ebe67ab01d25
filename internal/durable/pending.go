package durable

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
)

// A Pending is a file that nobody sees until [Pending.Commit]. It is written
// under a hidden name in the directory of its destination, so that the final
// rename stays inside one file system.
type Pending struct {
	fs      FS
	file    File
	path    string
	written int64
	err     error // the first failure; Commit returns it
}

// Create starts a file that Commit will publish as path, in place of what
// may be there.
func Create(fsys FS, path string) (*Pending, error) {
	f, err := fsys.CreateTemp(filepath.Dir(path))
	if err != nil {
		return nil, Explain(path, 0, err)
	}
	return &Pending{fs: fsys, file: f, path: path}, nil
}

// Path returns where the file is to be.
func (p *Pending) Path() string { return p.path }

// Name returns the hidden name that the file has before its publication.
func (p *Pending) Name() string { return p.file.Name() }

// Write appends to the file. A failure is final: Commit will return it too.
func (p *Pending) Write(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.file.Write(b)
	p.written += int64(n)
	if err != nil {
		p.err = Explain(p.path, p.written+int64(len(b)-n), err)
	}
	return n, p.err
}

// Commit publishes the file: content first, then the name, each made durable
// before the next step. When it returns nil the file survives a power cut.
// After an error nothing is at the destination but what was there before, or,
// if only the last step failed, the whole new file.
func (p *Pending) Commit() error {
	if err := p.finish(); err != nil {
		return err
	}
	return p.announce()
}

// CommitAs is Commit under another name in the same folder.
func (p *Pending) CommitAs(name string) error {
	p.path = filepath.Join(filepath.Dir(p.path), name)
	return p.Commit()
}

// announce publishes a finished file durably.
func (p *Pending) announce() error {
	if err := p.Publish(); err != nil {
		return err
	}
	if err := SyncDir(p.fs, filepath.Dir(p.path)); err != nil {
		return Explain(p.path, p.written, err)
	}
	return nil
}

// finish makes the content durable. Nobody sees it yet.
func (p *Pending) finish() error {
	if p.file == nil {
		return fmt.Errorf("%s: committed or given up before", p.path)
	}
	if p.err == nil {
		p.fail(p.file.Sync())
	}
	if p.err != nil {
		p.Abort()
	}
	return p.err
}

// Publish gives a finished file its name, which is not durable yet.
func (p *Pending) Publish() error {
	p.fail(p.file.Close())
	if p.err == nil {
		p.fail(p.fs.Rename(p.file.Name(), p.path))
	}
	if p.err != nil {
		// The failure to report is the first one; a leftover that cannot be
		// removed now is removed when the directory is opened again.
		_ = p.fs.Remove(p.file.Name())
	}
	p.file = nil
	return p.err
}

// Abort gives the file up and removes what was written. After Commit it does
// nothing, so that it can be deferred.
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

// Explain adds what to do about a failed write.
func Explain(path string, size int64, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("write %s: %w (hint: no space is left for at least %d bytes; nothing half-written stays, so free some and run the same command again)", path, err, size)
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("write %s: %w (hint: choose an output directory that this user may write to)", path, err)
	}
	return fmt.Errorf("write %s: %w", path, err)
}

// Prepare writes data to a hidden file that is to become path.
func Prepare(fsys FS, path string, data ...[]byte) (*Pending, error) {
	p, err := Create(fsys, path)
	if err != nil {
		return nil, err
	}
	for _, b := range data {
		if _, err := p.Write(b); err != nil {
			p.Abort()
			return nil, err
		}
	}
	return p, p.finish()
}

// WriteFile publishes data under path.
func WriteFile(fsys FS, path string, data ...[]byte) error {
	p, err := Prepare(fsys, path, data...)
	if err != nil {
		return err
	}
	return p.announce()
}
