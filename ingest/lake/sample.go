package lake

import (
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A Sample has the files of a manifest as they were found among data.
type Sample struct {
	Paths   []string // of the files, in order
	Others  []string // files of the data that are not in the sample
	Missing []string // sentences on files that are missing or have changed
}

// Find looks for the files of a manifest among the data of the paths. It identifies a file by size
// and footer, wherever the lake is now. Equal files go to those of the manifest whose paths end most
// alike: if one is gone, it is missing, and not another one. It opens only files with the size of one
// of the sample.
func Find(ctx context.Context, paths []string, files []pipeline.ManifestFile) (Sample, error) {
	var found Sample
	from := newStore()
	names, err := list(ctx, from, paths)
	if err != nil {
		return found, err
	}
	candidates, footers, matched := alike(ctx, from, names, files), map[string]string{}, map[string]bool{}
	footer := func(name string) string {
		sum, known := footers[name]
		if !known {
			if files, _, err := Files(ctx, []string{name}); err == nil && len(files) == 1 {
				sum = hex.EncodeToString(files[0].Footer[:])
			}
			footers[name] = sum
		}
		return sum
	}
	chosen, deepest := make([]string, len(files)), 0
	for _, f := range files {
		deepest = max(deepest, 1+strings.Count(f.Path, "/"))
	}
	for alike := deepest; alike >= 0; alike-- {
		ends := map[ending][]string{}
		for bytes, all := range candidates {
			for _, name := range all {
				if end, ok := endOf(name, bytes, alike); ok && !matched[name] {
					ends[end] = append(ends[end], name)
				}
			}
		}
		for i, f := range files {
			if err := ctx.Err(); err != nil {
				return found, err
			}
			end, ok := endOf(f.Path, f.Bytes, alike)
			if !ok || chosen[i] != "" {
				continue
			}
			if j := slices.IndexFunc(ends[end], func(name string) bool { return !matched[name] && footer(name) == f.Footer }); j >= 0 {
				chosen[i] = ends[end][j]
				matched[chosen[i]] = true
			}
		}
	}
	for i, f := range files {
		if chosen[i] == "" {
			found.Missing = append(found.Missing, absent(f, names))
			continue
		}
		found.Paths = append(found.Paths, chosen[i])
	}
	for _, name := range names {
		if !matched[name] {
			found.Others = append(found.Others, name)
		}
	}
	return found, nil
}

// An ending is the last names of a path, and the size of its file.
type ending struct {
	names string
	bytes int64
}

// endOf returns the last n names of a path, if it has so many.
func endOf(path string, bytes int64, n int) (ending, bool) {
	names := strings.Split(filepath.ToSlash(path), "/")
	if n > len(names) {
		return ending{}, false
	}
	return ending{strings.Join(names[len(names)-n:], "/"), bytes}, true
}

// alike returns the files with the size of one in the manifest, by size.
func alike(ctx context.Context, from store, names []string, files []pipeline.ManifestFile) map[int64][]string {
	wanted := map[int64]bool{}
	for _, f := range files {
		wanted[f.Bytes] = true
	}
	candidates := map[int64][]string{}
	for _, name := range names {
		if info, err := from.stat(ctx, name); err == nil && wanted[info.Size()] {
			candidates[info.Size()] = append(candidates[info.Size()], name)
		}
	}
	return candidates
}

// commonEnd returns the number of names that two paths have in common at their ends.
func commonEnd(a, b string) int {
	x, y := strings.Split(filepath.ToSlash(a), "/"), strings.Split(filepath.ToSlash(b), "/")
	n := 0
	for n < len(x) && n < len(y) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

// absent describes a file of the manifest that is missing or has changed.
func absent(f pipeline.ManifestFile, names []string) string {
	end := f.Path
	for strings.HasPrefix(end, "../") {
		end = end[len("../"):]
	}
	size, whole := count(int(f.Bytes), "byte", "bytes"), len(strings.Split(end, "/"))
	for _, name := range names {
		if commonEnd(name, end) == whole {
			return fmt.Sprintf("%s has changed: the manifest has a file of %s with another footer", name, size)
		}
	}
	return fmt.Sprintf("%s is missing (%s, %s)", f.Path, size, count(int(f.Rows), "row", "rows"))
}

// Err returns an error that names missing files, nil if there are none.
func (s Sample) Err() error {
	if len(s.Missing) == 0 {
		return nil
	}
	const most = 10
	shown := s.Missing[:min(most, len(s.Missing))]
	text := strings.Join(shown, "; ")
	if more := len(s.Missing) - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return fmt.Errorf("%w: of %s of the sample %d are not among the data as the manifest has them: %s",
		pipeline.ErrRefused, count(len(s.Paths)+len(s.Missing), "file", "files"), len(s.Missing), text)
}

// Lines describes the result, for people.
func (s Sample) Lines() []string {
	text := fmt.Sprintf("the manifest names %s, all of which are among the data", count(len(s.Paths), "file", "files"))
	if len(s.Others) > 0 {
		text += fmt.Sprintf("; not in the sample are %s of them, the first is %s. Who chose the sample by the values of its rows has no certificate: see that the choice does not depend on them",
			count(len(s.Others), "file", "files"), s.Others[0])
	}
	return []string{text}
}
