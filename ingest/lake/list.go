package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/words"
)

// A hiveKey is a folder name=value. All rows below it have the value.
type hiveKey struct{ name, value string }

// dataSuffixes are the endings of files that are read in a directory. A file that is declared
// by its own name may have any.
var dataSuffixes = []string{".parquet", ".parq", ".pq", ".arrow", ".feather"}

// listFiles returns the data files of the declared paths in the order of declaration, and below a path in bytewise
// order of paths with slashes. A file that is found twice is listed once. The warnings say which files were skipped.
// empty, if not nil, is called with the error of a declared path without a file, which is then none.
func listFiles(ctx context.Context, from *objects.View, paths []string, empty func(error)) (files, warnings []string, err error) {
	if len(paths) == 0 {
		return nil, nil, errors.New("no path is declared; name files, directories or globs")
	}
	l := lister{store: from, folders: map[string]string{}, listed: map[string]string{}, tables: map[string]bool{}}
	for _, p := range paths {
		found, err := l.entry(ctx, p)
		if nothing, ok := errors.AsType[emptyError](err); ok && empty != nil {
			empty(nothing)
		} else if err != nil {
			return nil, nil, err
		}
		slices.SortFunc(found, func(a, b string) int { return cmp.Compare(filepath.ToSlash(a), filepath.ToSlash(b)) })
		for _, f := range found {
			fresh, err := l.isNew(f)
			if err != nil {
				return nil, nil, err
			}
			if fresh {
				files = append(files, f)
			}
		}
	}
	if n := len(l.skipped); n > 0 {
		warnings = append(warnings, fmt.Sprintf("not read, because they are no files or their names do not end in .parquet: %s, the first is %s", words.Count(n, "entry", "entries"), l.skipped[0]))
	}
	return files, warnings, nil
}

// isNew reports whether a file was not listed yet, also by way of links: else its rows would count
// twice. Two paths with different keys are an error: the rows cannot have both.
func (l *lister) isNew(path string) (bool, error) {
	resolved, err := realPath(path)
	if err != nil {
		return false, err
	}
	if first, ok := l.listed[resolved]; ok {
		return false, sameKeys("file", first, path, hiveKeys(first), hiveKeys(path))
	}
	l.listed[resolved] = path
	return true, nil
}

// sameKeys returns an error if two paths to one resolved have different keys.
func sameKeys(what, first, second string, keys, others []hiveKey) error {
	if slices.Equal(keys, others) {
		return nil
	}
	return fmt.Errorf("%s and %s are the same %s, but the keys in their paths differ; declare one of them", first, second, what)
}

type lister struct {
	store   *objects.View
	folders map[string]string // the path under which a directory was searched, by its real path
	listed  map[string]string // the path under which a file was listed, by its real path
	tables  map[string]bool   // real paths of folders that are those of no table
	skipped []string          // pipes and devices, and files in directories whose names are not those of data
	again   bool              // a directory was found that had been searched
}

// An emptyError says that a folder, which exists, holds no data file.
type emptyError struct{ error }

// entry returns the files of one declared path.
func (l *lister) entry(ctx context.Context, path string) ([]string, error) {
	if path == "" {
		return nil, errors.New("a declared path is empty")
	}
	if err := oneLine(path); err != nil {
		return nil, err
	}
	path = objects.Clean(path)
	info, err := l.store.Stat(ctx, path)
	switch {
	case err == nil && info.IsDir():
		l.again = false
		found, err := l.directory(ctx, path, nil)
		if err == nil && len(found) == 0 && !l.again {
			err = emptyError{fmt.Errorf("%s holds no data file; files named *.parquet, *.arrow or *.feather are read, in sub-directories too, names beginning with _ or . are not", path)}
		}
		return found, err
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is neither a file nor a directory", path)
	case err == nil:
		return []string{path}, nil
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?["):
		return l.glob(ctx, path)
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%s does not exist", path)
	case objects.IsAddress(path):
		return nil, err
	}
	return nil, fmt.Errorf("%w; name a file, a directory or a glob that exists", err)
}

// glob returns the files that a pattern matches, and those in directories that it matches.
func (l *lister) glob(ctx context.Context, pattern string) ([]string, error) {
	matches, err := expand(ctx, l.store, pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", pattern, err)
	}
	var found []string
	for _, m := range matches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		below, err := l.files(ctx, m, nil, true)
		if err != nil {
			return nil, err
		}
		found = append(found, below...)
	}
	if len(found) == 0 {
		err = fmt.Errorf("no data file matches %s; * stands for one level (a directory is read with all levels below it), names beginning with _ or . are skipped", pattern)
		if is, _ := objects.IsFolder(ctx, objects.Dir(pattern[:strings.IndexAny(pattern, "*?[")+1])); is {
			err = emptyError{err}
		}
	}
	return found, err
}

