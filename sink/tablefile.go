package sink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// Model files and certificate rows are simple Parquet: flat columns or lists, encoding PLAIN, not compressed. They
// can come from anybody: the seal detects damage, not forgery. Since the Parquet library allocates whatever sizes a
// file claims, all sizes are checked against the size of the file before that library reads a value.

// A tableFile is a Parquet file whose footer has been read.
type tableFile struct {
	data   []byte
	end    int64 // where the footer begins, in bytes
	meta   *parquetmeta.File
	keys   map[string]string
	values []int64 // number of values in each column, as its pages claim
}

// maxFooter bounds a footer, in bytes: the metadata, and some hundred bytes for each row group.
const maxFooter = maxMetadata + 1<<20

// readFooter reads only the footer of a file of size bytes. A key with two values is an error,
// since readers could differ in which one they use.
func readFooter(r io.ReaderAt, size int64) (*tableFile, error) {
	footer, err := parquetmeta.Footer(r, size, maxFooter)
	if err != nil {
		return nil, err
	}
	meta, n, err := parquetmeta.Read(footer)
	if err == nil && n != len(footer) {
		err = fmt.Errorf("%d bytes follow", len(footer)-n)
	}
	if err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	f := &tableFile{end: size - parquetmeta.TailLength - int64(len(footer)), meta: meta, keys: map[string]string{}}
	for _, kv := range meta.Keys {
		key := string(kv.Key)
		if _, ok := f.keys[key]; ok {
			return nil, fmt.Errorf("footer: the key %.40q has two values", key)
		}
		f.keys[key] = string(kv.Value)
	}
	return f, nil
}

