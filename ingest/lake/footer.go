package lake

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

const (
	magic      = parquetmeta.Magic
	tailLength = parquetmeta.TailLength
	signature  = 28 // of a plain footer in a file with encrypted columns
	// maxFooter bounds a footer: a hundred bytes or so for each chunk.
	maxFooter = 1 << 28
)

// A footer has the schema of a file and the positions of its chunks.
type footer struct {
	sum     [sha256.Size]byte // of its bytes
	start   int64             // offset of the footer, at which data must end
	rows    int64
	columns []column
	groups  []parquetmeta.RowGroup
}

// A footer of some kilobytes can claim any number of rows, and passes through row numbers come before the first value
// is read. But few bytes can also have many rows: a column of one value or of nulls. So if a chunk has less than a
// bit a row, its page headers are checked when the file is opened; if a page has less than a bit a row, its runs of
// levels and indexes are, too. The number of unchecked rows is proportional to the file's size.
const (
	// fewRows is the number of rows up to which nothing is checked: passes through them are fast.
	fewRows = 1 << 17
	// rowsOfByte is the largest number of rows a byte that is not checked.
	rowsOfByte = 8
	// mostRowsOfByte bounds the rows beyond fewRows by the bytes of a file: all columns of a file
	// with more are constants.
	mostRowsOfByte = 1 << 15
)

// parseFooter decodes a footer and checks it against itself and the file's size.
func parseFooter(b []byte, size int64) (*footer, error) {
	meta, n, err := parquetmeta.Read(b)
	if rest := len(b) - n; err == nil && rest != 0 && (!meta.Encrypted || rest != signature) {
		err = fmt.Errorf("%d bytes follow it: %w", rest, errMalformed)
	}
	if errors.Is(err, errShort) { // there are no more of them
		err = fmt.Errorf("%w: %w", err, errMalformed)
	}
	if err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	f := &footer{
		sum:    sha256.Sum256(b),
		start:  size - tailLength - int64(len(b)),
		rows:   meta.Rows,
		groups: meta.Groups,
	}
	var rows int64
	for g := range f.groups {
		n := f.groups[g].Rows
		if n < 0 || n > math.MaxInt64/2-rows {
			return nil, fmt.Errorf("row group %d claims %d rows: %w", g, n, errMalformed)
		}
		rows += n
	}
	if rows != f.rows {
		return nil, fmt.Errorf("the file claims %d rows, its row groups %d: %w", f.rows, rows, errMalformed)
	}
	if (f.rows-fewRows)/mostRowsOfByte > size {
		return nil, fmt.Errorf("%d rows in %d bytes, of which at most %d a byte are read: its columns are constants or claims; write fewer rows a file, or columns that vary", f.rows, size, mostRowsOfByte)
	}
	if f.columns, err = schemaColumns(meta); err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	for _, kv := range meta.Keys {
		switch string(kv.Key) {
		case pandasKey:
			markIndex(f.columns, kv.Value)
		case arrowKey:
			if err := refuseDurations(f.columns, kv.Value); err != nil {
				return nil, fmt.Errorf("footer: %s: %w (hint: write the file again)", arrowKey, err)
			}
		}
	}
	for i := range f.columns {
		f.columns[i].refused = f.refusal(&f.columns[i])
	}
	f.refuseShared()
	return f, nil
}

func readFooter(r io.ReaderAt, size int64) (*footer, error) {
	b, err := parquetmeta.Footer(r, size, maxFooter)
	if err != nil {
		return nil, err
	}
	return parseFooter(b, size)
}

// refusal returns the reason why a column of a readable type cannot be read, or "". Chunks are
// checked here, before any row: no pass over row numbers must begin for rows that no chunk has.
func (f *footer) refusal(c *column) string {
	for g := range f.groups {
		if f.groups[g].Rows == 0 || c.leaf == len(f.groups[g].Chunks) { // a group of no columns, behind all others
			continue
		}
		why := chunkRefusal(&f.groups[g].Chunks[c.leaf])
		if why == "" && c.Use != ingest.Unusable {
			if _, err := f.chunk(g, c); err != nil {
				why = err.Error()
			}
		}
		if why != "" {
			return fmt.Sprintf("row group %d: %s", g, why)
		}
	}
	return ""
}