// hiddenMatch reports whether a wildcard matches a hidden name.
func hiddenMatch(pattern, match string) bool {
	wild := strings.Split(filepath.ToSlash(pattern), "/")
	for i, name := range strings.Split(filepath.ToSlash(match), "/") {
		if hidden(name) && (i >= len(wild) || wild[i] != name) {
			return true
		}
	}
	return false
}

// directory returns the data files below a directory. above are the real paths of the directories
// on the way, to which no link is followed back. No directory is searched twice: folders linked to
// each other can have exponentially many paths.
func (l *lister) directory(ctx context.Context, dir string, above []string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	resolved, err := realPath(dir)
	if err != nil {
		return nil, err
	}
	if slices.Contains(above, resolved) {
		return nil, nil
	}
	if first, ok := l.folders[resolved]; ok {
		l.again = true
		return nil, sameKeys("folder", first, dir, hiveKeys(filepath.Join(first, "-")), hiveKeys(filepath.Join(dir, "-")))
	}
	l.folders[resolved] = dir
	above = append(slices.Clip(above), resolved)
	entries, err := l.store.ReadDir(ctx, dir)
	if err == nil {
		l.tables[resolved] = true
		err = cmp.Or(l.noTable(ctx, dir, entries), l.inTable(ctx, objects.Dir(resolved)))
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if hidden(e.Name()) {
			continue
		}
		below, err := l.files(ctx, objects.Join(dir, e.Name()), above, false)
		if err != nil {
			return nil, err
		}
		found = append(found, below...)
	}
	return found, nil
}

// files returns a file that is found, or the data files below a directory. Files whose names are not those
// of data are skipped unless a pattern matches them.
func (l *lister) files(ctx context.Context, path string, above []string, matched bool) ([]string, error) {
	if err := oneLine(path); err != nil {
		return nil, err
	}
	info, err := l.store.Stat(ctx, path) // of what a link points to
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return l.directory(ctx, path, above)
	case info.Mode().IsRegular() && matched:
		at, err := realPath(path)
		return []string{path}, cmp.Or(err, l.inTable(ctx, objects.Dir(at)))
	case info.Mode().IsRegular() && slices.Contains(dataSuffixes, strings.ToLower(filepath.Ext(path))):
		return []string{path}, nil
	}
	l.skipped = append(l.skipped, path)
	return nil, nil
}

// inTable refuses a folder that is, or lies in, that of a table. dir is a real path.
func (l *lister) inTable(ctx context.Context, dir string) error {
	for far := objects.IsAddress(dir); !l.tables[dir] && objects.IsAddress(dir) == far; dir = objects.Dir(dir) {
		l.tables[dir] = true
		var entries []fs.DirEntry
		for _, name := range []string{"_delta_log", ".hoodie", "metadata"} {
			if info, err := l.store.Stat(ctx, objects.Join(dir, name)); err == nil {
				entries = append(entries, fs.FileInfoToDirEntry(info))
			}
		}
		if err := l.noTable(ctx, dir, entries); err != nil {
			return err
		}
	}
	return nil
}

