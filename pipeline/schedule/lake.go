package schedule

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// versionOf returns a text that identifies a file until the file is written again.
func versionOf(f dataset.ManifestFile) string {
	written := ""
	if f.Modified != nil {
		written = f.Modified.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s\x00%d\x00%s\x00%s", f.Path, f.Bytes, f.Footer, written)
}

// contentOf returns a text that identifies a file by path and content.
func contentOf(f dataset.ManifestFile) string { return digest.OfValues(f.Path, f.Bytes, f.Footer)[:24] }

// unused returns the files that no finished run has used.
func (s *jobState) unused(files []dataset.ManifestFile) []dataset.ManifestFile {
	return without(files, contentOf, s.Used)
}

// without returns the files whose key is not in some.
func without(files []dataset.ManifestFile, key func(dataset.ManifestFile) string, some []string) []dataset.ManifestFile {
	known := map[string]bool{}
	for _, k := range some {
		known[k] = true
	}
	return slices.DeleteFunc(slices.Clone(files), func(f dataset.ManifestFile) bool { return known[key(f)] })
}

// sameFiles returns the files of the first try of a run, which all its tries use. It is an error if one of them is
// gone or was written again.
func sameFiles(all []File, first []dataset.ManifestFile) ([]File, error) {
	there := map[string]File{}
	for _, f := range all {
		there[versionOf(f.ManifestFile)] = f
	}
	files := make([]File, len(first))
	for i, f := range first {
		var ok bool
		if files[i], ok = there[versionOf(f)]; !ok {
			return nil, fmt.Errorf("%s is gone or was written again since the first try of this run: each try has the same files", f.Path)
		}
	}
	return files, nil
}

// manifestFiles returns files as in a manifest, with times in UTC.
func manifestFiles(files []File) []dataset.ManifestFile {
	all := make([]dataset.ManifestFile, len(files))
	for i, f := range files {
		if all[i] = f.ManifestFile; f.Modified != nil {
			all[i].Modified = new(f.Modified.UTC())
		}
	}
	return all
}

// filesAt returns the files of a run, as they were at its moment even if it begins later: first those of the run before
// in their order, then new ones in the order of the lake. A row thus has the same ordinal, and so the same subset, in
// all runs until an earlier file is removed.
func (j *Job) filesAt(all []File, state *jobState, moment time.Time) ([]File, error) {
	fresh := map[string]bool{}
	for _, f := range state.unused(manifestFiles(all)) {
		fresh[versionOf(f)] = true
	}
	var some []File
	for _, f := range all {
		if f.Modified != nil && f.Modified.After(moment) { // written later, for example during another run
			continue
		}
		wanted := j.Files.Which != FilesNew || fresh[versionOf(f.ManifestFile)]
		if j.Files.Which == FilesLast {
			until, err := dateOf(f.Where, j.Files.Key)
			if err != nil {
				return nil, err
			}
			wanted = until.After(moment.Add(-j.Files.Last))
		}
		if wanted {
			some = append(some, f)
		}
	}
	position := map[string]int{} // below 0 for files of the run before, 0 for new ones
	for i, f := range state.files() {
		position[versionOf(f)] = i - len(state.files())
	}
	slices.SortStableFunc(some, func(a, b File) int { return position[versionOf(a.ManifestFile)] - position[versionOf(b.ManifestFile)] })
	return some, nil
}

// postdated returns the paths of files whose time is after now. No run uses them.
func postdated(all []File, now time.Time) (paths []string) {
	for _, f := range all {
		if f.Modified != nil && f.Modified.After(now) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// replaced returns the paths of files of a run whose content differs from that in the run before.
func replaced(files []File, before []dataset.ManifestFile) (paths []string) {
	was := map[string]string{}
	for _, f := range before {
		was[f.Path] = contentOf(f)
	}
	for _, f := range files {
		if content := was[f.Path]; content != "" && content != contentOf(f.ManifestFile) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// keepsFeatures returns an error if the rows lack a feature of the newest certificate of the sequence. Without this
// check, a column that is missing or text in new files would be left out of the next model without a warning. Jobs that
// list their features need no check, because they fail anyway.
func (j *Job) keepsFeatures(ctx context.Context, rows dataset.Rows) error {
	if j.Job.Features != nil {
		return nil
	}
	ids, newest, err := j.certified(ctx)
	if err != nil || newest == 0 {
		return err
	}
	c, err := j.Output.GetCertificate(ctx, ids[newest])
	if err != nil {
		return err
	}
	if _, err := dataset.Open(ctx, j.Job, rows, c.Features(), j.How.Resources, nil); err != nil {
		return fmt.Errorf("the features stay those of certificate number %d: %w", newest, err)
	}
	return nil
}

// reached returns the moment at which the files reached the trigger's number of rows or files, by the times at which
// they were written, so that the moment does not depend on when it is computed. Files without a time count as written
// now. ok is false if the number is not reached.
func (t Trigger) reached(fresh []dataset.ManifestFile, now time.Time) (at time.Time, ok bool) {
	written := func(f dataset.ManifestFile) time.Time {
		if f.Modified == nil || f.Modified.After(now) {
			return now
		}
		return *f.Modified
	}
	fresh = slices.Clone(fresh)
	slices.SortStableFunc(fresh, func(a, b dataset.ManifestFile) int { return written(a).Compare(written(b)) })
	var rows int64
	for i, f := range fresh {
		rows += f.Rows
		if t.Files > 0 && int64(i) >= t.Files-1 || t.Rows > 0 && rows >= t.Rows {
			return written(f), true
		}
	}
	return now, false
}

// dateOf returns the end of the day or month that a key of a file's path names, as in day=2026-01-31.
func dateOf(file, key string) (time.Time, error) {
	for part := range strings.SplitSeq(path.Dir(strings.ReplaceAll(file, `\`, "/")), "/") {
		name, value, _ := strings.Cut(part, "=")
		if name != key {
			continue
		}
		for _, form := range []string{"2006-01-02", "20060102"} {
			if at, err := time.Parse(form, value); err == nil {
				return at.AddDate(0, 0, 1), nil
			}
		}
		if at, err := time.Parse("2006-01", value); err == nil {
			return at.AddDate(0, 1, 0), nil
		}
		return time.Time{}, fmt.Errorf("%s: %s=%s is no date: want one as in 2026-01-31, 20260131 or 2026-01", file, name, value)
	}
	return time.Time{}, fmt.Errorf("%s: its path has no key %s", file, key)
}
