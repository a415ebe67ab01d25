package lake

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"

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

// Errors about the bytes of a file's metadata: too few of them, and wrong ones.
var (
	errShort     = parquetmeta.ErrShort
	errMalformed = parquetmeta.ErrMalformed
)

// A footer has the schema of a file and the positions of its chunks.
type footer struct {
	sum     [sha256.Size]byte // of its bytes
	size    int64             // of the file
	start   int64             // offset of the footer, at which data must end
	rows    int64
	columns []column
	groups  []parquetmeta.RowGroup
}

// parseFooter decodes a footer and checks it against itself and the file's size.
func parseFooter(b []byte, size int64) (*footer, error) {
	meta, n, err := parquetmeta.Read(b)
	if rest := len(b) - n; err == nil && rest != 0 && (!meta.Encrypted || rest != signature) {
		err = fmt.Errorf("%d bytes follow it: %w", rest, errMalformed)
	}
	if err != nil {
		return nil, footerFault(err)
	}
	f := &footer{
		sum:    sha256.Sum256(b),
		size:   size,
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
		if string(kv.Key) == pandasKey {
			markIndex(f.columns, kv.Value)
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
	case !readableCodec(m.Codec):
		return fmt.Sprintf("codec number %d is unknown; %s", m.Codec, rewrite)
	}
	return ""
}

// guard returns a panic of f, which calls libraries on damaged input, as an error. f must start
// no goroutine.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decoding failed: %v: %w", p, errMalformed)
		}
	}()
	return f()
}

func footerFault(err error) error {
	if errors.Is(err, errShort) { // there are no more of them
		return fmt.Errorf("footer: %w: %w", err, errMalformed)
	}
	return fmt.Errorf("footer: %w", err)
}
