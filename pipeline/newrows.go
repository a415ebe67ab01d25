package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"slices"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// RowsDigest returns a digest of the values of a source's rows, in their order. It does not depend on files and row
// groups.
func RowsDigest(ctx context.Context, src dataset.Source, workers int) (job.Digest, error) {
	var all []dataset.ColumnDigest
	n := dataset.RowsOf(src)
	err := hashRuns(ctx, src, []int64{n}, workers, func(_ int, columns []dataset.ColumnDigest) error {
		all = columns
		return nil
	})
	return dataset.ShardDigest(0, n, all), err
}

// Holds reports whether the rows of a source are those of consecutive files of the manifest, in their order. The files,
// row groups and compression of the source do not matter. Its columns must be those of the manifest's dataset.
func (m Manifest) Holds(ctx context.Context, src dataset.Source, workers int) (bool, error) {
	n := dataset.RowsOf(src)
	for _, like := range m.spans(n) {
		layout := m.shards(like[0])
		sizes := make([]int64, len(layout))
		for i, s := range layout {
			sizes[i] = s.Rows
		}
		left, before := like, int64(0)
		err := hashRuns(ctx, src, sizes, workers, func(i int, columns []dataset.ColumnDigest) error {
			left = slices.DeleteFunc(slices.Clone(left), func(at span) bool {
				s := m.shards(at)[i]
				return s.Digest != dataset.ShardDigest(at.first+before, s.Rows, columns).String()
			})
			if before += sizes[i]; len(left) == 0 {
				return errOtherRows
			}
			return nil
		})
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, errOtherRows) {
			return false, err
		}
	}
	return false, nil
}

// errOtherRows ends a comparison: no span has these rows.
var errOtherRows = errors.New("other rows")

// A span is a range [from, to) of consecutive files of a manifest.
type span struct {
	from, to int
	first    int64 // ordinal of the first row
}

// spans returns the spans with n rows, grouped by the sizes of their shards.
func (m Manifest) spans(n int64) (groups [][]span) {
	positions := map[string]int{}
	first := int64(0)
	for from, f := range m.Files {
		rows := int64(0)
		for to := from; to < len(m.Files) && rows < n; to++ {
			if rows += m.Files[to].Rows; rows != n {
				continue
			}
			at := span{from, to + 1, first}
			var sizes []byte
			for _, s := range m.shards(at) {
				sizes = binary.AppendVarint(sizes, s.Rows)
			}
			position, known := positions[string(sizes)]
			if !known {
				position = len(groups)
				positions[string(sizes)], groups = position, append(groups, nil)
			}
			groups[position] = append(groups[position], at)
			break
		}
		first += f.Rows
	}
	return groups
}

func (m Manifest) shards(files span) (all []dataset.ManifestShard) {
	for _, f := range m.Files[files.from:files.to] {
		all = append(all, f.Shards...)
	}
	return all
}

// hashRuns divides the rows of a source into runs of these sizes, and calls use with the digests of the columns of each
// run.
func hashRuns(ctx context.Context, src dataset.Source, sizes []int64, workers int, use func(i int, columns []dataset.ColumnDigest) error) error {
	sums := make([]hash.Hash, len(src.Columns()))
	for c := range sums {
		sums[c] = sha256.New()
	}
	var bits []byte
	at, done := 0, int64(0)
	return dataset.Stream(ctx, src, nil, workers, func(b dataset.Block) error {
		for from := 0; from < b.Rows; {
			to := int(min(int64(b.Rows), int64(from)+sizes[at]-done))
			for c, column := range b.Columns {
				bits = dataset.AppendNumbers(bits[:0], column[from:to])
				_, _ = sums[c].Write(bits) // a hash never returns an error
			}
			done, from = done+int64(to-from), to
			if done < sizes[at] {
				continue
			}
			columns := make([]dataset.ColumnDigest, len(sums))
			for c := range sums {
				sums[c].Sum(columns[c][:0])
				sums[c].Reset()
			}
			if err := use(at, columns); err != nil {
				return err
			}
			at, done = at+1, 0
		}
		return nil
	})
}
