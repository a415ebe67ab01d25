package objects

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // as stores do
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// Files are the objects of stores that speak S3, as a file system to publish to. Names are
// addresses; there are no folders to make. A file appears whole, by one conditional write.
//
// From the first lock to the end of the last one, an object is what it was when it was read or
// written first: a write is done only to that version (If-Match, If-None-Match). If another process
// has written in between, the error is [durable.ErrLocked]. So of two processes that read a list of
// numbers at most one can take the next number, whoever holds the lease.
type Files struct {
	Told func(text string) // gets a notice of the wait for a lease; nil drops it

	client        *client
	writer        string        // of what is written here
	beat, expires time.Duration // of leases
	temps         map[string]*temporary

	writes int
	locks  int
	lease  *lease            // nil: not held
	seen   map[string]string // ETags, "" of no object; empty without a lock
	unsure map[string]bool   // objects whose last write may have been done
	md5    bool              // the store makes its ETags of contents
}

var _ durable.FS = (*Files)(nil)

// NewFiles returns the files of the stores of the environment. It makes no request. But for the
// signs of life of a lease they are for one goroutine at a time.
func NewFiles() *Files { return newFiles(newClient(environment)) }

func newFiles(by *client) *Files {
	return &Files{client: by, writer: rand.Text(), beat: leaseBeat, expires: leaseExpires, temps: map[string]*temporary{}, seen: map[string]string{}, unsure: map[string]bool{}}
}

