package lake

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
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
func Find(ctx context.Context, paths []string, files []dataset.ManifestFile) (Sample, error) {
	var found Sample
	from := newStore()
	names, err := list(ctx, from, paths)
	if err != nil {
		return found, err
	}
	type content struct {
		bytes  int64
		footer string
	}
	sample, sizes := map[content][]int{}, map[int64]bool{}
	for i, f := range files {
		c := content{f.Bytes, f.Footer}
		sample[c], sizes[f.Bytes] = append(sample[c], i), true
	}
	there := map[content][]string{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		if info, err := from.stat(ctx, name); err != nil || !sizes[info.Size()] {
			continue
		}
		if f, _, err := Files(ctx, []string{name}); err == nil && len(f) == 1 {
			c := content{f[0].Bytes, hex.EncodeToString(f[0].Footer[:])}
			there[c] = append(there[c], name)
		}
	}
	type pair struct {
		file, alike int
		name        string
	}
	chosen, matched := make([]string, len(files)), map[string]bool{}
	for c, equal := range sample {
		var pairs []pair
		for _, i := range equal {
			for _, name := range there[c] {
				pairs = append(pairs, pair{i, commonEnd(files[i].Path, name), name})
			}
		}
		slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.alike, a.alike) })
		for _, p := range pairs {
			if chosen[p.file] == "" && !matched[p.name] {
				chosen[p.file], matched[p.name] = p.name, true
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
func absent(f dataset.ManifestFile, names []string) string {
	end := f.Path
	for strings.HasPrefix(end, "../") {
		end = end[len("../"):]
	}
	size, whole := words.Count(f.Bytes, "byte"), len(strings.Split(end, "/"))
	for _, name := range names {
		if commonEnd(name, end) == whole {
			return fmt.Sprintf("%s has changed: the manifest has a file of %s with another footer", name, size)
		}
	}
	return fmt.Sprintf("%s is missing (%s, %s)", f.Path, size, words.Count(f.Rows, "row"))
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
	return fmt.Errorf("%w: of %s of the training run %d are missing from the data, or have changed: %s",
		job.ErrRefused, words.Count(len(s.Paths)+len(s.Missing), "file"), len(s.Missing), text)
}

// Lines describes the result, for people.
func (s Sample) Lines() []string {
	text := fmt.Sprintf("all %s of the training run are in the data", words.Count(len(s.Paths), "file"))
	if len(s.Others) > 0 {
		text += fmt.Sprintf("; it did not use %s, the first is %s: if files were chosen by the values of their rows, the bounds are void",
			words.Count(len(s.Others), "file"), s.Others[0])
	}
	return []string{text}
}
