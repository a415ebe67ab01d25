package arrowipc

import (
	"errors"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

var errLength = errors.New("it is no Arrow IPC stream: a length lies outside of its message")

// checkMessage reads the description of a message, and the length of its body.
func checkMessage(description []byte) (m node, body int64, err error) {
	f := flat{data: description, left: len(description)}
	m = f.table("Message", 0, 0)
	if body = m.at(3).number; f.bad || body < 0 {
		return node{}, 0, errLength
	}
	return m, body, nil
}

// tables has the kinds of the fields of Arrow's tables: a number's bits, text, bool, the name of a
// table, or a vector of one of these.
var tables = map[string][]string{
	"KeyValue":           {"text", "text"},
	"DictionaryEncoding": {"64", "Int", "bool", "16"},
	"Field":              {"text", "bool", "8", "type", "DictionaryEncoding", "[Field]", "[KeyValue]"},
	"Schema":             {"16", "[Field]", "[KeyValue]", "[64]"},
	"RecordBatch":        {"64", "[pair]", "[pair]", "BodyCompression", "[64]"},
	"BodyCompression":    {"8", "8"},
	"DictionaryBatch":    {"64", "RecordBatch", "bool"},
	"Message":            {"16", "8", "header", "64", "[KeyValue]"},
	"Footer":             {"16", "Schema", "[block]", "[block]", "[KeyValue]"},
	"Empty":              {},
	"Int":                {"32", "bool"},
	"Unit":               {"16"},
	"Decimal":            {"32", "32", "32"},
	"Time":               {"16", "32"},
	"Timestamp":          {"16", "text"},
	"Union":              {"16", "[32]"},
	"Width":              {"32"},
	"Map":                {"bool"},
}

// Kinds of headers, by number.
const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
)

var headers = []string{"", "Schema", "DictionaryBatch", "RecordBatch"}

// widths are the bytes of numbers and of elements of vectors.
var widths = map[string]int{"bool": 1, "8": 1, "16": 2, "32": 4, "64": 8, "pair": 16, "block": 24}

// maxDepth bounds the nesting of tables.
const maxDepth = 64

// A node is a field of a table, or an element of a vector. A missing field is zero.
type node struct {
	set    bool
	number int64
	text   string
	list   []node // the fields of a table, or the elements of a vector
}

// at returns a field of a table.
func (n node) at(field int) node {
	if field < len(n.list) {
		return n.list[field]
	}
	return node{}
}

// A flat reads a FlatBuffer and checks every offset.
type flat struct {
	data []byte
	left int  // tables that may still be read: at most one a byte
	bad  bool // the buffer is damaged
}

// number reads a number of so many bytes. at must be a multiple of width.
func (f *flat) number(at, width int) int64 {
	if at < 0 || at > len(f.data)-width || at%width != 0 {
		f.bad = true
		return 0
	}
	return f.bits(at, width)
}

func (f *flat) bits(at, width int) int64 {
	u := uint64(0)
	for i := range width {
		u |= uint64(f.data[at+i]) << (8 * i)
	}
	beyond := 64 - 8*width
	return int64(u<<beyond) >> beyond //nolint:gosec // two's complement is the form of signed numbers in FlatBuffers
}

// follow returns the position to which the offset at this position points.
func (f *flat) follow(at int) int {
	by := f.number(at, 4)
	if by == 0 {
		f.bad = true
	}
	return at + int(by&math.MaxUint32)
}

// table reads the table that the offset at this position points to.
func (f *flat) table(name string, position, depth int) node {
	start := f.follow(position)
	fields := start - int(f.number(start, 4))
	count, size := int(uint16(f.number(fields, 2))), int(uint16(f.number(fields+2, 2))) //nolint:gosec // their bits
	if f.left--; f.left < 0 || depth > maxDepth || count < 4 || count%2 != 0 || size < 4 || fields > len(f.data)-count || start > len(f.data)-size {
		f.bad = true
	}
	found := node{set: true, list: make([]node, len(tables[name]))}
	for i, kind := range tables[name] {
		slot := 4 + 2*i
		if f.bad || slot >= count {
			break
		}
		offset := int(f.number(fields+slot, 2) & math.MaxUint16)
		if offset == 0 {
			continue
		}
		width, plain := widths[kind]
		if !plain {
			width = 4
		}
		if offset < 4 || offset > size-width {
			f.bad = true
			break
		}
		found.list[i] = f.value(kind, start+offset, found, depth)
	}
	return found
}

