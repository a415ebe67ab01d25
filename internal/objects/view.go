package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// A View is the files of this machine and the objects of a store, each in the version that the view
// saw first. Its methods may be called from several goroutines.
type View struct {
	client *client

	mu      sync.Mutex
	known   map[string]*Info            // objects by address
	folders map[string]map[string]*Info // entries of each listed folder, by address and name
}

// NewView returns a view. The environment names the store. It makes no request.
func NewView() *View { return newView(newClient(tries, patience)) }

func newView(by *client) *View {
	return &View{client: by, known: map[string]*Info{}, folders: map[string]map[string]*Info{}}
}

// An Info describes an object or a folder.
type Info struct {
	name, tag string
	mark      string // mark of the write, if [Files] wrote the object
	size      int64
	modified  time.Time
}

var _ fs.FileInfo = (*Info)(nil)

// Tag returns the ETag of an object, or "" for a folder.
func (i *Info) Tag() string { return i.tag }

// Name returns the last name of the address.
func (i *Info) Name() string { return i.name }

// Size returns the number of bytes of an object.
func (i *Info) Size() int64 { return i.size }

// ModTime returns when the object was written, by the store's clock.
func (i *Info) ModTime() time.Time { return i.modified }

// IsDir reports whether i is a folder.
func (i *Info) IsDir() bool { return i.tag == "" }

// Mode returns the mode of a read-only file or folder.
func (i *Info) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o444
	}
	return 0o444
}

// Sys returns nil.
func (i *Info) Sys() any { return nil }

// A File is an open file or object. Several goroutines may read it at any offset.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

type machineFile struct {
	*os.File
	size int64
}

// Size returns the number of bytes that the file had when it was opened.
func (f machineFile) Size() int64 { return f.size }

// Open opens an object, or a regular file (a pipe is an error, without waiting). Reads of an object end with ctx.
func (v *View) Open(ctx context.Context, path string) (File, error) {
	if !IsAddress(path) {
		f, size, err := durable.OpenRegular(path)
		if err != nil {
			return nil, err
		}
		return machineFile{f, size}, nil
	}
	path = Clean(path)
	at, err := v.seen(ctx, path)
	if err != nil {
		return nil, err
	}
	if at.IsDir() {
		return nil, fmt.Errorf("%s is a folder", path)
	}
	return v.client.blob(ctx, path, at), nil
}

// Stat describes a file, an object or a folder. It follows links. A folder of a store exists if it
// has objects below it.
func (v *View) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	if !IsAddress(path) {
		return os.Stat(path)
	}
	return v.seen(ctx, path)
}

func (v *View) seen(ctx context.Context, address string) (*Info, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stat(ctx, Clean(address))
}

func (v *View) stat(ctx context.Context, address string) (*Info, error) {
	if err := Check(address); err != nil {
		return nil, fmt.Errorf("%s: %w", Shown(address), err)
	}
	if at := v.known[address]; at != nil {
		return at, nil
	}
	var missing error
	if _, key := bucketKey(address); key != "" && v.folders[address] == nil {
		at, err := v.client.head(ctx, address)
		if err == nil {
			v.known[address] = at
			return at, nil
		}
		if missing = err; errors.As(err, &unsure{}) {
			return nil, err
		}
	}
	if v.folders[address] == nil {
		if err := v.list(ctx, address); err != nil {
			v.folders = map[string]map[string]*Info{} // the lists are not complete
			return nil, err
		}
	}
	if len(v.folders[address]) == 0 {
		delete(v.folders, address)
		return nil, cmp.Or(missing, error(&fs.PathError{Op: "list", Path: address, Err: fs.ErrNotExist}))
	}
	return &Info{name: path.Base(address)}, nil
}

// IsFolder reports whether a path or an address is a folder.
func IsFolder(ctx context.Context, path string) (bool, error) {
	at, err := NewView().Stat(ctx, path)
	if err != nil && (!IsAddress(path) || errors.Is(err, fs.ErrNotExist)) {
		return false, nil // not a folder
	}
	return err == nil && at.IsDir(), err
}

// ReadDir lists a folder in the order of names. In a store it also pins all objects below it.
func (v *View) ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error) {
	if !IsAddress(path) {
		return os.ReadDir(path)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	address := Clean(path)
	if at, err := v.stat(ctx, address); err != nil {
		return nil, err
	} else if !at.IsDir() {
		return nil, fmt.Errorf("%s is no folder", address)
	}
	var all []fs.DirEntry
	for _, e := range v.folders[address] {
		all = append(all, fs.FileInfoToDirEntry(e))
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return all, nil
}

// mostListed bounds the objects of a list, which all stay in memory.
const mostListed = 1 << 20

// list reads and pins all objects below a folder.
func (v *View) list(ctx context.Context, folder string) error {
	v.folders[folder] = map[string]*Info{}
	return v.client.do(ctx, folder, mostListed*slowest/1000, func(ctx context.Context, store minio.Core, bucket, key string) error {
		prefix := key
		if prefix != "" {
			prefix += "/"
		}
		n := 0
		for o := range store.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
			rest, below := strings.CutPrefix(o.Key, prefix)
			switch n++; {
			case o.Err != nil:
				return o.Err
			case !below || o.ETag == "":
				return errors.New("its list of objects has one without an ETag or not below it")
			case n > mostListed:
				return fmt.Errorf("more than %d objects are below it; name folders nearer to the data", mostListed)
			}
			if err := v.add(folder, rest, infoOf(o.Key, &o)); err != nil {
				return err
			}
		}
		return nil
	})
}

// add adds an object below a folder, and the folders in between. A key that ends in a slash means a
// folder. An object that was seen before is not changed.
func (v *View) add(folder, rest string, at *Info) error {
	if err := oneWay(rest); err != nil && rest != "" {
		return err
	}
	for rest != "" {
		name, below, more := strings.Cut(rest, "/")
		entry := at
		if more {
			entry = &Info{name: name}
		}
		if old := v.folders[folder][name]; old != nil && old.IsDir() != entry.IsDir() {
			return fmt.Errorf("%q is an object and a folder; rename one of them", name)
		} else if old == nil {
			v.folders[folder][name] = entry
		}
		folder, rest = Join(folder, name), below
		if more && v.folders[folder] == nil {
			v.folders[folder] = map[string]*Info{}
		} else if !more && v.known[folder] == nil {
			v.known[folder] = at
		}
	}
	return nil
}
