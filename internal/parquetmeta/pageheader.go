package parquetmeta

import (
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/thrift"
)

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

// The fields of PageHeader that describe a kind of page.
const (
	headerData       = 5
	headerDictionary = 7
	headerData2      = 8
)

// ReadPageHeader reads the header at the start of b and returns its length. An error
// that wraps [thrift.ErrShort] may go away with a longer b.
func ReadPageHeader(b []byte) (PageHeader, int, error) {
	r := thrift.NewReader(b, thriftDepth)
	var h PageHeader
	has := r.Structure(thrift.Struct, func(id int16, kind byte) {
		switch id {
		case 1:
			h.Kind = format.PageType(r.Int32(kind))
		case 2:
			h.Uncompressed = r.Int32(kind)
		case 3:
			h.Compressed = r.Int32(kind)
		case 4:
			h.Checked, h.Sum = true, uint32(r.Int32(kind))
		case headerData, headerDictionary, headerData2:
			h.describe(r, id, kind)
		}
	})
	r.Need(has, "a page header", 1, 2, 3)
	if err := r.Err(); err != nil {
		return h, 0, err
	}
	return h, r.Read(), nil
}

// describe reads DataPageHeader, DictionaryPageHeader or DataPageHeaderV2.
func (h *PageHeader) describe(r *thrift.Reader, field int16, kind byte) {
	kinds := [...]format.PageType{headerData: format.DataPage, headerDictionary: format.DictionaryPage, headerData2: format.DataPageV2}
	if h.Kind != kinds[field] {
		r.Failf("a page of kind %d with header %d", h.Kind, field)
	}
	h.Described = true
	has := r.Structure(kind, func(id int16, kind byte) {
		switch {
		case id == 1:
			h.Values = r.Int32(kind)
		case id == 2 && field != headerData2, id == 4 && field == headerData2:
			h.Encoding = format.Encoding(r.Int32(kind))
		case id == 3 && field == headerData:
			h.DefinitionLevels = format.Encoding(r.Int32(kind))
		case id == 4 && field == headerData:
			h.RepetitionLevels = format.Encoding(r.Int32(kind))
		case id == 2 && field == headerData2:
			h.Nulls = r.Int32(kind)
		case id == 3 && field == headerData2:
			h.Rows = r.Int32(kind)
		case id == 5 && field == headerData2:
			h.Definition = r.Int32(kind)
		case id == 6 && field == headerData2:
			h.Repetition = r.Int32(kind)
		case id == 7 && field == headerData2:
			h.Stored = !r.Bool(kind)
		}
	})
	switch r.Need(has, "a page header", 1, 2); field {
	case headerData:
		r.Need(has, "a page header", 3)
	case headerData2:
		r.Need(has, "a page header", 3, 4, 5, 6)
	default:
	}
}
