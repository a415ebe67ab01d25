package objects

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// A View is the objects of stores, each as it was when the view saw it first. Its methods may be
// called from several goroutines.
type View struct {
	client *client

	mu      sync.Mutex
	known   map[string]*Info            // objects, by address
	folders map[string]map[string]*Info // their entries, by address and name
}

// NewView returns a view of the stores of the environment. It makes no request.
func NewView() *View { return newView(newClient(environment)) }

func newView(by *client) *View {
	return &View{client: by, known: map[string]*Info{}, folders: map[string]map[string]*Info{}}
}

// An Info describes an object or a folder.
type Info struct {
	name, tag string
	mark      string // of its write, if [Files] wrote it
	size      int64
	modified  time.Time
}

var (
	_ fs.FileInfo = (*Info)(nil)
	_ fs.DirEntry = (*Info)(nil)
)

// Tag is the ETag of an object, "" of a folder.
func (i *Info) Tag() string { return i.tag }

// Name is the last name of the address.
func (i *Info) Name() string { return i.name }

// Size is the number of bytes of an object.
func (i *Info) Size() int64 { return i.size }

// ModTime is when an object was written, by the store.
func (i *Info) ModTime() time.Time { return i.modified }

// IsDir reports whether it is a folder.
func (i *Info) IsDir() bool { return i.tag == "" }

// Mode is that of a regular file, or of a folder.
func (i *Info) Mode() fs.FileMode { return i.Type() | 0o444 }

// Type is Mode without permissions.
func (i *Info) Type() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir
	}
	return 0
}

// Info is the description.
func (i *Info) Info() (fs.FileInfo, error) { return i, nil }

// Sys is nil.
func (i *Info) Sys() any { return nil }

// Stat describes the object or the folder at an address. A folder has objects below it.
func (v *View) Stat(ctx context.Context, address string) (*Info, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stat(ctx, Clean(address))
}

func (v *View) stat(ctx context.Context, address string) (*Info, error) {
	if err := Check(address); err != nil {
		return nil, fmt.Errorf("%s: %w", Shown(address), err)
	}
	folder := &Info{name: path.Base(address)}
	if at := v.known[address]; at != nil {
		return at, nil
	}
	if v.folders[address] != nil {
		return folder, nil
	}
	var refusal error
	isS3 := strings.HasPrefix(address, "s3://")
	if _, key := bucketKey(address); !isS3 || key != "" {
		at, err := v.client.head(ctx, address)
		if err == nil {
			v.known[address] = at
			return at, nil
		}
		// Who may not list a bucket is not told what is missing.
		if of, ok := errors.AsType[*statusError](err); !isS3 || !ok || of.code != http.StatusNotFound && of.code != http.StatusForbidden {
			return nil, err
		}
		refusal = err
	}
	if err := v.list(ctx, address); err != nil {
		v.folders = map[string]map[string]*Info{} // they are not whole
		return nil, err
	}
	if len(v.folders[address]) == 0 {
		delete(v.folders, address)
		err := cmp.Or(refusal, error(&fs.PathError{Op: "list", Path: address, Err: fs.ErrNotExist}))
		if strings.ContainsAny(address, "?#") {
			err = fmt.Errorf("%w (hint: in an s3 address ? and # are letters of the key; no query is read, and of versions the latest)", err)
		}
		return nil, err
	}
	return folder, nil
}

// IsFolder reports whether there is a folder at a path or an address.
func IsFolder(ctx context.Context, path string) (bool, error) {
	if !IsAddress(path) {
		at, err := os.Stat(path)
		return err == nil && at.IsDir(), nil
	}
	at, err := NewView().Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && at.IsDir(), err
}

