package lake

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Sample has the files of a manifest as they were found among data.
type Sample struct {
	Paths   []string // of the files, in order
	Others  []string // files of the data that are not in the sample
	Missing []string // files that are missing or have changed: path and size
}

// Find finds the files of a manifest among the data of the paths. It identifies a file by size
// and footer, wherever the lake is now; of equal files it takes the one whose path ends most alike. It
// opens only files with the size of one of the sample.
func Find(ctx context.Context, paths []string, files []dataset.ManifestFile) (Sample, error) {
	var found Sample
	from := objects.NewView()
	names, _, err := listFiles(ctx, from, paths, nil)
	if err != nil {
		return found, err
	}
	type content struct {
		bytes  int64
		footer string
	}
	sizes := map[int64]bool{}
	for _, f := range files {
		sizes[f.Bytes] = true
	}
	there := map[content][]string{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		if info, err := from.Stat(ctx, name); err != nil || !sizes[info.Size()] {
			continue
		}
		if f, _, err := Files(ctx, []string{name}); err == nil && len(f) == 1 {
			c := content{f[0].Bytes, hex.EncodeToString(f[0].Footer[:])}
			there[c] = append(there[c], name)
		}
	}
	matched := map[string]bool{}
	for _, f := range files {
		c := content{f.Bytes, f.Footer}
		if len(there[c]) == 0 {
			found.Missing = append(found.Missing, fmt.Sprintf("%s (%s, %s)", f.Path, words.Count(f.Bytes, "byte"), words.Count(f.Rows, "row")))
			continue
		}
		name := slices.MaxFunc(there[c], func(a, b string) int { return cmp.Compare(commonEnd(f.Path, a), commonEnd(f.Path, b)) })
		there[c] = slices.DeleteFunc(there[c], func(other string) bool { return other == name })
		matched[name], found.Paths = true, append(found.Paths, name)
	}
	found.Others = slices.DeleteFunc(names, func(name string) bool { return matched[name] })
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

// Err returns an error that names the files that data lack, nil if they lack none.
func (s Sample) Err(data []string) error {
	if len(s.Missing) == 0 {
		return nil
	}
	const most = 10
	shown := s.Missing[:min(most, len(s.Missing))]
	text := strings.Join(shown, ", ")
	if more := len(s.Missing) - len(shown); more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return fmt.Errorf("%w: missing in %s, or changed: %d of %s that train read: %s (hint: name the folder that train read)",
		job.ErrRefused, strings.Join(data, ", "), len(s.Missing), words.Count(len(s.Paths)+len(s.Missing), "file"), text)
}

// Lines describes the result, for people, and warns of files that training did not use.
func (s Sample) Lines() (lines, warnings []string) {
	if len(s.Others) > 0 {
		warnings = append(warnings, fmt.Sprintf("training did not use %s of the data, the first is %s: if files were chosen by the values of their rows, the bounds are void",
			words.Count(len(s.Others), "file"), s.Others[0]))
	}
	return append(lines, fmt.Sprintf("the data have every file of the training run (%s)", words.Count(len(s.Paths), "file"))), warnings
}
