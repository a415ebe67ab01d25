package lake

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

var _ dataset.Source = (*Source)(nil)

// Config says what to read.
type Config struct {
	// Paths are files, directories and globs, in the order of their rows.
	Paths []string
	// Choice says which columns to read: without Features all numeric ones that all files have,
	// sorted by name. Text is read as a number: see [job.Label]. Pages bounds the pages of as many
	// readers as Decoders. If there are fewer row groups, these divide the columns of one.
	dataset.Choice
	// Sample are the files of the dataset that these files may be of: a key in paths that is no number
	// in one of them is text here too.
	Sample []dataset.ManifestFile
	// BatchRows is the largest number of rows of a batch. Zero means 8,192, or fewer with more than 128 columns.
	BatchRows int
	// Reasons names a column of texts with the reasons of marked rows; the values tell those of others,
	// and of files without it. "" means none.
	Reasons string
	// NoDigests leaves out the column digests (ColumnDigests returns nil), for passes that certify nothing.
	NoDigests bool
}

// By default a batch has mostBatchRows rows, a little over 1 MiB with twenty columns, but at
// most batchBytes, and whole blocks of leastBatchRows rows.
const (
	mostBatchRows  = 8192
	leastBatchRows = 256
	batchBytes     = 8 << 20
)

// A Source reads the rows of a lake. It keeps no file open between readings.
type Source struct {
	cfg      Config
	store    *objects.View
	columns  []string
	meanings []job.Meaning
	shards   []shard
	warnings []string
	files    []dataset.File
	records  *ingest.Records
	lanes    int       // goroutines that decode a row group
	tools    sync.Pool // of *tools
	cache    footerCache
}

type shard struct {
	file  *dataFile
	group group
	first int64 // ordinal
}

// Open lists the files, reads their footers, but no row, and chooses the columns. [Source.Open] reads
// rows; a file that has changed since is an error.
func Open(ctx context.Context, cfg Config) (*Source, error) {
	from := objects.NewView()
	if cfg.BatchRows < 0 {
		return nil, fmt.Errorf("batches of %d rows", cfg.BatchRows)
	}
	files, warnings, err := listWithFooters(ctx, from, cfg.Paths, cfg.Sample)
	if err != nil {
		return nil, err
	}
	columns, means, left, err := choose(files, cfg.Choice)
	if err != nil {
		return nil, err
	}
	if cfg.Mark && slices.Contains(columns, ingest.ReasonColumn) {
		return nil, fmt.Errorf("column %q would collide with the column of reasons; rename it", ingest.ReasonColumn)
	}
	if cfg.BatchRows == 0 {
		rows := batchBytes / 8 / max(len(columns), 1) // of the columns only, so that the memory budget changes no batch
		cfg.BatchRows = min(max(rows-rows%leastBatchRows, leastBatchRows), mostBatchRows)
	}
	s := &Source{
		cfg: cfg, store: from, columns: columns, meanings: means, warnings: append(warnings, left...),
		records: ingest.NewRecords(columns, cfg.Mark, cfg.Encoded),
	}
	var first int64
	for _, f := range files {
		s.files = append(s.files, f.File)
		for _, g := range f.groups {
			if s.shards = append(s.shards, shard{file: f, group: g, first: first}); g.rows > maxSample-first {
				return nil, fmt.Errorf("%s: its footer claims %d rows, which makes more than %d in all", f.Path, g.rows, maxSample)
			}
			first += g.rows
		}
	}
	s.lanes = max(1, min(cfg.Decoders/max(1, len(s.shards)), len(columns)))
	each := cfg.Pages / int64(max(1, min(cfg.Decoders, len(s.shards))))
	s.tools.New = func() any {
		return &tools{pages: allowance{most: each}, lanes: make([]lane, s.lanes), cursors: make([]cursor, len(columns))}
	}
	return s, nil
}

// choose chooses the columns. Files without rows may have any: writers of no rows often know neither
// their types nor their names.
func choose(files []*dataFile, choice dataset.Choice) (columns []string, means []job.Meaning, warnings []string, err error) {
	files = slices.DeleteFunc(slices.Clone(files), func(f *dataFile) bool { return f.Rows == 0 })
	if len(files) == 0 && choice.Features == nil {
		return nil, nil, nil, errors.New("no file has rows")
	}
	columns, warnings, err = ingest.Select(tables(files), choice)
	if len(files) == 0 {
		return columns, nil, warnings, err
	}
	if err == nil {
		err = refused(files, columns, choice)
	}
	if err == nil {
		means, err = oneMeaning(files, columns, choice)
	}
	if err == nil {
		err = checkTexts(files, choice.Groups)
	}
	return columns, means, warnings, err
}