// ReadDir lists a folder of S3, in the order of names. All objects below it are known afterwards.
func (v *View) ReadDir(ctx context.Context, address string) ([]fs.DirEntry, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	address = Clean(address)
	if at, err := v.stat(ctx, address); err != nil {
		return nil, err
	} else if !at.IsDir() {
		return nil, fmt.Errorf("%s is no folder", address)
	}
	var all []fs.DirEntry
	for _, e := range v.folders[address] {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return all, nil
}

// head describes an object.
func (c *client) head(ctx context.Context, address string) (*Info, error) {
	var at *Info
	err := c.do(ctx, call{method: http.MethodHead, address: address}, func(resp *http.Response) (err error) {
		at, err = infoOf(address, resp)
		return err
	})
	return at, err
}

// infoOf is what an answer says of an object.
func infoOf(address string, resp *http.Response) (*Info, error) {
	at := &Info{name: path.Base(address), tag: resp.Header.Get("ETag"), mark: resp.Header.Get(markHeader), size: resp.ContentLength}
	at.modified, _ = http.ParseTime(resp.Header.Get("Last-Modified")) // zero: unknown
	if at.tag == "" || strings.HasPrefix(at.tag, "W/") {
		return nil, errors.New("the server gives no strong ETag for it, by which a change would be noticed; copy the file")
	}
	if at.size < 0 {
		return nil, errors.New("the server does not tell its size; copy the file")
	}
	return at, nil
}

// mostListed bounds the objects of a listing, all of which are kept.
const mostListed = 1 << 20

// A page is a part of a listing.
type page struct {
	EncodingType          string
	IsTruncated           bool
	NextContinuationToken string
	Contents              []struct {
		Key, ETag    string
		Size         int64
		LastModified time.Time
	}
}

// mostPage bounds the bytes of the description of a thousand objects.
const mostPage = 16 << 20

// list lists all objects below a folder.
func (v *View) list(ctx context.Context, folder string) error {
	bucket, prefix := bucketKey(folder)
	if prefix != "" {
		prefix += "/"
	}
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}, "encoding-type": {"url"}}
	v.folders[folder] = map[string]*Info{}
	for n := 0; ; {
		var p page
		err := v.client.do(ctx, call{method: http.MethodGet, address: "s3://" + bucket, query: query}, func(resp *http.Response) error {
			p = page{}
			if err := xml.NewDecoder(io.LimitReader(resp.Body, mostPage)).Decode(&p); err != nil {
				return brief{fmt.Errorf("its list of objects: %w", err)}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, o := range p.Contents {
			if p.EncodingType == "url" {
				if o.Key, err = url.QueryUnescape(o.Key); err != nil {
					return fmt.Errorf("%s: its list of objects has a key that is not encoded as it says", folder)
				}
			}
			rest, below := strings.CutPrefix(o.Key, prefix)
			if !below || o.ETag == "" {
				return fmt.Errorf("%s: its list of objects has %q, without an ETag or not below it", folder, o.Key)
			}
			if err := v.add(folder, rest, &Info{tag: o.ETag, size: o.Size, modified: o.LastModified}); err != nil {
				return err
			}
		}
		if n += len(p.Contents); n > mostListed {
			return fmt.Errorf("%s has more than %d objects below it; name folders nearer to the data", folder, mostListed)
		}
		if !p.IsTruncated {
			return nil
		}
		if p.NextContinuationToken == "" {
			return fmt.Errorf("%s: its list of objects breaks off", folder)
		}
		query.Set("continuation-token", p.NextContinuationToken)
	}
}

// add enters an object below a folder, and the folders on its way. An object whose key ends in a
// slash stands for a folder.
func (v *View) add(folder, rest string, at *Info) error {
	if rest == "" {
		return nil
	}
	address := Join(folder, rest)
	if _, key := bucketKey(address); oneWay(key) != nil {
		return fmt.Errorf("%s: %w", address, oneWay(key))
	}
	for {
		name, below, more := strings.Cut(rest, "/")
		entry := &Info{name: name}
		if !more {
			entry = at
			entry.name = name
		}
		if old := v.folders[folder][name]; old != nil && old.IsDir() != entry.IsDir() {
			return fmt.Errorf("%s is an object and a folder; rename one of them", Join(folder, name))
		}
		if v.folders[folder][name] == nil {
			v.folders[folder][name] = entry
		}
		folder = Join(folder, name)
		if !more {
			if v.known[folder] == nil { // else it was seen before
				v.known[folder] = at
			}
			return nil
		}
		if v.folders[folder] == nil {
			v.folders[folder] = map[string]*Info{}
		}
		if rest = below; rest == "" {
			return nil
		}
	}
}
