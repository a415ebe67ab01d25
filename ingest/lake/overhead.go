package lake

import (
	"context"
	"fmt"

	"github.com/parquet-go/parquet-go/format"
)

// Overhead returns how many bytes of memory readers need at most that read shards at
// the same time, beyond what a job keeps of the rows: their batches, pages, dictionaries
// and what the codecs need. It is computed from the footers, no row is read.
func (s *Source) Overhead(ctx context.Context, readers int) (int64, error) {
	var most int64
	err := s.eachShard(ctx, func(sh shard, foot *footer) error {
		need, err := s.shardOverhead(sh, foot)
		most = max(most, need)
		return err
	})
	return most * int64(max(readers, 1)), err
}

// eachShard calls use for each shard with the footer of its file, read again.
func (s *Source) eachShard(ctx context.Context, use func(sh shard, foot *footer) error) error {
	var file *dataFile
	var foot *footer
	for _, sh := range s.shards {
		if err := ctx.Err(); err != nil {
			return err
		}
		if sh.file != file {
			var err error
			if foot, err = s.footerAgain(sh.file); err != nil {
				return fmt.Errorf("lake: %s: %w", sh.file.path, err)
			}
			file = sh.file
		}
		if err := use(sh, foot); err != nil {
			return fmt.Errorf("lake: %s, row group %d: %w", sh.file.path, sh.group.index, err)
		}
	}
	return nil
}

// batchesKept is how many batches of a reader are in memory at the same time: the one
// that is decoded and the one that is used.
const batchesKept = 2

// shardOverhead is what reading one shard takes.
func (s *Source) shardOverhead(sh shard, foot *footer) (int64, error) {
	rows := min(int64(s.batchRows), sh.group.rows)
	need := batchesKept * rows * int64(len(s.columns)) * 8
	stored := make([]int64, s.lanes)
	for j, name := range s.columns {
		c := sh.file.column(name)
		if c.leaf < 0 {
			continue
		}
		ch, err := foot.chunk(sh.group.index, c)
		if err != nil {
			return 0, fmt.Errorf("column %q: %w", name, err)
		}
		page := min(ch.uncompressed, c.mostBytes(ch.rows), maxPage)
		need += page
		if ch.codec != format.Uncompressed {
			stored[j%s.lanes] = max(stored[j%s.lanes], min(page, ch.end-ch.start))
		}
	}
	for _, n := range stored {
		need += n + n/4
	}
	return need, nil
}
