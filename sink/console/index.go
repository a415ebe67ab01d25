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

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// Limits of a scan, so that it ends.
const (
	maxFiles = 100_000
	maxDepth = 16
)

// batch is the number of new files after which pages are renewed.
const batch = 512

// An Index knows certificates, records of runs and pointers in folders. It reads a file again only
// if the file changed.
type Index struct {
	roots []string
	now   atomic.Pointer[Snapshot]

	scan     sync.Mutex         // guards the fields below
	files    map[string]read    // by path
	pointers map[string]pointer // by folder
	models   map[string]model   // by path
}

// A read is the result of reading a file: an entry, a run, tests or a fault.
type read struct {
	info  os.FileInfo
	entry *Entry
	run   *Run
	tests []pipeline.RowsTest
	fault *Fault
}

// A Snapshot is the result of one scan. It does not change.
type Snapshot struct {
	Entries []*Entry // by job and series, the latest first
	Jobs    []*Job   // those in trouble first
	Faults  []*Fault // by path
	Notices []string
	Whole   bool            // all files were read
	Current map[string]bool // ids of certificates named by the pointers of their folders

	byID     map[string]*Entry
	byJob    map[string]*Job     // by key
	bySeries map[string][]*Entry // each in the order of Entries
}

// NewIndex returns an index of these folders and their subfolders.
func NewIndex(roots []string) *Index {
	x := &Index{files: map[string]read{}}
	for _, root := range roots {
		if whole, err := filepath.Abs(root); err == nil {
			root = whole // so that addresses of pages do not depend on the working directory
		}
		x.roots = append(x.roots, root)
	}
	x.now.Store(snapshotOf(nil, nil, nil, false))
	return x
}

// Now returns the latest snapshot.
func (x *Index) Now() *Snapshot { return x.now.Load() }

// Damaged says which current models have files that are missing or damaged, nil if none has.
func (x *Index) Damaged() error {
	var faults []error
	for _, j := range x.Now().Jobs {
		if j.Pointer.ModelFault != "" {
			faults = append(faults, fmt.Errorf("%s: the current model cannot be used: %s", j.Folder, j.Pointer.ModelFault))
		}
	}
	return errors.Join(faults...)
}

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
	found, at, notices := x.list(ctx)
	pointers := map[string]pointer{}
	models := map[string]model{}
	for _, path := range at {
		folder := filepath.Dir(path)
		p := readPointer(folder)
		if p.ID != "" {
			file := filepath.Join(folder, lake.ModelName(p.Model))
			models[file] = readModel(file, p.Model, x.models[file])
			p.ModelFault = models[file].fault
		}
		pointers[folder] = p
	}
	x.models = models
	if ctx.Err() != nil {
		return ctx.Err()
	}
	known, changed := map[string]read{}, []string(nil)
	for path, info := range found {
		before, ok := x.files[path]
		if ok && unchanged(before.info, info) {
			known[path] = before
		} else {
			changed = append(changed, path)
		}
	}
	if len(changed) == 0 && len(known) == len(x.files) && x.Now().Whole && slices.Equal(notices, x.Now().Notices) && maps.Equal(pointers, x.pointers) {
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
			x.now.Store(snapshotOf(known, pointers, notices, false))
		}
	}
	x.files, x.pointers = known, pointers
	x.now.Store(snapshotOf(known, pointers, notices, true))
	return nil
}

