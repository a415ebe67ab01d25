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

// key is what makes a file the same one later.
func key(f pipeline.ManifestFile) string {
	written := ""
	if f.Modified != nil {
		written = f.Modified.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s\x00%d\x00%s\x00%s", f.Path, f.Bytes, f.Footer, written)
}

// content names a file wherever it stands, as far as its footer tells its content.
func content(f pipeline.ManifestFile) string { return fmt.Sprintf("%d %s", f.Bytes, f.Footer) }

// takenKey names a file by place and content.
func takenKey(f pipeline.ManifestFile) string { return hexOf(f.Path, f.Bytes, f.Footer)[:24] }

// take notes the files of a run that has finished.
func (s *State) take(files []pipeline.ManifestFile) {
	for _, f := range s.untaken(files) {
		s.Taken = append(s.Taken, takenKey(f))
	}
}

// untaken are the files that no run which has finished has taken.
func (s *State) untaken(files []pipeline.ManifestFile) []pipeline.ManifestFile {
	taken := map[string]bool{}
	for _, key := range s.Taken {
		taken[key] = true
	}
	return slices.DeleteFunc(slices.Clone(files), func(f pipeline.ManifestFile) bool { return taken[takenKey(f)] })
}

// newSince are the files that a list does not have.
func newSince(all []File, before []pipeline.ManifestFile) []pipeline.ManifestFile {
	known := map[string]bool{}
	for _, f := range before {
		known[key(f)] = true
	}
	var some []pipeline.ManifestFile
	for _, f := range all {
		if !known[key(f.ManifestFile)] {
			some = append(some, f.ManifestFile)
		}
	}
	return some
}

// manifested are files as a manifest describes them, in whatever time zone the machine is.
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

// chosen are the files that a run at this moment takes of the lake. Those that the run
// before took come first, in its order, and what has come since behind them, wherever it
// stands in the lake: so a row that both samples have keeps its ordinal, and with it
// its place among the hold-out rows, as long as no earlier file goes.
func (j *Job) chosen(ctx context.Context, all []File, before []pipeline.ManifestFile, known *State, moment time.Time) ([]File, error) {
	fresh := map[string]bool{}
	for _, f := range known.untaken(manifested(all)) {
		fresh[key(f)] = true
	}
	some := map[string]File{}
	var names []string // in the order of the lake
	for _, f := range all {
		wanted := true
		switch j.Files.Which {
		case FilesAll:
		case FilesNew:
			wanted = fresh[key(f.ManifestFile)]
		case FilesLast:
			until, err := j.until(ctx, f)
			if err != nil {
				return nil, err
			}
			wanted = until.After(moment.Add(-j.Files.Last))
		}
		if wanted {
			some[key(f.ManifestFile)], names = f, append(names, key(f.ManifestFile))
		}
	}
	var ordered []File
	add := func(name string) {
		if f, ok := some[name]; ok {
			ordered = append(ordered, f)
			delete(some, name)
		}
	}
	for _, f := range before {
		add(key(f))
	}
	for _, name := range names {
		add(name)
	}
	return ordered, nil
}

// until is the time of the latest row that a file can have: the end of the day or month
// in its path, or the largest value of the column by its footer.
func (j *Job) until(ctx context.Context, f File) (time.Time, error) {
	if j.Files.Key != "" {
		for part := range strings.SplitSeq(path.Dir(strings.ReplaceAll(f.Where, `\`, "/")), "/") {
			name, value, _ := strings.Cut(part, "=")
			if name != j.Files.Key {
				continue
			}
			for _, form := range []struct {
				text         string
				months, days int
			}{{"2006-01-02", 0, 1}, {"20060102", 0, 1}, {"2006-01", 1, 0}} {
				if at, err := time.Parse(form.text, value); err == nil {
					return at.AddDate(0, form.months, form.days), nil
				}
			}
			return time.Time{}, fmt.Errorf("%s: %s=%s is no date: want one as in 2026-01-31, 20260131 or 2026-01", f.Where, name, value)
		}
		return time.Time{}, fmt.Errorf("%s: its path has no key %s", f.Where, j.Files.Key)
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
