package lake

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/arrowipc"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A File is a data file with its columns by the footer.
type File struct {
	dataset.File

	Columns []ingest.Column // of the file, then the keys of its path
	Arrow   bool            // whether it is an Arrow file, whose footer may be the same with other values
}

// Files lists the data files of declared files, directories and globs, in the order of their rows, and reads their
// footers, but no row. The warnings say which files were skipped.
func Files(ctx context.Context, paths []string) (files []File, warnings []string, err error) {
	found, warnings, err := listWithFooters(ctx, objects.NewView(), paths, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range found {
		summary := File{File: f.File, Arrow: f.arrow}
		for _, c := range f.columns {
			summary.Columns = append(summary.Columns, c.Column)
		}
		files = append(files, summary)
	}
	return files, warnings, nil
}

// A dataFile is a file with the kept parts of its footer.
type dataFile struct {
	dataset.File

	keys      []hiveKey // of its path
	groups    []group   // with rows
	columns   []column
	positions map[string]int // of the columns, by name
	arrow     bool           // an Arrow IPC file: its groups are record batches
}

// A group is a row group: its position and first row in its file.
type group struct {
	index       int
	first, rows int64
	batch       arrowipc.Batch // of an Arrow file
}

// maxSample bounds the rows of all files, so that a number of rows times a number of workers fits into 64 bits.
const maxSample = 1 << 50

func listWithFooters(ctx context.Context, from *objects.View, paths []string, sample []dataset.ManifestFile) ([]*dataFile, []string, error) {
	found, warnings, err := listFiles(ctx, from, paths, nil)
	if err != nil {
		return nil, nil, err
	}
	all := slices.Clone(found)
	for _, f := range sample {
		all = append(all, f.Path)
	}
	textKeys := textKeys(all)
	files := make([]*dataFile, len(found))
	for i := 0; i < len(found); {
		group := found[i : i+1]
		if objects.IsAddress(found[i]) {
			group = found[i:min(i+farAtOnce, len(found))]
		}
		if err := describeFiles(ctx, from, group, textKeys, files[i:]); err != nil {
			return nil, nil, err
		}
		for range group {
			if f := files[i]; i > 0 && slices.Equal(f.columns, files[i-1].columns) {
				f.columns, f.positions = files[i-1].columns, files[i-1].positions // most lakes have one schema
			} else {
				f.positions = positions(f.columns)
			}
			i++
		}
	}
	return files, warnings, nil
}

// farAtOnce is the number of objects whose footers are read at a time: each takes two requests.
const farAtOnce = 16

// describeFiles describes files at the same time. Its error is about the first one with one.
func describeFiles(ctx context.Context, from *objects.View, found []string, textKeys map[string]bool, files []*dataFile) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	failed := make([]error, len(found))
	var work sync.WaitGroup
	for i, path := range found {
		work.Go(func() {
			var err error
			if files[i], err = describeFile(ctx, from, path, textKeys); err != nil {
				failed[i] = fmt.Errorf("%s: %w", path, err)
			}
		})
	}
	work.Wait()
	return cmp.Or(failed...)
}

// textKeys returns the keys in paths that are not a number in every file.
func textKeys(paths []string) map[string]bool {
	text := map[string]bool{}
	for _, path := range paths {
		for _, k := range hiveKeys(path) {
			if _, ok := hiveNumber(k.value); !ok {
				text[k.name] = true
			}
		}
	}
	return text
}