// openTable reads the footer of a file with rows of type T, and checks what footer and pages claim.
func openTable[T any](data []byte) (*tableFile, error) {
	if !isParquet(data) {
		return nil, errors.New("it is no Parquet file")
	}
	f, err := readFooter(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var empty bytes.Buffer // an empty file with the expected schema
	if err := parquet.NewGenericWriter[T](&empty).Close(); err != nil {
		return nil, err
	}
	want, err := readFooter(bytes.NewReader(empty.Bytes()), int64(empty.Len()))
	if err != nil {
		return nil, err
	}
	same := func(a, b parquetmeta.Element) bool {
		return a.Name == b.Name && a.Physical == b.Physical && a.Repetition == b.Repetition && a.Children == b.Children
	}
	if len(f.meta.Schema) == 0 || !slices.EqualFunc(f.meta.Schema[1:], want.meta.Schema[1:], same) || f.meta.Schema[0].Children != want.meta.Schema[0].Children {
		return nil, fmt.Errorf("its columns are %.2000s, want %v", fmt.Sprint(f.meta.Schema), want.meta.Schema)
	}
	f.data = data
	return f, f.check(parquet.SchemaOf(*new(T)))
}

// check compares the sizes in the footer and in the page headers with the size of the file.
func (f *tableFile) check(schema *parquet.Schema) error {
	columns := schema.Columns()
	f.values = make([]int64, len(columns))
	var rows int64
	left := f.end // bytes that no chunk has claimed: chunks must not overlap, so that no byte is read twice
	for _, g := range f.meta.Groups {
		if g.Rows < 0 || g.Rows > f.end { // every row has more than a byte
			return fmt.Errorf("a row group claims %d rows of %d bytes", g.Rows, f.end)
		}
		rows += g.Rows
		for i, c := range g.Chunks {
			leaf, _ := schema.Lookup(columns[i]...)
			switch {
			case len(c.File) > 0, c.Encrypted, c.Physical != format.Type(leaf.Node.Type().Kind()):
				return fmt.Errorf("column %d is stored in another way", i)
			case c.Codec != format.Uncompressed:
				return fmt.Errorf("column %d is compressed; a file of this kind is not", i)
			case c.Dictionary > 0:
				return errDictionary
			case c.Data < int64(len(parquetmeta.Magic)) || c.Compressed < 0 || c.Data > f.end || c.Compressed > f.end-c.Data:
				return fmt.Errorf("column %d claims %d bytes at %d of %d", i, c.Compressed, c.Data, f.end)
			}
			if left -= c.Compressed; left < 0 {
				return fmt.Errorf("its columns claim more than its %d bytes", f.end)
			}
			values, err := checkPages(f.data[c.Data:c.Data+c.Compressed], leaf)
			if err == nil && (values != c.Values || leaf.MaxRepetitionLevel == 0 && values != g.Rows) {
				err = fmt.Errorf("its pages have %d values, the footer says %d in %d rows", values, c.Values, g.Rows)
			}
			if err != nil {
				return fmt.Errorf("column %d: %w", i, err)
			}
			f.values[i] += values
		}
	}
	if rows != f.meta.Rows {
		return fmt.Errorf("it claims %d rows, its row groups %d", f.meta.Rows, rows)
	}
	return nil
}

var errDictionary = errors.New("a page is dictionary-encoded; a file of this kind is PLAIN")

// checkPages checks the sizes that the pages of a chunk claim, and returns the total number of values.
func checkPages(rest []byte, column parquet.LeafColumn) (values int64, err error) {
	for len(rest) > 0 {
		h, length, err := parquetmeta.ReadPageHeader(rest)
		if err != nil {
			return 0, fmt.Errorf("header of a page: %w", err)
		}
		body := rest[length:]
		switch {
		case h.Kind == format.DictionaryPage:
			return 0, errDictionary
		case h.Kind != format.DataPage && h.Kind != format.DataPageV2:
			return 0, fmt.Errorf("a page of kind %d", h.Kind)
		case h.Encoding != format.Plain:
			return 0, fmt.Errorf("a page has encoding %d; a file of this kind is PLAIN", h.Encoding)
		case h.Compressed < 0 || int64(h.Compressed) > int64(len(body)) || h.Uncompressed != h.Compressed:
			return 0, fmt.Errorf("a page claims %d bytes, %d of them stored, and %d are left", h.Uncompressed, h.Compressed, len(body))
		case h.Values < 0 || int64(h.Values) > 8*int64(h.Compressed):
			return 0, fmt.Errorf("a page claims %d values in %d bytes", h.Values, h.Compressed)
		}
		body, rest = body[:h.Compressed], body[h.Compressed:]
		lengths, v1 := []int32{h.Repetition, h.Definition}, h.Kind == format.DataPage
		for i, most := range []int{column.MaxRepetitionLevel, column.MaxDefinitionLevel} {
			n := int64(lengths[i]) // in version 1 the length precedes the levels
			if v1 && most > 0 {
				if len(body) < 4 || h.RepetitionLevels != format.RLE && i == 0 || h.DefinitionLevels != format.RLE && i == 1 {
					return 0, errors.New("levels that are no runs")
				}
				n, body = int64(binary.LittleEndian.Uint32(body)), body[4:]
			}
			if n < 0 || n > int64(len(body)) || most == 0 && n > 0 {
				return 0, fmt.Errorf("levels of %d bytes in %d", n, len(body))
			}
			if most > 0 {
				if _, err := parquetmeta.Runs(body[:n], 0, uint(bits.Len(uint(most))), int(h.Values)); err != nil {
					return 0, err
				}
			}
			body = body[n:]
		}
		values += int64(h.Values)
	}
	return values, nil
}

// eachRow calls use with each row. It stops at the first error.
func eachRow[T any](f *tableFile, use func(row T) error) (err error) {
	defer func() { // the library panics on some damaged files
		if p := recover(); p != nil {
			err = fmt.Errorf("it is damaged: %v", p)
		}
	}()
	file, err := parquet.OpenFile(bytes.NewReader(f.data), int64(len(f.data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	r := parquet.NewGenericReader[T](file)
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		var row [1]T
		n, err := r.Read(row[:])
		if n == 1 {
			if err := use(row[0]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && n == 0 {
			err = io.ErrNoProgress
		}
		if err != nil {
			return err
		}
	}
}
