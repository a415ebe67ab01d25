package lake

import (
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/thrift"
)

// A pageHeader is PageHeader, with the header of its kind of page.
type pageHeader struct {
	kind         format.PageType
	uncompressed int32
	compressed   int32
	checked      bool
	sum          uint32
	described    bool // there is a header of the kind

	values   int32
	encoding format.Encoding
	levels   format.Encoding // of definition levels, in version 1
	// In version 2:
	nulls, rows            int32
	definition, repetition int32 // bytes of levels
	stored                 bool  // not compressed, whatever the chunk's codec is
}

// The fields of PageHeader that describe a kind of page.
const (
	headerData       = 5
	headerDictionary = 7
	headerData2      = 8
)

// readPageHeader reads the header at the start of b and returns its length. An error
// that wraps errShort may go away with a longer b.
func readPageHeader(b []byte) (pageHeader, int, error) {
	r := thrift.NewReader(b, thriftDepth)
	var h pageHeader
	seen := fields(0)
	r.Structure(thrift.Struct, func(id int16, kind byte) {
		seen.add(id)
		switch id {
		case 1:
			h.kind = format.PageType(r.Int32(kind))
		case 2:
			h.uncompressed = r.Int32(kind)
		case 3:
			h.compressed = r.Int32(kind)
		case 4:
			h.checked, h.sum = true, uint32(r.Int32(kind))
		case headerData, headerDictionary, headerData2:
			h.describe(r, id, kind)
		default:
			r.Skip(kind)
		}
	})
	seen.need(r, "a page header", 1, 2, 3)
	if err := r.Err(); err != nil {
		return h, 0, err
	}
	return h, r.Read(), nil
}

// describe reads DataPageHeader, DictionaryPageHeader or DataPageHeaderV2.
func (h *pageHeader) describe(r *thrift.Reader, field int16, kind byte) {
	kinds := [...]format.PageType{headerData: format.DataPage, headerDictionary: format.DictionaryPage, headerData2: format.DataPageV2}
	if h.kind != kinds[field] {
		r.Failf("a page of kind %d with header %d", h.kind, field)
	}
	h.described = true
	seen := fields(0)
	r.Structure(kind, func(id int16, kind byte) {
		seen.add(id)
		switch {
		case id == 1:
			h.values = r.Int32(kind)
		case id == 2 && field != headerData2, id == 4 && field == headerData2:
			h.encoding = format.Encoding(r.Int32(kind))
		case id == 3 && field == headerData:
			h.levels = format.Encoding(r.Int32(kind))
		case id == 2 && field == headerData2:
			h.nulls = r.Int32(kind)
		case id == 3 && field == headerData2:
			h.rows = r.Int32(kind)
		case id == 5 && field == headerData2:
			h.definition = r.Int32(kind)
		case id == 6 && field == headerData2:
			h.repetition = r.Int32(kind)
		case id == 7 && field == headerData2:
			h.stored = !r.Bool(kind)
		default:
			r.Skip(kind)
		}
	})
	switch seen.need(r, "a page header", 1, 2); field {
	case headerData:
		seen.need(r, "a page header", 3)
	case headerData2:
		seen.need(r, "a page header", 3, 4, 5, 6)
	default:
	}
}
