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
)

// A listed file: where it is and what its path says about its rows.
type listed struct {
	path string // as declared, or found below what was declared
	keys []hiveKey
}

// A hiveKey is a folder name=value. Its value holds for all rows below.
type hiveKey struct{ name, value string }

// dataSuffixes are the endings of files that are read in a directory. A file
// that is declared by its own name may have any.
var dataSuffixes = []string{".parquet", ".parq", ".pq"}

// listFiles returns the data files that the declared paths mean: in the order
// of declaration, and below one declared path in bytewise order of the paths
// with slashes. A file that is met twice is listed once. The notices say which
// files of the directories were passed over.
func listFiles(ctx context.Context, paths []string) (files []listed, notices []string, err error) {
	if len(paths) == 0 {
		return nil, nil, errors.New("lake: no path is declared; name files, directories or globs")
	}
	l := lister{seen: map[string]bool{}}
	for _, p := range paths {
		found, err := l.entry(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		slices.SortFunc(found, func(a, b string) int { return cmp.Compare(filepath.ToSlash(a), filepath.ToSlash(b)) })
		for _, f := range found {
			place, err := realPath(f)
			if err != nil {
				return nil, nil, fmt.Errorf("lake: %w", err)
			}
			if !l.seen[place] {
				l.seen[place] = true
				files = append(files, listed{path: f, keys: hiveKeys(f)})
			}
		}
	}
	if len(l.passed) > 0 {
		notices = append(notices, fmt.Sprintf("%d files without the ending .parquet are not read, the first is %s", len(l.passed), l.passed[0]))
	}
	return files, notices, nil
}

// realPath names a file the same way however it was reached.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// lister collects files.
type lister struct {
	seen   map[string]bool // real paths of listed files
	passed []string        // files in directories that are no data by their name
}

// entry returns the files that one declared path means.
func (l *lister) entry(ctx context.Context, path string) ([]string, error) {
	if path == "" {
		return nil, errors.New("lake: a declared path is empty")
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		found, err := l.directory(ctx, path, nil)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("lake: %s holds no data file; files named *.parquet are read, in sub-directories too, names beginning with _ or . are not", path)
		}
		return found, err
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("lake: %s is neither a file nor a directory", path)
	case err == nil:
		return []string{path}, nil
	case !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(path, "*?["):
		return nil, fmt.Errorf("lake: %w; name a file, a directory or a glob that exists", err)
	}
	return l.glob(ctx, path)
}

// glob returns the files that a pattern matches, those in matched directories
// included.
func (l *lister) glob(ctx context.Context, pattern string) ([]string, error) {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("lake: pattern %s: %w", pattern, err)
	}
	var found []string
	for _, m := range matches {
		if hiddenMatch(pattern, m) {
			continue
		}
		info, err := os.Stat(m)
		switch {
		case err != nil:
			return nil, fmt.Errorf("lake: %w", err)
		case info.IsDir():
			below, err := l.directory(ctx, m, nil)
			if err != nil {
				return nil, err
			}
			found = append(found, below...)
		case info.Mode().IsRegular():
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("lake: no data file matches %s; * stands for one level (a directory is read with all levels below it), names beginning with _ or . are passed over", pattern)
	}
	return found, nil
}

// hiddenMatch reports whether a wildcard stands for a hidden name in a match.
func hiddenMatch(pattern, match string) bool {
	wild := strings.Split(filepath.ToSlash(pattern), "/")
	for i, name := range strings.Split(filepath.ToSlash(match), "/") {
		if hidden(name) && (i >= len(wild) || wild[i] != name) {
			return true
		}
	}
	return false
}

// directory returns the data files below a directory. above are the real paths
// of the directories on the way: a link back to one of them is not followed.
func (l *lister) directory(ctx context.Context, dir string, above []string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	place, err := realPath(dir)
	if err != nil {
		return nil, fmt.Errorf("lake: %w", err)
	}
	if slices.Contains(above, place) {
		return nil, nil
	}
	above = append(slices.Clip(above), place)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("lake: %w", err)
	}
	var found []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if hidden(e.Name()) {
			continue
		}
		info, err := os.Stat(path) // of what a link points to
		if err != nil {
			return nil, fmt.Errorf("lake: %w", err)
		}
		switch {
		case info.IsDir():
			below, err := l.directory(ctx, path, above)
			if err != nil {
				return nil, err
			}
			found = append(found, below...)
		case !info.Mode().IsRegular():
		case slices.Contains(dataSuffixes, strings.ToLower(filepath.Ext(path))):
			found = append(found, path)
		default:
			l.passed = append(l.passed, path)
		}
	}
	return found, nil
}

// hidden reports whether a name is no data by the custom of lakes: _SUCCESS,
// _temporary, .part-0.crc.
func hidden(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".")
}

// Finds returns the first of the declared paths under which a file would be
// read if it stood at the place, or "". Places are compared as they are written
// and with their symbolic links followed as far as they exist; links below a
// declared path are not searched for.
func Finds(paths []string, file string) string {
	for _, p := range paths {
		if p != "" && (reaches(absolute(p), absolute(file)) || reaches(resolved(p), resolved(file))) {
			return p
		}
	}
	return ""
}

// reaches reports whether the file, or a directory above it that is searched
// down to it, is what the declared path means. Both paths are absolute.
func reaches(declared, file string) bool {
	_, err := os.Stat(declared)
	pattern := errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(declared, "*?[")
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

// absolute is filepath.Abs for paths that need not be sound.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// resolved is the absolute path, with symbolic links followed as far as it
// exists.
func resolved(path string) string {
	path = absolute(path)
	for at := path; ; at = filepath.Dir(at) {
		if place, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(place, strings.TrimPrefix(path, at))
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}

// hiveKeys returns the folders name=value of a path, the outermost first. The
// inner one of two with the same name holds.
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