// unchanged reports whether a file is the same as before, by its size and time.
func unchanged(before, now os.FileInfo) bool {
	return os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

func readFile(path string, info os.FileInfo) (r read) {
	r.info = info
	var err error
	switch name := filepath.Base(path); {
	case name == lake.WatchFile:
		r.tests, err = readTests(path)
	case strings.HasPrefix(name, "run-"):
		r.run, err = readRun(path)
	default:
		c, id, fault := readCertificate(path)
		if err = fault; err == nil {
			e := entryOf(path, info, c, id)
			r.entry = &e
		}
	}
	if err != nil {
		r.fault = &Fault{Path: path, Reason: err.Error()}
	}
	return r
}

// list finds pointers and files with names of certificates, records of runs and of watch. It does not follow links to folders, and
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
			case isKnown(name) && !f.IsDir():
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

// isKnown reports whether a file has the name of a certificate, of the record of a run, or of what
// watch has counted.
func isKnown(name string) bool {
	return name == lake.WatchFile || strings.HasSuffix(name, ".json") && strings.HasPrefix(name, "certificate-") || lake.IsRunState(name)
}

// snapshotOf makes a snapshot of the files that were read. The same certificate in two folders is
// listed once, as current if either pointer names it. Of a stream's windows the latest pointer counts.
func snapshotOf(files map[string]read, pointers map[string]pointer, notices []string, whole bool) *Snapshot {
	latest := map[string]string{} // window with a pointer, by the folder of its stream
	for folder := range pointers {
		stream, window := seriesFolder(filepath.Join(folder, lake.CurrentFile))
		latest[stream] = later(latest[stream], window)
	}
	s := &Snapshot{Notices: notices, Whole: whole, Current: map[string]bool{}, byJob: map[string]*Job{}}
	jobs := map[string]*Job{} // by folder
	at := func(path string) (j *Job, counts bool) {
		folder, window := seriesFolder(path)
		if j = jobs[folder]; j == nil {
			j = &Job{Folder: folder}
			jobs[folder] = j
		}
		return j, window == "" || window == latest[folder]
	}
	for folder, p := range pointers {
		if j, counts := at(filepath.Join(folder, lake.CurrentFile)); counts {
			j.Pointer = p
		}
	}
	tests := map[string]pipeline.RowsTest{} // of watch, by certificate
	made := map[string]*Run{}               // by certificate
	var entries []*Entry
	for path, r := range files {
		switch {
		case r.fault != nil:
			s.Faults = append(s.Faults, r.fault)
		case r.run != nil:
			j, _ := at(path)
			j.Runs = append(j.Runs, r.run)
			for _, a := range r.run.Artifacts {
				made[a.ID] = r.run
			}
		case r.entry != nil:
			e := *r.entry
			entries = append(entries, &e)
			if j, counts := at(path); counts && pointers[filepath.Dir(path)].ID == e.ID {
				s.Current[e.ID], j.Current = true, &e
			}
		}
		for _, t := range r.tests {
			tests[t.Certificate] = t
		}
	}
	for _, e := range entries {
		if e.Made = made[e.ID]; e.Made != nil {
			e.Time = e.Made.Began
		}
	}
	slices.SortFunc(s.Faults, func(a, b *Fault) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(entries, byNumber)
	s.list(entries)
	for _, j := range jobs {
		j.complete(s, tests)
		s.Jobs, s.byJob[j.Key()] = append(s.Jobs, j), j
	}
	slices.SortFunc(s.Jobs, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.level, b.level), b.latest().Compare(a.latest()), cmp.Compare(a.Folder, b.Folder))
	})
	return s
}

// byNumber sorts certificates by folder and series, the latest first: by numbers in a sequence, or of
// attempts, and the beginning of their runs. Times of files say nothing: they change with a copy.
func byNumber(a, b *Entry) int {
	return cmp.Or(
		cmp.Compare(a.Series.Folder, b.Series.Folder), cmp.Compare(a.Series.Key(), b.Series.Key()),
		cmp.Compare(b.Number, a.Number), cmp.Compare(b.Attempt, a.Attempt), b.Time.Compare(a.Time), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Path, b.Path),
	)
}

// list lists certificates, each once.
func (s *Snapshot) list(entries []*Entry) {
	s.byID, s.bySeries = map[string]*Entry{}, map[string][]*Entry{}
	for _, e := range entries {
		if s.byID[e.ID] == nil {
			key := e.Series.Key()
			s.byID[e.ID] = e
			s.bySeries[key] = append(s.bySeries[key], e)
			s.Entries = append(s.Entries, e)
		}
	}
}

// later returns the later of two windows.
func later(a, b string) string {
	if cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) > 0 {
		return a
	}
	return b
}