// noTable refuses the folder of a table of Delta, Iceberg or Hudi, by its entries: files lie there whose
// rows were deleted or replaced.
func (l *lister) noTable(ctx context.Context, dir string, entries []fs.DirEntry) error {
	const said = "%s is the folder of a table of %s, where files with deleted rows may lie: declare its current files, which this lists: python -c '%s'"
	for _, e := range entries {
		switch path := objects.Join(dir, e.Name()); e.Name() {
		case "_delta_log":
			return fmt.Errorf(said, dir, "Delta", fmt.Sprintf(`from deltalake import DeltaTable; print(*DeltaTable(%q).file_uris(), sep="\n")`, dir))
		case ".hoodie":
			return fmt.Errorf(said, dir, "Hudi", fmt.Sprintf(`from hudi import HudiTableBuilder as T; print(*(f.base_file_relative_path() for f in T.from_base_uri(%q).build().get_file_slices()), sep="\n")`, dir))
		case "metadata":
			below, err := l.store.ReadDir(ctx, path)
			if err == nil && slices.ContainsFunc(below, func(e fs.DirEntry) bool { return strings.Contains(e.Name(), ".metadata.json") }) {
				return fmt.Errorf(said, dir, "Iceberg", fmt.Sprintf(`from pyiceberg.table import StaticTable as T; print(*(f.file.file_path for f in T.from_metadata(%q).scan().plan_files()), sep="\n")`, objects.Join(path, "NEWEST.metadata.json")))
			}
		}
	}
	return nil
}

// oneLine returns an error for a path that could fake a line of a report, or that JSON cannot hold.
func oneLine(path string) error {
	if strings.ContainsAny(strings.ToValidUTF8(path, "\n"), "\n\r") {
		return fmt.Errorf("%q has a line break in its name, or is not UTF-8; rename it", path)
	}
	return nil
}

// hidden reports whether lakes skip a name by custom, such as _SUCCESS and .part-0.crc.
func hidden(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".")
}

// Finds returns the first of the paths under which a file at the resolved would be read,
// or "". It compares locations as they are written, and with their links followed as far as they
// exist; it does not search for links below a declared path.
func (r Rows) Finds(file string) string {
	far := objects.IsAddress(file)
	ways := []func(string) string{absolute, resolved}
	if far {
		ways = []func(string) string{func(address string) string { return strings.TrimPrefix(objects.Clean(address), "s3:/") }}
	}
	for _, p := range r {
		for _, way := range ways {
			if p != "" && objects.IsAddress(p) == far && reaches(way(p), way(file), far) {
				return p
			}
		}
	}
	return ""
}

// reaches reports whether the declared path means the file, or a directory above that is
// searched down to it. Both paths are absolute, or far, in a store.
func reaches(declared, file string, far bool) bool {
	pattern := strings.ContainsAny(declared, "*?[")
	if !far {
		_, err := os.Stat(declared)
		pattern = pattern && errors.Is(err, fs.ErrNotExist)
	}
	isData := slices.Contains(dataSuffixes, strings.ToLower(filepath.Ext(file)))
	for at := file; ; at = filepath.Dir(at) {
		meant := at == declared
		if pattern {
			match, err := filepath.Match(declared, at)
			meant = err == nil && match && !hiddenMatch(declared, at)
		}
		if meant {
			return at == file || isData
		}
		if hidden(filepath.Base(at)) || at == filepath.Dir(at) {
			return false
		}
	}
}

// absolute is filepath.Abs, or the cleaned path after an error.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// resolved returns the absolute path, with symbolic links followed as far as it exists.
func resolved(path string) string {
	path = absolute(path)
	for at := path; ; at = filepath.Dir(at) {
		if resolved, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(resolved, strings.TrimPrefix(path, at))
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}

// hiveKeys returns the folders name=value of a path, the outermost first. Of two with the same name
// it returns the inner one.
func hiveKeys(path string) []hiveKey {
	var keys []hiveKey
	for part := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(path)), "/") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			continue
		}
		name, value = unescape(name), unescape(value)
		keys = slices.DeleteFunc(keys, func(k hiveKey) bool { return k.name == name })
		keys = append(keys, hiveKey{name: name, value: value})
	}
	return keys
}

// unescape undoes the %-escapes that writers put into folder names.
func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}