// checkTexts checks that a column of groups by texts has text, and the keys of paths.
func checkTexts(files []*dataFile, groups job.GroupsDecl) error {
	if len(groups.Texts) == 0 {
		return nil
	}
	for _, f := range files {
		c := f.column(groups.Column)
		if !c.Text {
			return fmt.Errorf("%s: column %q is %s, and its groups are texts (hint: write it as text, or name numbers in the job)", f.Path, c.Name, c.Type)
		}
		if c.leaf >= 0 {
			continue
		}
		if err := groups.Check(f.text(c.Name), f.key(c.Name)); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return nil
}

// refused returns an error for the first file with a used column whose chunks are not read.
func refused(files []*dataFile, columns []string, choice dataset.Choice) error {
	for _, f := range files {
		for _, name := range columns {
			if c := f.column(name); c.refused != "" {
				return fmt.Errorf("%s, column %q, %s%s", f.Path, name, c.refused, ingest.OrLeaveOut(choice, name))
			}
		}
	}
	return nil
}

// oneMeaning returns what the used columns mean, or an error for one that is a point in time in one
// file and a number in another, local time in one and UTC in another, or text in some.
func oneMeaning(files []*dataFile, columns []string, choice dataset.Choice) ([]job.Meaning, error) {
	all := make([]job.Meaning, len(columns))
	for i, name := range columns {
		a := files[0]
		all[i] = a.column(name).meaning()
		for _, f := range files {
			if a, b := files[0].column(name), f.column(name); max(a.depth, 1) != max(b.depth, 1) {
				return nil, fmt.Errorf("column %q is in groups in one of %s and %s, and in the other it is not, or in others: give it another name%s", name, files[0].Path, f.Path, ingest.OrLeaveOut(choice, name))
			}
			m := f.column(name).meaning()
			both, ok := all[i].With(m)
			if !ok {
				return nil, fmt.Errorf("column %q is %s (%s) in %s, but %s (%s) in %s; make it one type in all files%s",
					name, all[i], a.column(name).Type, a.Path, m, f.column(name).Type, f.Path, ingest.OrLeaveOut(choice, name))
			}
			if both != all[i] {
				a = f
			}
			all[i] = both
		}
	}
	return all, nil
}

// Meanings returns what the used columns mean.
func (s *Source) Meanings() []job.Meaning { return s.meanings }

// Columns returns the names of the used columns: features, then the target.
func (s *Source) Columns() []string { return slices.Clone(s.columns) }

// Warnings returns sentences on the files and columns that were left out, and why.
func (s *Source) Warnings() []string { return slices.Clone(s.warnings) }

// Files describes the files, by their footers.
func (s *Source) Files() []dataset.File { return slices.Clone(s.files) }

// Shards returns the row groups in order. Empty ones are left out.
func (s *Source) Shards() []dataset.Shard {
	shards := make([]dataset.Shard, len(s.shards))
	for i, sh := range s.shards {
		shards[i] = dataset.Shard{
			First:    sh.first,
			Rows:     sh.group.rows,
			Name:     fmt.Sprintf("%s, row group %d", sh.file.Path, sh.group.index),
			Position: dataset.Position{In: sh.file.Path, Part: sh.group.index, At: sh.group.first},
		}
	}
	return shards
}

// Open opens the file of shard i again and starts to read its row group.
func (s *Source) Open(ctx context.Context, i int) (dataset.Batches, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if i < 0 || i >= len(s.shards) {
		return nil, fmt.Errorf("there is no shard %d; there are %d", i, len(s.shards))
	}
	sh := s.shards[i]
	file, err := s.store.Open(ctx, sh.file.Path)
	if err != nil {
		return nil, err
	}
	b := &batches{src: s, shard: sh, file: file, tools: s.tools.Get().(*tools)}
	k, err := s.cache.find(sh.file, file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", sh.file.Path, err), b.Close())
	}
	b.tools.pages.held.Store(0)
	if sh.file.arrow {
		err = b.startArrow(k.arrow)
	} else {
		err = b.start(k.foot)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *batches) start(foot *footer) error {
	for i := range b.tools.lanes {
		b.tools.lanes[i].held = 0
	}
	var chunks []chunk
	var of []int // columns
	err := b.columns(func(j int, col *column) error {
		ch, err := foot.chunk(b.shard.group.index, col)
		chunks, of = append(chunks, ch), append(of, j)
		return err
	})
	if err != nil {
		return err
	}
	for i, src := range ahead(b.file, chunks) {
		j, ch := of[i], chunks[i]
		col := b.shard.file.column(b.src.columns[j])
		c, l := &b.tools.cursors[j], &b.tools.lanes[j%b.src.lanes]
		slack := min(max(slackOfAll/max(len(b.src.columns), 1), leastSlack), pageSlack) // of a page
		c.reset(src, col, ch, l, int64(slack))
		if !col.Text { // which has a bound of its own
			c.allowed = &b.tools.pages
		}
		if groups := b.src.cfg.Groups; groups.Column == col.Name {
			c.groups = groups
		}
		b.cursors[j], b.next[j] = c, c.read
	}
	return b.openReasons(foot)
}

// openReasons begins to read the reasons of rejected rows, if the file has them.
func (b *batches) openReasons(foot *footer) error {
	at, ok := b.shard.file.positions[b.src.cfg.Reasons]
	if !ok || b.src.cfg.Reasons == "" || !b.src.cfg.Mark {
		return nil
	}
	col := &b.shard.file.columns[at]
	ch, err := foot.storedChunk(b.shard.group.index, col)
	if err == nil {
		b.reasons = storedReader(b.file, col, ch, leastStored)
	}
	return err
}

// columns opens the columns of the file and keeps the values of keys of its path.
func (b *batches) columns(open func(j int, col *column) error) error {
	f, n := b.shard.file, len(b.src.columns)
	b.finite, b.cursors, b.next = make([]bool, n), make([]*cursor, n), make([]reader, n)
	for j, name := range b.src.columns {
		if !b.src.cfg.NoDigests {
			b.digests = append(b.digests, sha256.New())
		}
		col := f.column(name)
		if key := f.key(name); col.leaf < 0 {
			b.next[j] = func(values []float64) (bool, error) {
				for i := range values {
					values[i] = key
				}
				return ingest.FaultOf(key) == ingest.None, nil
			}
		} else if err := open(j, col); err != nil {
			return b.columnError(j, err)
		}
	}
	return nil
}