// FilesOf returns the file system for a path: new [Files] for an address, with the notices of earlier
// ones; else fsys, and [durable.OS] for a nil one.
func FilesOf(fsys durable.FS, path string) durable.FS {
	switch {
	case IsAddress(path):
		far := NewFiles()
		if of, ok := fsys.(*Files); ok {
			far.Told = of.Told
		}
		return far
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

// A temporary is a file of the machine that will be an object.
type temporary struct {
	*os.File

	name string
	size int64
	sum  hash.Hash
}

// CreateTemp makes an empty file in the folder of temporary files.
func (f *Files) CreateTemp(string) (durable.File, error) {
	file, err := os.CreateTemp("", durable.TempPrefix+"*"+durable.TempSuffix)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // where the system can, it goes with the process
	t := &temporary{file, durable.TempPrefix + rand.Text() + durable.TempSuffix, 0, sha256.New()}
	f.temps[t.name] = t
	return t, nil
}

// Name is the name under which it can be opened until it is published.
func (t *temporary) Name() string { return t.name }

// Write appends.
func (t *temporary) Write(p []byte) (int, error) {
	n, err := t.File.Write(p)
	t.sum.Write(p[:n])
	t.size += int64(n)
	return n, err
}

// Sync has nothing to do before it is published.
func (t *temporary) Sync() error { return nil }

// Close has nothing to do: it may be published yet.
func (t *temporary) Close() error { return nil }

// drop removes a temporary file.
func (f *Files) drop(t *temporary) error {
	delete(f.temps, t.name)
	err := t.File.Close()
	_ = os.Remove(t.File.Name()) // where it could not be removed while it was open
	return err
}

// Rename publishes a temporary file. If nobody knows whether it was published, it is gone.
func (f *Files) Rename(oldName, newName string) error {
	t := f.temps[oldName]
	if t == nil {
		return &fs.PathError{Op: "rename", Path: oldName, Err: fs.ErrNotExist}
	}
	err := f.write(newName, payload{t, t.size, hex.EncodeToString(t.sum.Sum(nil))})
	if err == nil || unknown(err) {
		_ = f.drop(t) // it is not needed any more
	}
	return err
}

// write replaces an object in the version that was seen.
func (f *Files) write(name string, body payload) error {
	ctx := context.Background() // a write is not given up halfway; each of its tries ends in time
	if err := f.held(ctx); err != nil {
		return err
	}
	was, known := f.seen[name]
	if !known {
		at, err := f.client.head(ctx, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		was = at.version()
	}
	f.writes++
	tag, err := f.client.put(ctx, name, was, body, f.writer, f.writes, f.unsure[name])
	switch {
	case errors.Is(err, ErrChanged):
		return errMeanwhile(name)
	case err == nil:
		delete(f.unsure, name)
		f.note(name, tag)
	case unknown(err):
		f.unsure[name] = true
	}
	return err
}

func errMeanwhile(name string) error {
	return fmt.Errorf("%s: another process has written it since this one looked: %w", name, durable.ErrLocked)
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

// see notes what was found, nil for no object. It must be what was seen before, or written here.
func (f *Files) see(name string, at *Info) error {
	was, known := f.seen[name]
	if known && was != at.version() && (at == nil || !f.unsure[name] || !at.by(f.writer)) {
		return errMeanwhile(name)
	}
	f.note(name, at.version())
	return nil
}

// Open opens an object, or a file that is not published yet.
func (f *Files) Open(name string) (io.ReadCloser, error) {
	if t := f.temps[name]; t != nil {
		return io.NopCloser(io.NewSectionReader(t, 0, t.size)), nil
	}
	ctx := context.Background() // reads end in time
	at, data, err := f.client.open(ctx, name, f.md5)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if changed := f.see(name, at); err != nil || changed != nil {
		return nil, errors.Join(changed, err)
	}
	if data != nil {
		return io.NopCloser(bytes.NewReader(data)), nil
	}
	blob := f.client.blob(ctx, name, at)
	return struct {
		io.Reader
		io.Closer
	}{bufio.NewReaderSize(io.NewSectionReader(blob, 0, at.size), mostPiece), blob}, nil
}

// mostWhole is the size of the largest object that is read by one request, as the list of numbers is.
const mostWhole = 16 << 20

// open describes an object as it is now, and reads one of up to mostWhole bytes. If ETags are made of
// contents, these must agree in an object that [Files] wrote: a server that replaces one after the
// other gives old numbers under a new tag for a moment. Objects written in parts have other tags.
func (c *client) open(ctx context.Context, address string, tagged bool) (at *Info, data []byte, err error) {
	err = c.do(ctx, call{method: http.MethodGet, address: address}, func(resp *http.Response) (err error) {
		if at, err = infoOf(address, resp); err != nil || at.size > mostWhole {
			return err
		}
		data = make([]byte, at.size)
		if n, err := io.ReadFull(resp.Body, data); err != nil {
			return brief{fmt.Errorf("%d of %d bytes came: %w", n, at.size, err)}
		}
		if tagged && at.mark != "" && at.tag != contentTag(data) {
			return brief{errors.New("its ETag is not that of its content")}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return at, data, nil
}

// contentTag is the ETag that most stores make of a content.
func contentTag(data []byte) string { return fmt.Sprintf("\"%x\"", md5.Sum(data)) } //nolint:gosec // no signature

// An appending is bytes that Sync adds to the end of an object.
type appending struct {
	bytes.Buffer

	of   *Files
	name string
}

// Append begins to append to an object, which may be absent.
func (f *Files) Append(name string) (durable.File, error) {
	return &appending{of: f, name: name}, nil
}

// Name is the address.
func (a *appending) Name() string { return a.name }

// Sync writes the object anew, with its new end.
func (a *appending) Sync() error {
	if a.Len() == 0 {
		return nil
	}
	whole, err := a.of.content(a.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err = a.of.write(a.name, payloadOf(append(whole, a.Bytes()...))); err == nil {
		a.Reset()
	}
	return err
}

// Close has nothing to do.
func (a *appending) Close() error { return nil }

func payloadOf(data []byte) payload {
	sum := sha256.Sum256(data)
	return payload{bytes.NewReader(data), int64(len(data)), hex.EncodeToString(sum[:])}
}

func (f *Files) content(name string) (data []byte, err error) {
	r, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(r)
}

// Truncate writes an object anew without its end.
func (f *Files) Truncate(name string, size int64) error {
	data, err := f.content(name)
	if err != nil {
		return err
	}
	return f.write(name, payloadOf(data[:min(size, int64(len(data)))]))
}

// Remove removes an object, if there is one, or a temporary file.
func (f *Files) Remove(name string) error {
	if t := f.temps[name]; t != nil {
		return f.drop(t)
	}
	if strings.HasPrefix(path.Base(name), durable.TempPrefix) {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	ctx := context.Background() // each of its tries ends in time
	if err := f.held(ctx); err != nil {
		return err
	}
	err := f.client.remove(ctx, name)
	if err == nil {
		f.note(name, "")
	}
	return err
}

// List returns the names of the objects in a folder, and of folders in it.
func (f *Files) List(dir string) ([]string, error) {
	entries, err := newView(f.client).ReadDir(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}