func describeFile(ctx context.Context, from *objects.View, path string, textKeys map[string]bool) (*dataFile, error) {
	file, err := from.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	describe := describeParquet
	if isArrow(file) {
		describe = describeArrow
	}
	f, err := describe(ctx, file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	f.Path, f.Bytes, f.RowGroups, f.keys = path, file.Size(), len(f.groups), hiveKeys(path)
	if info, err := from.Stat(ctx, path); err == nil {
		f.Modified = info.ModTime().UTC()
		if o, ok := info.(*objects.Info); ok {
			f.Tag = o.Tag()
		}
	}
	for _, k := range f.keys {
		f.columns = append(f.columns, hiveColumn(k.name, !textKeys[k.name]))
	}
	return f, nil
}

// describeParquet reads the footer, and page headers if its claims are suspicious.
func describeParquet(ctx context.Context, file objects.File) (*dataFile, error) {
	foot, err := readFooter(file, file.Size())
	if err == nil {
		err = foot.lookAtPages(ctx, file)
	}
	if err != nil {
		return nil, err
	}
	f := &dataFile{File: dataset.File{Rows: foot.rows, Footer: foot.sum}, columns: foot.columns}
	var first int64
	for g := range foot.groups {
		rows := foot.groups[g].Rows
		if rows > 0 {
			f.groups = append(f.groups, group{index: g, first: first, rows: rows})
		}
		first += rows
	}
	return f, nil
}

func positions(columns []column) map[string]int {
	p := make(map[string]int, len(columns))
	for i := range columns {
		p[columns[i].Name] = i
	}
	return p
}

// column returns the one column of a name that ingest.Select has found usable.
func (f *dataFile) column(name string) *column { return &f.columns[f.positions[name]] }

// text returns the value of a key in the path.
func (f *dataFile) text(name string) string {
	for _, k := range f.keys {
		if k.name == name {
			return k.value
		}
	}
	return nullKey
}

// key returns the value of a key in the path as a number.
func (f *dataFile) key(name string) float64 {
	text := f.text(name)
	if v, ok := hiveNumber(text); ok && (text == nullKey || !f.column(name).Text) {
		return v
	}
	return job.Label(text)
}

// tables describes the columns of the files, one table for files with the same ones.
func tables(files []*dataFile) []ingest.Table {
	var ts []ingest.Table
	seen := map[string]bool{}
	for _, f := range files {
		t := ingest.Table{Name: f.Path}
		var key strings.Builder
		for _, c := range f.columns {
			t.Columns = append(t.Columns, c.Column)
			key.WriteString(strconv.Quote(c.Name) + c.Type)
		}
		if !seen[key.String()] {
			seen[key.String()] = true
			ts = append(ts, t)
		}
	}
	return ts
}

// footerCache keeps the footers of the files opened last: a few readers read the shards of a file one after the other.
type footerCache struct {
	mu   sync.Mutex
	kept []kept
}

type kept struct {
	file  *dataFile
	tail  [sha256.Size]byte
	foot  *footer        // of a Parquet file
	arrow *arrowipc.File // of an Arrow file
}

const (
	footersKept = 8
	// tailBytes is the number of bytes at a file's end that are compared if its footer is in the
	// cache: files of many small row groups have large footers.
	tailBytes = 4 << 10
)

// find returns the footer of an open file, from the cache if size and end of the file are those of
// a cached one. A footer that has changed since the source was opened is an error.
func (c *footerCache) find(f *dataFile, file objects.File) (kept, error) {
	size := file.Size()
	end := make([]byte, min(tailBytes, size))
	if _, pinned := file.(*objects.Blob); !pinned { // else each read asks for the version of the first one
		if _, err := file.ReadAt(end, size-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
			return kept{}, err
		}
	}
	if size != f.Bytes {
		return kept{}, errOtherFile
	}
	k := kept{file: f, tail: sha256.Sum256(end)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.kept, func(other kept) bool { return other.file == f && other.tail == k.tail }); i >= 0 {
		return c.kept[i], nil
	}
	if err := k.read(file); err != nil {
		return kept{}, err
	}
	c.kept = append(c.kept, k)
	if len(c.kept) > footersKept {
		c.kept = slices.Delete(c.kept, 0, 1)
	}
	return k, nil
}

var errOtherFile = errors.New("the file has changed since it was first read; start again when no program writes to it")

func (k *kept) read(file objects.File) error {
	if k.file.arrow {
		in, err := arrowipc.Open(file, file.Size(), false)
		if err != nil {
			return err
		}
		if in.Sum != k.file.Footer {
			return errOtherFile
		}
		k.arrow = in
		return nil
	}
	b, err := parquetmeta.Footer(file, file.Size(), maxFooter)
	if err != nil {
		return err
	}
	if sha256.Sum256(b) != k.file.Footer {
		return errOtherFile
	}
	k.foot, err = parseFooter(b, file.Size())
	return err
}

// nullKey is the value of a key in a path that means null.
const nullKey = "__HIVE_DEFAULT_PARTITION__"

// hiveNumber converts the value of a key in a path; ok is false unless it is a number or null.
func hiveNumber(s string) (v float64, ok bool) {
	if s == nullKey {
		return ingest.Null.Cell(), true
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || strings.Trim(s, "0123456789.+-eE") != "" { // 0x1p-2, 1_000
		return math.NaN(), false
	}
	if v == math.Trunc(v) && math.Abs(v) >= ingest.MaxInteger {
		if exact, ok := new(big.Rat).SetString(s); !ok || exact.Abs(exact).Cmp(new(big.Rat).SetInt64(ingest.MaxInteger)) > 0 {
			return ingest.TooLong.Cell(), true
		}
	}
	return v, true
}