func chunkRefusal(m *parquetmeta.Chunk) string {
	const rewrite = "rewrite the file with codec ZSTD or SNAPPY"
	switch {
	case m.Encrypted:
		return "the column is encrypted, which is not read; decrypt the file first"
	case len(m.File) > 0:
		return fmt.Sprintf("the column's data are in another file (%.200q), which is not read; rewrite the file", m.File)
	case m.Codec == format.Lz4 || m.Codec == format.LZO:
		return fmt.Sprintf("codec %v is not read; %s", m.Codec, rewrite)
	case codecs[m.Codec] == 0:
		return fmt.Sprintf("codec number %d is unknown; %s", m.Codec, rewrite)
	}
	return ""
}

// chunk describes column c of row group g, checked against the file.
func (f *footer) chunk(g int, c *column) (chunk, error) {
	ch, err := f.storedChunk(g, c)
	if err != nil {
		return chunk{}, err
	}
	ch.lo, ch.hi, err = c.bounds(&f.groups[g].Chunks[c.leaf].Stats)
	return ch, err
}

// chunks yields the chunks with rows of the readable columns, text among them.
func (f *footer) chunks() iter.Seq2[*column, chunk] {
	return func(yield func(*column, chunk) bool) {
		for i := range f.columns {
			c := &f.columns[i]
			for g := range f.groups {
				if c.Use == ingest.Unusable && !c.Text || c.refused != "" || f.groups[g].Rows == 0 {
					continue
				}
				if ch, err := f.chunk(g, c); err == nil && !yield(c, ch) {
					return
				}
			}
		}
	}
}

// storedChunk is chunk without the bounds of the values.
func (f *footer) storedChunk(g int, c *column) (chunk, error) {
	group := &f.groups[g]
	m := &group.Chunks[c.leaf]
	fault := func(what string, args ...any) (chunk, error) {
		return chunk{}, fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), errMalformed)
	}
	if c.refused != "" {
		return chunk{}, errors.New(c.refused)
	}
	ch := chunk{
		group: g, start: m.Data, rows: group.Rows, uncompressed: m.Uncompressed,
		codec: m.Codec, counted: m.Stats.Counted, nulls: m.Stats.Nulls,
	}
	if d := m.Dictionary; d > 0 && d < ch.start {
		ch.start = d
	}
	switch {
	case len(m.Path) != c.depth || string(bytes.Join(m.Path, []byte("."))) != c.Name || m.Physical != c.physical:
		return fault("the footer's chunk is of column %.200q, type %v", bytes.Join(m.Path, []byte(".")), m.Physical)
	case m.Values != ch.rows:
		return fault("the footer claims %d values for %d rows", m.Values, ch.rows)
	case ch.start < int64(len(magic)) || m.Compressed < 0 || ch.start > f.start || m.Compressed > f.start-ch.start:
		return fault("the footer puts its %d bytes at %d, in a file whose data end at %d", m.Compressed, ch.start, f.start)
	case (ch.rows+math.MaxInt32-1)/math.MaxInt32 > m.Compressed/minPage: // pages
		return fault("the footer claims %d rows in %d bytes", ch.rows, m.Compressed)
	case ch.uncompressed < 0 || ch.nulls < 0 || ch.nulls > ch.rows || ch.nulls > 0 && c.deep == 0:
		return fault("the footer claims %d bytes and %d nulls", ch.uncompressed, ch.nulls)
	}
	ch.end = ch.start + m.Compressed
	return ch, nil
}

// A span is the position of a chunk's pages.
type span struct {
	start, end int64
	group      int
	column     *column
}

// refuseShared refuses columns that share bytes of the file with another one, or between row
// groups: a footer that names the same pages twice makes one row count as two.
func (f *footer) refuseShared() {
	var spans []span
	for c, ch := range f.chunks() {
		spans = append(spans, span{ch.start, ch.end, ch.group, c})
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.group, b.group))
	})
	last := 0 // of the spans so far, the one that ends last
	for i := 1; i < len(spans); i++ {
		if a, b := spans[last], spans[i]; b.start < a.end {
			a.refuse(b)
			b.refuse(a)
		}
		if spans[i].end > spans[last].end {
			last = i
		}
	}
}

func (s span) refuse(other span) {
	if s.column.refused == "" {
		s.column.refused = fmt.Sprintf("row group %d: its bytes %d to %d are also those of column %q in row group %d, at %d to %d: rows would count twice; write the file again",
			s.group, s.start, s.end, other.column.Name, other.group, other.start, other.end)
	}
}