// value reads a field of a table. before has the fields before it.
func (f *flat) value(kind string, at int, before node, depth int) node {
	width, plain := widths[kind]
	switch {
	case plain:
		v := node{set: true, number: f.number(at, width)}
		f.bad = f.bad || kind == "bool" && v.number != 0 && v.number != 1
		return v
	case kind == "text":
		return f.words(f.follow(at))
	case strings.HasPrefix(kind, "["):
		return f.vector(kind[1:len(kind)-1], f.follow(at), depth)
	case kind == "type":
		kind = formOf(before.at(2).number).table
	case kind == "header":
		if n := before.at(1).number; 0 < n && n < int64(len(headers)) {
			kind = headers[n]
		}
	}
	if tables[kind] == nil {
		f.bad = true
		return node{}
	}
	return f.table(kind, at, depth+1)
}

func (f *flat) vector(kind string, at, depth int) node {
	width, plain := widths[kind]
	if !plain {
		width = 4
	}
	n := int(f.number(at, 4) & math.MaxUint32)
	if f.bad || n > (len(f.data)-at-4)/width {
		f.bad = true
		return node{}
	}
	found := node{set: true, list: make([]node, 0, min(n, 1<<10))}
	for i := 0; i < n && !f.bad; i++ {
		place, element := at+4+i*width, node{set: true}
		switch {
		case !plain:
			element = f.table(kind, place, depth+1)
		case kind == "pair":
			element.list = []node{{number: f.bits(place, 8)}, {number: f.bits(place+8, 8)}}
		case kind == "block":
			element.list = []node{{number: f.bits(place, 8)}, {number: f.bits(place+8, 4)}, {number: f.bits(place+16, 8)}}
		default:
			element.number = f.bits(place, width)
		}
		found.list = append(found.list, element)
	}
	return found
}

func (f *flat) words(at int) node {
	n := int(f.number(at, 4) & math.MaxUint32)
	if f.bad || n >= len(f.data)-at-4 || f.data[at+4+n] != 0 || !utf8.Valid(f.data[at+4:at+4+n]) {
		f.bad = true
		return node{}
	}
	return node{set: true, text: string(f.data[at+4 : at+4+n])}
}

// A form has the properties of a type of columns.
type form struct {
	table    string // with its parameters
	buffers  int
	children int // −1: any number
}

// Types with further rules, by number.
const (
	typeInt      = 2
	typeFloat    = 3
	typeDecimal  = 7
	typeDate     = 8
	typeTime     = 9
	typeInterval = 11
	typeStruct   = 13
	typeUnion    = 14
	typeMap      = 17
	typeDuration = 18
	typeRuns     = 22
)

var forms = []form{
	{},
	{"Empty", 0, 0},
	{"Int", 2, 0},
	{"Unit", 2, 0},
	{"Empty", 3, 0},
	{"Empty", 3, 0},
	{"Empty", 2, 0},
	{"Decimal", 2, 0},
	{"Unit", 2, 0},
	{"Time", 2, 0},
	{"Timestamp", 2, 0},
	{"Unit", 2, 0},
	{"Empty", 2, 1},
	{"Empty", 1, -1},
	{"Union", 1, -1},
	{"Width", 2, 0},
	{"Width", 1, 1},
	{"Map", 2, 1},
	{"Unit", 2, 0},
	{"Empty", 3, 0},
	{"Empty", 3, 0},
	{"Empty", 2, 1},
	{"Empty", 0, 2},
	{"Empty", 2, 0},
	{"Empty", 2, 0},
	{"Empty", 3, 1},
	{"Empty", 3, 1},
}

// formOf returns the form of a type, zero for an unknown one.
func formOf(kind int64) form {
	if kind < 0 || kind >= int64(len(forms)) {
		return form{}
	}
	return forms[kind]
}

// in reports whether the number is one of these.
func (n node) in(these ...int64) bool { return slices.Contains(these, n.number) }
