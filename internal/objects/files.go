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

// Files publishes to a store, as a file system. Names are addresses, and folders need not be made.
// A file appears whole, by one conditional write.
//
// While a lock is held, each object is pinned to the version that was first read or written: a
// write succeeds only on that version (If-Match, If-None-Match). If another process has written
// meanwhile, the error is [durable.ErrLocked]. So of two processes that read a list of numbers at
// most one can take the next number. Locks themselves exclude no other process.
type Files struct {
	client *client
	temps  map[string]*temporary

	locks int
	seen  map[string]string // ETags by name, "" for no object; used while locks > 0
	md5   bool              // the store's ETags are MD5 sums of the content
}

var _ durable.FS = (*Files)(nil)

func newFiles(by *client) *Files {
	return &Files{client: by, temps: map[string]*temporary{}, seen: map[string]string{}}
}

// FilesOf returns a file system for path: a new [Files], for one goroutine at a time, if path is an
// address and fsys is not [Files]; [durable.OS] if fsys is nil; otherwise fsys.
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

// MkdirAll only returns an error for an address that cannot be written to.
func (f *Files) MkdirAll(dir string) error {
	if err := CheckOutput(dir); err != nil {
		return fmt.Errorf("%s: %w", Shown(dir), err)
	}
	return nil
}

// SyncDir does nothing: what a store has confirmed is durable.
func (f *Files) SyncDir(string) error { return nil }

// A temporary is the content of an unpublished object, in memory.
type temporary struct {
	bytes.Buffer

	name string
}

// CreateTemp creates an empty file in memory. It needs no folder.
func (f *Files) CreateTemp(string) (durable.File, error) {
	t := &temporary{name: durable.TempPrefix + rand.Text() + durable.TempSuffix}
	f.temps[t.name] = t
	return t, nil
}

// Name returns the name under which Open finds it until it is published.
func (t *temporary) Name() string { return t.name }

// Sync does nothing: the content is in memory until it is published.
func (t *temporary) Sync() error { return nil }

// Close does nothing: the file may still be published.
func (t *temporary) Close() error { return nil }

// Rename publishes a temporary file. If the result is unknown, the temporary file is gone.
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

// write writes an object over the version that was seen.
func (f *Files) write(name string, data []byte) error {
	ctx := context.Background() // a write must not stop halfway; its time is bounded
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

// version returns the ETag, or "" if i is nil: there is no object.
func (i *Info) version() string {
	if i == nil {
		return ""
	}
	return i.tag
}

// note records the version of an object while there is a lock.
func (f *Files) note(name, tag string) {
	if f.locks > 0 {
		f.seen[name] = tag
	}
}

// mostWhole is the size in bytes up to which an object is read at once.
const mostWhole = 16 << 20

// Open opens an object or a temporary file.
func (f *Files) Open(name string) (io.ReadCloser, error) {
	if t := f.temps[name]; t != nil {
		return io.NopCloser(bytes.NewReader(t.Bytes())), nil
	}
	ctx := context.Background() // its time is bounded
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
	// A server that replaces content and tag separately can return old content under a new tag for
	// a moment. Objects that other programs wrote in parts have other tags.
	if f.md5 && at.mark != "" && at.tag != contentTag(data) {
		return nil, errMeanwhile(name)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// contentTag returns the ETag of a content in most stores.
func contentTag(data []byte) string { return fmt.Sprintf("%x", md5.Sum(data)) } //nolint:gosec // no signature

// Remove removes an object or a temporary file. It is no error if the object does not exist.
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

// List returns the names of the objects and folders in a folder.
func (f *Files) List(dir string) ([]string, error) {
	entries, err := newView(f.client).ReadDir(context.Background(), dir)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// errUnconditional means that a store cannot be an output.
var errUnconditional = errors.New("the store writes without regard to If-None-Match or If-Match, so that two runs could take one number; name a store with conditional writes, or a directory of the machine")

// lockName is the name of the file that tests whether a store has conditional writes.
const lockName = ".lock"

// Lock pins the versions of objects until it is closed. For .lock it first checks that the store
// obeys conditions: after a first write, writes of a new object or of another version must fail.
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

// Close ends a lock. The last one forgets all versions.
func (l lock) Close() error {
	if l.of.locks--; l.of.locks == 0 {
		clear(l.of.seen)
	}
	return nil
}
