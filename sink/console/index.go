package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pacsgp/pacsgp/sink/lake"
)

// Limits of a scan, so that it ends.
const (
	maxFiles = 100_000
	maxDepth = 16
)

// batch is the number of new files after which pages are renewed.
const batch = 512

// An Index knows the certificates in folders. It reads a file again only if the file changed.
type Index struct {
	roots []string
	now   atomic.Pointer[Snapshot]

	scan    sync.Mutex        // guards the fields below
	files   map[string]read   // by path
	current map[string]string // ids that pointers name, by their folder
}

// A read is the result of reading a file: an entry or a fault.
type read struct {
	info  os.FileInfo
	entry *Entry
	fault *Fault
}

// A Snapshot is the result of one scan. It does not change.
type Snapshot struct {
	Entries []*Entry // by time, the latest first
	Faults  []*Fault // by path
	Notices []string
	Whole   bool            // all files were read
	Current map[string]bool // ids of certificates named by the pointers of their folders

	byID     map[string]*Entry
	bySeries map[string][]*Entry // each in the order of Entries
	series   []string            // keys, that of the latest certificate first
}

// NewIndex returns an index of these folders and their subfolders.
func NewIndex(roots []string) *Index {
	x := &Index{roots: roots, files: map[string]read{}}
	x.now.Store(newSnapshot(nil, nil, nil, false))
	return x
}

// Now returns the latest snapshot.
func (x *Index) Now() *Snapshot { return x.now.Load() }

// Watch scans the folders every two seconds until ctx is done. Pages show unreadable ones.
func (x *Index) Watch(ctx context.Context) {
	for ctx.Err() == nil {
		_ = x.Refresh(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// Refresh scans the folders. Pages show intermediate results.
func (x *Index) Refresh(ctx context.Context) error {
	x.scan.Lock()
	defer x.scan.Unlock()
	found, pointers, notices := x.list(ctx)
	current := map[string]string{}
	for _, path := range pointers {
		if id := pointedTo(path); id != "" {
			current[filepath.Dir(path)] = id
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	known, changed := map[string]read{}, []string(nil)
	for path, info := range found {
		before, ok := x.files[path]
		if ok && os.SameFile(before.info, info) && before.info.Size() == info.Size() && before.info.ModTime().Equal(info.ModTime()) {
			known[path] = before
		} else {
			changed = append(changed, path)
		}
	}
	if len(changed) == 0 && len(known) == len(x.files) && x.Now().Whole && slices.Equal(notices, x.Now().Notices) && maps.Equal(current, x.current) {
		return nil
	}
	slices.Sort(changed)
	for len(changed) > 0 {
		next := changed[:min(batch, len(changed))]
		changed = changed[len(next):]
		results := make([]read, len(next))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(runtime.GOMAXPROCS(0))
		for i, path := range next {
			group.Go(func() error {
				results[i] = readFile(path, found[path])
				return ctx.Err()
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		for i, path := range next {
			known[path] = results[i]
		}
		if len(changed) > 0 {
			x.now.Store(snapshotOf(known, current, notices, false))
		}
	}
	x.files, x.current = known, current
	x.now.Store(snapshotOf(known, current, notices, true))
	return nil
}

func readFile(path string, info os.FileInfo) read {
	c, id, err := readCertificate(path)
	if err != nil {
		return read{info: info, fault: &Fault{Path: path, Reason: err.Error()}}
	}
	e := entryOf(path, info, c, id)
	return read{info: info, entry: &e}
}

// list finds pointers and files with names of certificates. It does not follow links to folders, and
// skips folders whose names begin with _ or a dot: they have no artifacts.
func (x *Index) list(ctx context.Context) (found map[string]os.FileInfo, pointers, notices []string) {
	found = map[string]os.FileInfo{}
	looked := 0
	var in func(folder string, depth int) error
	in = func(folder string, depth int) error {
		entries, err := os.ReadDir(folder)
		if err != nil {
			notices = append(notices, fmt.Sprintf("%s: %v", folder, plainly(err)))
		}
		for _, f := range entries {
			if looked++; looked > maxFiles {
				return errTooMany
			}
			name, path := f.Name(), filepath.Join(folder, f.Name())
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case f.IsDir() && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_"):
				if depth == maxDepth {
					notices = append(notices, path+": it lies too deep, and was not looked into")
				} else if err := in(path, depth+1); err != nil {
					return err
				}
			case name == lake.CurrentFile:
				pointers = append(pointers, path)
			case strings.HasPrefix(name, "certificate-") && strings.HasSuffix(name, ".json") && !f.IsDir():
				info, err := os.Stat(path)
				if err != nil {
					info, err = f.Info() // a link to nothing
				}
				if err == nil {
					found[path] = info
				}
			}
		}
		return nil
	}
	for _, root := range x.roots {
		if err := in(root, 0); errors.Is(err, errTooMany) {
			return found, pointers, append(notices, fmt.Sprintf("only the first %d names were looked at: %v", maxFiles, err))
		} else if err != nil {
			return found, pointers, notices
		}
	}
	return found, pointers, notices
}

var errTooMany = errors.New("the folders hold more")

// snapshotOf makes a snapshot of the files that were read. The same certificate in two folders is
// listed once, as current if either pointer names it. Of a stream's windows the latest pointer counts.
func snapshotOf(files map[string]read, pointed map[string]string, notices []string, whole bool) *Snapshot {
	var entries []*Entry
	var faults []*Fault
	latest := map[string]string{} // window with a pointer, by the folder of its stream
	for folder := range pointed {
		stream, window := seriesFolder(filepath.Join(folder, lake.CurrentFile))
		latest[stream] = later(latest[stream], window)
	}
	current := map[string]bool{}
	for path, r := range files {
		if r.entry != nil {
			entries = append(entries, r.entry)
			stream, window := seriesFolder(path)
			if pointed[filepath.Dir(path)] == r.entry.ID && (window == "" || window == latest[stream]) {
				current[r.entry.ID] = true
			}
		} else {
			faults = append(faults, r.fault)
		}
	}
	slices.SortFunc(faults, func(a, b *Fault) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(entries, func(a, b *Entry) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Number, a.Number), cmp.Compare(a.Path, b.Path))
	})
	s := newSnapshot(entries, faults, notices, whole)
	s.Current = current
	return s
}

// later returns the later of two windows.
func later(a, b string) string {
	if cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) > 0 {
		return a
	}
	return b
}

func newSnapshot(entries []*Entry, faults []*Fault, notices []string, whole bool) *Snapshot {
	s := &Snapshot{Faults: faults, Notices: notices, Whole: whole, byID: map[string]*Entry{}, bySeries: map[string][]*Entry{}}
	for _, e := range entries {
		if s.byID[e.ID] != nil {
			continue
		}
		key := e.Series.Key()
		if s.bySeries[key] == nil {
			s.series = append(s.series, key)
		}
		s.byID[e.ID] = e
		s.bySeries[key] = append(s.bySeries[key], e)
		s.Entries = append(s.Entries, e)
	}
	return s
}
