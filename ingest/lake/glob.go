package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/internal/objects"
)

// maxMatches bounds the folders and files that a pattern may match on a level.
const maxMatches = 1 << 20

// expand returns the paths that a pattern matches, as filepath.Glob does, except hidden names that the pattern does not
// spell out. It searches a folder once on each level: folders linked to each other can have exponentially many paths.
func expand(ctx context.Context, from *objects.View, pattern string) ([]string, error) {
	dir, wanted := filepath.Split(pattern)
	folders := []string{cmp.Or(dir, ".")}
	if strings.ContainsAny(dir, `*?[\`) {
		var err error
		if folders, err = expand(ctx, from, strings.TrimRight(dir, string(filepath.Separator))); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(folders, func(a, b string) int {
		return cmp.Compare(filepath.ToSlash(a)+"/", filepath.ToSlash(b)+"/")
	})
	var matches []string
	seen := map[string]bool{}
	for _, folder := range folders {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fresh, err := unseen(ctx, from, folder, seen)
		if err != nil {
			return nil, err
		}
		if !fresh {
			continue
		}
		entries, err := from.ReadDir(ctx, folder)
		if err != nil && len(entries) == 0 {
			continue
		}
		for _, e := range entries {
			name := e.Name()
			if hidden(name) && name != wanted {
				continue
			}
			match, err := filepath.Match(wanted, name)
			if err != nil {
				return nil, err
			}
			if match {
				matches = append(matches, objects.Join(folder, name))
			}
		}
		if len(matches) > maxMatches {
			return nil, fmt.Errorf("it matches more than %d paths; name folders, which are searched with all below them", maxMatches)
		}
	}
	return matches, nil
}

// unseen reports whether the path leads to a folder that is not in seen, and adds it. A folder
// reached with other keys in its path counts as another one; rows found there are an error later.
func unseen(ctx context.Context, from *objects.View, folder string, seen map[string]bool) (bool, error) {
	info, err := from.Stat(ctx, folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && objects.IsAddress(folder) {
		return false, err // a store that does not answer has no fewer matches
	}
	if err != nil || !info.IsDir() {
		return false, nil //nolint:nilerr // as filepath.Glob does
	}
	resolved, err := realPath(folder)
	if err != nil {
		return false, nil //nolint:nilerr // as filepath.Glob does
	}
	key := fmt.Sprintf("%q %q", resolved, hiveKeys(filepath.Join(folder, "-")))
	if seen[key] {
		return false, nil
	}
	seen[key] = true
	return true, nil
}
