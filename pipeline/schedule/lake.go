package schedule

import (
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// key identifies a file, until it is written again.
func key(f pipeline.ManifestFile) string {
	written := ""
	if f.Modified != nil {
		written = f.Modified.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s\x00%d\x00%s\x00%s", f.Path, f.Bytes, f.Footer, written)
}

// takenKey identifies a file by place and content.
func takenKey(f pipeline.ManifestFile) string { return hexOf(f.Path, f.Bytes, f.Footer)[:24] }

// note notes the files of a finished run.
func (s *State) note(files []pipeline.ManifestFile) {
	for _, f := range s.untaken(files) {
		s.Taken = append(s.Taken, takenKey(f))
	}
}

// untaken are the files that no finished run has taken.
func (s *State) untaken(files []pipeline.ManifestFile) []pipeline.ManifestFile {
	return without(files, takenKey, s.Taken)
}

// without are the files whose key is not among some.
func without(files []pipeline.ManifestFile, key func(pipeline.ManifestFile) string, some []string) []pipeline.ManifestFile {
	known := map[string]bool{}
	for _, k := range some {
		known[k] = true
	}
	return slices.DeleteFunc(slices.Clone(files), func(f pipeline.ManifestFile) bool { return known[key(f)] })
}

// newSince are the files of a lake that a list does not have.
func newSince(all []File, before []pipeline.ManifestFile) []pipeline.ManifestFile {
	var keys []string
	for _, f := range before {
		keys = append(keys, key(f))
	}
	return without(manifested(all), key, keys)
}

// same are the files that an earlier try of a run has taken. What a run takes is fixed by its
// first try, whatever that has come to.
func same(all []File, taken []pipeline.ManifestFile) ([]File, error) {
	there := map[string]File{}
	for _, f := range all {
		there[key(f.ManifestFile)] = f
	}
	files := make([]File, len(taken))
	for i, f := range taken {
		var ok bool
		if files[i], ok = there[key(f)]; !ok {
			return nil, fmt.Errorf("%s is gone or was written again since the first try of this run, which every try takes the same files as", f.Path)
		}
	}
	return files, nil
}

// manifested are files as in a manifest, in the same time zone on all machines.
func manifested(files []File) []pipeline.ManifestFile {
	all := make([]pipeline.ManifestFile, len(files))
	for i, f := range files {
		if all[i] = f.ManifestFile; f.Modified != nil {
			written := f.Modified.UTC()
			all[i].Modified = &written
		}
	}
	return all
}

// chosen are the files of a run at its moment, whenever it begins: those of the run before, in its order, and then
// new ones, in that of the lake. So a row of both samples keeps its ordinal, and with it its
// role, while no earlier file goes.
func (j *Job) chosen(ctx context.Context, all []File, before []pipeline.ManifestFile, known *State, moment time.Time) ([]File, error) {
	fresh := map[string]bool{}
	for _, f := range known.untaken(manifested(all)) {
		fresh[key(f)] = true
	}
	var some []File
	for _, f := range all {
		if f.Modified != nil && f.Modified.After(moment) { // it came while another run was at work
			continue
		}
		wanted := j.Files.Which != FilesNew || fresh[key(f.ManifestFile)]
		if j.Files.Which == FilesLast {
			until, err := j.until(ctx, f)
			if err != nil {
				return nil, err
			}
			wanted = until.After(moment.Add(-j.Files.Last))
		}
		if wanted {
			some = append(some, f)
		}
	}
	place := map[string]int{} // those of the run before count from below 0 up to it
	for i, f := range before {
		place[key(f)] = i - len(before)
	}
	slices.SortStableFunc(some, func(a, b File) int { return place[key(a.ManifestFile)] - place[key(b.ManifestFile)] })
	return some, nil
}

// reached is when so many rows, or files, had come, by the times at which files were written,
// however late somebody looks. Files that tell no time have come by now.
func (t Trigger) reached(fresh []pipeline.ManifestFile, now time.Time) (at time.Time, ok bool) {
	written := func(f pipeline.ManifestFile) time.Time {
		if f.Modified == nil || f.Modified.After(now) {
			return now
		}
		return *f.Modified
	}
	fresh = slices.Clone(fresh)
	slices.SortStableFunc(fresh, func(a, b pipeline.ManifestFile) int { return written(a).Compare(written(b)) })
	var rows int64
	for i, f := range fresh {
		rows += f.Rows
		if t.Files > 0 && int64(i) >= t.Files-1 || t.Rows > 0 && rows >= t.Rows {
			return written(f), true
		}
	}
	return now, false
}

// until is the latest time that a row of a file can have: the end of the day or month in its
// path, or the largest value of the column by its footer.
func (j *Job) until(ctx context.Context, f File) (time.Time, error) {
	if j.Files.Key != "" {
		return dateOf(f.Where, j.Files.Key)
	}
	most, err := j.Lake.Most(ctx, f, j.Files.Column)
	if err != nil {
		return time.Time{}, err
	}
	if !(math.Abs(most) < 1e11) {
		return time.Time{}, fmt.Errorf("%s: its footer does not tell the largest value of %q, seconds since 1970", f.Where, j.Files.Column)
	}
	return time.Unix(int64(math.Ceil(most)), 0), nil
}

// dateOf is the end of the day or month that a key of a path names.
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
