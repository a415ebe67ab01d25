package parquetmeta

import "github.com/parquet-go/parquet-go/format"

// A PageHeader is PageHeader, with the header of its kind of page.
type PageHeader struct {
	Kind         format.PageType
	Uncompressed int32
	Compressed   int32
	Checked      bool
	Sum          uint32
	Described    bool // there is a header of the kind

	Values   int32
	Encoding format.Encoding
	// In version 1, the encodings of levels:
	DefinitionLevels, RepetitionLevels format.Encoding
	// In version 2:
	Nulls, Rows            int32
	Definition, Repetition int32 // bytes of levels
	Stored                 bool  // not compressed, whatever the chunk's codec is
}

// ReadPageHeader reads the header at the start of b and returns its length. An error
// that wraps [ErrShort] may go away with a longer b.
func ReadPageHeader(b []byte) (PageHeader, int, error) {
	r := newReader(b)
	var h PageHeader
	var sum int32
	// describe reads the header of a kind of page.
	describe := func(of format.PageType, to fields, needed ...int) func(kind byte) {
		return func(kind byte) {
			if h.Kind != of {
				r.failf("a page of kind %d with the header of kind %d", h.Kind, of)
			}
			h.Described = true
			r.structure(kind, "a page header", to, needed...)
		}
	}
	encoding, compressed := (*int32)(&h.Encoding), true
	has, _ := r.structure(typeStruct, "a page header", fields{
		1: (*int32)(&h.Kind), 2: &h.Uncompressed, 3: &h.Compressed, 4: &sum,
		5: describe(format.DataPage, fields{1: &h.Values, 2: encoding, 3: (*int32)(&h.DefinitionLevels), 4: (*int32)(&h.RepetitionLevels)}, 1, 2, 3),
		7: describe(format.DictionaryPage, fields{1: &h.Values, 2: encoding}, 1, 2),
		8: describe(format.DataPageV2, fields{
			1: &h.Values, 2: &h.Nulls, 3: &h.Rows, 4: encoding, 5: &h.Definition, 6: &h.Repetition, 7: &compressed,
		}, 1, 2, 3, 4, 5, 6),
	}, 1, 2, 3)
	if r.err != nil {
		return h, 0, r.err
	}
	h.Checked, h.Sum, h.Stored = has.has(4), uint32(sum), !compressed
	return h, r.pos, nil
}
