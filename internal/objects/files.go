package objects

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // as stores do
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// Files are the objects of a store, as a file system to publish to. Names are addresses; there are no
// folders to make. A file appears whole, by one conditional write.
//
// From the first lock to the end of the last one, an object is what it was when it was read or
// written first: a write is done only to that version (If-Match, If-None-Match). If another process
// has written in between, the error is [durable.ErrLocked]. So of two processes that read a list of
// numbers at most one can take the next number. Locks exclude no other process.
type Files struct {
	client *client
	temps  map[string]*temporary

	locks int
	seen  map[string]string // ETags, "" of no object; empty without a lock
	md5   bool              // the store makes its ETags of contents
}

var _ durable.FS = (*Files)(nil)

func newFiles(by *client) *Files {
	return &Files{client: by, temps: map[string]*temporary{}, seen: map[string]string{}}
}

// FilesOf returns the file system for a path: for an address fsys if it is [Files], else new ones, for
// one goroutine at a time; for another path fsys, and [durable.OS] for a nil one.
func FilesOf(fsys durable.FS, path string) durable.FS {
	_, far := fsys.(*Files)
	switch {
	case IsAddress(path) && !far:
		return newFiles(newClient(tries, patience))
	case fsys == nil:
		return durable.OS{}
	}
	return fsys
}

// MkdirAll refuses an address that cannot be written to.
func (f *Files) MkdirAll(dir string) error {
	if err := CheckOutput(dir); err != nil {
		return fmt.Errorf("%s: %w", Shown(dir), err)
	}
	return nil
}

// SyncDir has nothing to do: what a store has confirmed is durable.
func (f *Files) SyncDir(string) error { return nil }

// A temporary is the content of an object to be, in memory.
type temporary struct {
	bytes.Buffer

	name string
}

// CreateTemp makes an empty file.
func (f *Files) CreateTemp(string) (durable.File, error) {
	t := &temporary{name: durable.TempPrefix + rand.Text() + durable.TempSuffix}
	f.temps[t.name] = t
	return t, nil
}

// Name is the name under which it can be opened until it is published.
func (t *temporary) Name() string { return t.name }

// Sync has nothing to do before it is published.
func (t *temporary) Sync() error { return nil }

// Close has nothing to do: it may be published yet.
func (t *temporary) Close() error { return nil }

// Rename publishes a temporary file. If it is unknown whether it was published, it is gone.
func (f *Files) Rename(oldName, newName string) error {
	t := f.temps[oldName]
	if t == nil {
		return &fs.PathError{Op: "rename", Path: oldName, Err: fs.ErrNotExist}
	}
	err := f.write(newName, t.Bytes())
	if err == nil || errors.As(err, &unsure{}) {
		delete(f.temps, oldName)
	}
	return err
}

// write replaces an object in the version that was seen.
func (f *Files) write(name string, data []byte) error {
	ctx := context.Background() // a write is not stopped halfway; it ends in time
	was, known := f.seen[name]
	if !known {
		at, err := f.client.head(ctx, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		was = at.version()
	}
	tag, err := f.client.put(ctx, name, was, data, rand.Text())
	if errors.Is(err, errChanged) {
		return errMeanwhile(name)
	}
	if err == nil {
		f.note(name, tag)
	}
	return err
}

func errMeanwhile(name string) error {
	return fmt.Errorf("%s: another process has written it since this one read it: %w", name, durable.ErrLocked)
}

// version is the ETag, "" of no object.
func (i *Info) version() string {
	if i == nil {
		return ""
	}
	return i.tag
}

// note notes the version of an object while there is a lock.
func (f *Files) note(name, tag string) {
	if f.locks > 0 {
		f.seen[name] = tag
	}
}

// mostWhole is the size of the largest object that is read at once, as the list of numbers is.
const mostWhole = 16 << 20

// Open opens an object, or a file that is not published yet.
func (f *Files) Open(name string) (io.ReadCloser, error) {
	if t := f.temps[name]; t != nil {
		return io.NopCloser(bytes.NewReader(t.Bytes())), nil
	}
	ctx := context.Background() // reads end in time
	at, err := f.client.head(ctx, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if was, known := f.seen[name]; known && was != at.version() {
		return nil, errMeanwhile(name)
	}
	f.note(name, at.version())
	if err != nil {
		return nil, err
	}
	if at.size > mostWhole {
		blob := f.client.blob(ctx, name, at)
		return struct {
			io.Reader
			io.Closer
		}{bufio.NewReaderSize(io.NewSectionReader(blob, 0, at.size), pieceBytes), blob}, nil
	}
	data := make([]byte, at.size)
	if err := f.client.get(ctx, name, at, data, 0); err != nil {
		if errors.Is(err, errChanged) {
			err = errMeanwhile(name)
		}
		return nil, err
	}
	// A server that replaces content and tag one after the other gives old numbers under a new tag
	// for a moment. Objects that other programs wrote in parts have other tags.
	if f.md5 && at.mark != "" && at.tag != contentTag(data) {
		return nil, errMeanwhile(name)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// contentTag is the ETag that most stores make of a content.
func contentTag(data []byte) string { return fmt.Sprintf("%x", md5.Sum(data)) } //nolint:gosec // no signature

// Remove removes an object, if there is one, or a temporary file.
func (f *Files) Remove(name string) error {
	if strings.HasPrefix(path.Base(name), durable.TempPrefix) {
		if f.temps[name] == nil {
			return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
		}
		delete(f.temps, name)
		return nil
	}
	err := f.client.do(context.Background(), name, 0, func(ctx context.Context, store minio.Core, bucket, key string) error {
		return store.RemoveObject(ctx, bucket, key, minio.RemoveObjectOptions{})
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		f.note(name, "")
	}
	return err
}

// List returns the names of the objects in a folder, and of folders in it.
func (f *Files) List(dir string) ([]string, error) {
	entries, err := newView(f.client).ReadDir(context.Background(), dir)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// errUnconditional says that a store cannot be an output.
var errUnconditional = errors.New("the store writes without regard to If-None-Match or If-Match, so that two runs could take one number; name a store with conditional writes, or a directory of the machine")

// lockName is the name of the file that tries the conditions of a store.
const lockName = ".lock"

// Lock begins to note the versions of objects. That of .lock refuses a store that ignores conditions:
// it writes the file once, and then as a new object and as one of another version.
func (f *Files) Lock(name string) (io.Closer, error) {
	if path.Base(name) == lockName {
		content := []byte("written by pacsgp to see whether the store has conditional writes\n")
		for n, was := range []string{"", "", "0123456789abcdef0123456789abcdef"} {
			_, err := f.client.put(context.Background(), name, was, content, rand.Text())
			switch {
			case err == nil && n > 0:
				return nil, fmt.Errorf("%s: %w", name, errUnconditional)
			case err != nil && !errors.Is(err, errChanged):
				return nil, err
			}
		}
		at, err := f.client.head(context.Background(), name)
		if err != nil {
			return nil, err
		}
		f.md5 = at.tag == contentTag(content)
	}
	f.locks++
	return lock{f}, nil
}

type lock struct{ of *Files }

// Close ends the noting of the last lock.
func (l lock) Close() error {
	if l.of.locks--; l.of.locks == 0 {
		clear(l.of.seen)
	}
	return nil
}
