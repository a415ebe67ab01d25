package kafkalog

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pacsgp/pacsgp/ingest"
)

// maxDepth bounds how deep objects and arrays may be nested in each other.
const maxDepth = 64

// A jsonReader finds the cells of rows in JSON objects: numbers, booleans (as 0 and 1)
// and RFC 3339 times (as seconds since 1970). A column a.b is the member b of the
// member a. Members that are no column may be anything.
type jsonReader struct {
	root  *jsonNode
	row   []float64
	seen  []bool
	all   []string // the columns
	keeps []string // names of members whose texts are kept
	kept  [][]byte // the texts of the last object, as they stand in it; nil: it has none
	held  []bool   // which of them the object has named
	fault error    // the first one of the last object that leaves it an object

	in    []byte
	at    int
	depth int
	key   []byte // of an escaped name
}

// A jsonNode says what the members of an object are.
type jsonNode struct {
	column  int // −1: none
	keep    int // number of the text that is kept of it, from 1 on; 0: none is
	members map[string]*jsonNode
}

func newJSONReader(columns []string) *jsonReader {
	r := &jsonReader{root: &jsonNode{column: -1}, row: make([]float64, len(columns)), seen: make([]bool, len(columns)), all: columns}
	for j, name := range columns {
		r.node(name).column = j
	}
	return r
}

// node is where a member stands.
func (r *jsonReader) node(name string) *jsonNode {
	n := r.root
	for part := range strings.SplitSeq(name, ".") {
		if n.members == nil {
			n.members = map[string]*jsonNode{}
		}
		if n.members[part] == nil {
			n.members[part] = &jsonNode{column: -1}
		}
		n = n.members[part]
	}
	return n
}

// keep has the texts of members kept, which may be of any type.
func (r *jsonReader) keep(names []string) {
	for _, name := range names {
		r.keeps, r.kept, r.held = append(r.keeps, name), append(r.kept, nil), append(r.held, false)
		r.node(name).keep = len(r.keeps)
	}
}

// doubt notes what is wrong with the row of an object that may be whole all the same.
func (r *jsonReader) doubt(fault error) {
	if r.fault == nil {
		r.fault = fault
	}
}

var errJSON = errors.New("it is no JSON object")

// read appends the row that an object is to columns.
func (r *jsonReader) read(text []byte, columns [][]float64) (rows int, err error) {
	row, err := r.rowOf(text)
	if err != nil {
		return 0, err
	}
	for j, v := range row {
		columns[j] = append(columns[j], v)
	}
	return 1, nil
}

// rowOf returns the row that an object is: NaN cells say what is wrong with a value (see
// [ingest.Fault]). It is valid until the next call. Where there is none, but the object is
// whole, its texts are kept.
func (r *jsonReader) rowOf(text []byte) ([]float64, error) {
	missing := ingest.Null.Cell()
	for j := range r.row {
		r.row[j], r.seen[j] = missing, false
	}
	clear(r.kept)
	clear(r.held)
	r.in, r.at, r.depth, r.fault = text, 0, 0, nil
	if err := r.whole(); err != nil {
		clear(r.kept)
		return nil, err
	}
	if r.fault != nil {
		return nil, r.fault
	}
	return r.row, nil
}

// whole reads an object and makes sure that there is nothing more.
func (r *jsonReader) whole() error {
	if r.space(); r.peek() != '{' {
		return errJSON
	}
	if err := r.object(r.root); err != nil {
		return err
	}
	if r.space(); r.at != len(r.in) {
		return fmt.Errorf("%d bytes behind the JSON object", len(r.in)-r.at)
	}
	return nil
}

func (r *jsonReader) space() {
	for r.at < len(r.in) {
		switch r.in[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// peek is the next byte, 0 at the end.
func (r *jsonReader) peek() byte {
	if r.at < len(r.in) {
		return r.in[r.at]
	}
	return 0
}

func (r *jsonReader) wrong() error {
	if r.at >= len(r.in) {
		return errors.New("the JSON object is cut off")
	}
	return fmt.Errorf("no JSON: byte %d is %q", r.at, r.in[r.at])
}

// object reads the members of an object, whose brace comes next; nil: none is a column.
func (r *jsonReader) object(of *jsonNode) error {
	if r.depth++; r.depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	defer func() { r.depth-- }()
	r.at++
	r.space()
	if r.peek() == '}' {
		r.at++
		return nil
	}
	for {
		r.space()
		name, err := r.text()
		if err != nil {
			return err
		}
		var member *jsonNode
		if of != nil {
			member = of.members[string(name)]
		}
		r.space()
		if r.peek() != ':' {
			return r.wrong()
		}
		r.at++
		r.space()
		if err := r.value(member); err != nil {
			return err
		}
		r.space()
		switch r.peek() {
		case ',':
			r.at++
		case '}':
			r.at++
			return nil
		default:
			return r.wrong()
		}
	}
}

// value reads a value that is the column, or holds the columns, of a node; nil: neither.
func (r *jsonReader) value(of *jsonNode) error {
	if of == nil || of.keep == 0 {
		return r.cellOf(of)
	}
	from := r.at
	if err := r.cellOf(of); err != nil {
		return err
	}
	n, text := of.keep-1, r.in[from:r.at]
	switch {
	case r.held[n]: // it is not known which one is meant
		text = nil
		r.doubt(fmt.Errorf("member %q stands there twice", r.keeps[n]))
	case !utf8.Valid(text):
		text = nil
		r.doubt(fmt.Errorf("no JSON: member %q is no UTF-8", r.keeps[n]))
	}
	r.kept[n], r.held[n] = text, true
	return nil
}

// cellOf reads a value, and keeps its number if it is the column of the node.
func (r *jsonReader) cellOf(of *jsonNode) error {
	if of == nil || of.column < 0 {
		return r.skip(of)
	}
	name := r.all[of.column]
	if r.seen[of.column] {
		r.doubt(fmt.Errorf("column %q stands there twice", name))
		return r.skip(of)
	}
	r.seen[of.column] = true
	if c := r.peek(); c == '{' || c == '[' {
		r.doubt(fmt.Errorf("column %q is an object or a list; name a member of it, as in a.b", name))
		return r.skip(of)
	}
	v, err := r.cell()
	if odd, ok := errors.AsType[oddText](err); ok {
		r.doubt(fmt.Errorf("column %q is %w", name, odd))
		return nil
	}
	r.row[of.column] = v
	return err
}

// skip reads a value that is no column.
func (r *jsonReader) skip(of *jsonNode) error {
	switch r.peek() {
	case '{':
		return r.object(of)
	case '[':
		return r.array()
	case '"':
		_, err := r.text()
		return err
	case 't':
		return r.word("true")
	case 'f':
		return r.word("false")
	case 'n':
		return r.word("null")
	default:
		_, _, err := r.digits()
		return err
	}
}

func (r *jsonReader) array() error {
	if r.depth++; r.depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	defer func() { r.depth-- }()
	r.at++
	r.space()
	if r.peek() == ']' {
		r.at++
		return nil
	}
	for {
		r.space()
		if err := r.skip(nil); err != nil {
			return err
		}
		r.space()
		switch r.peek() {
		case ',':
			r.at++
		case ']':
			r.at++
			return nil
		default:
			return r.wrong()
		}
	}
}

func (r *jsonReader) word(w string) error {
	if len(r.in)-r.at < len(w) || string(r.in[r.at:r.at+len(w)]) != w {
		return r.wrong()
	}
	r.at += len(w)
	return nil
}

// cell reads the value of a column, which is no object and no list.
func (r *jsonReader) cell() (float64, error) {
	switch r.peek() {
	case 't':
		return 1, r.word("true")
	case 'f':
		return 0, r.word("false")
	case 'n':
		return ingest.Null.Cell(), r.word("null")
	case '"':
		text, err := r.text()
		if err != nil {
			return 0, err
		}
		return timeCell(string(text))
	default:
		return r.number()
	}
}

// An oddText is a text that is no cell, and what is one.
type oddText string

func (o oddText) Error() string {
	return fmt.Sprintf("the text %.40q; numbers, true, false and times as in 2026-01-31T12:00:00Z are read", string(o))
}

// timeCell is a point in time in seconds since 1970, rounded once.
func timeCell(text string) (float64, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, oddText(text)
	}
	seconds, nanos := t.Unix(), int64(t.Nanosecond())
	if nanos == 0 {
		return ingest.Seconds(seconds, 0), nil
	}
	if seconds > math.MaxInt64/1_000_000_000-1 || seconds < math.MinInt64/1_000_000_000+1 {
		return ingest.TooFar.Cell(), nil // in nanoseconds
	}
	return ingest.Seconds(seconds*1_000_000_000+nanos, 9), nil
}

// digits reads a number and says whether it is written as an integer.
func (r *jsonReader) digits() (text []byte, integer bool, err error) {
	from := r.at
	if r.peek() == '-' {
		r.at++
	}
	switch c := r.peek(); {
	case c == '0':
		r.at++
	case '1' <= c && c <= '9':
		r.run()
	default:
		return nil, false, r.wrong()
	}
	integer = true
	if r.peek() == '.' {
		integer = false
		r.at++
		if !r.run() {
			return nil, false, r.wrong()
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		integer = false
		r.at++
		if c := r.peek(); c == '+' || c == '-' {
			r.at++
		}
		if !r.run() {
			return nil, false, r.wrong()
		}
	}
	return r.in[from:r.at], integer, nil
}

// run reads digits and reports whether there was one.
func (r *jsonReader) run() bool {
	from := r.at
	for r.at < len(r.in) && '0' <= r.in[r.at] && r.in[r.at] <= '9' {
		r.at++
	}
	return r.at > from
}

// number reads a number, correctly rounded.
func (r *jsonReader) number() (float64, error) {
	text, integer, err := r.digits()
	if err != nil {
		return 0, err
	}
	if v, ok := short(text); ok {
		return v, nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if math.IsInf(v, 0) {
		return ingest.Infinite.Cell(), nil
	}
	if integer && math.Abs(v) >= ingest.MaxInteger && !exactInteger(text) {
		return ingest.TooLong.Cell(), nil
	}
	return v, err
}

// exactInteger reports whether the digits are an integer of at most 2⁵³.
func exactInteger(text []byte) bool {
	n, err := strconv.ParseInt(string(text), 10, 64)
	return err == nil && -ingest.MaxInteger <= n && n <= ingest.MaxInteger
}

var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// short is the value of a number of at most 15 digits without an exponent: both its
// digits and the power of ten below them are exact, so that it is rounded once.
func short(text []byte) (float64, bool) {
	if len(text) > 17 {
		return 0, false
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	n, digits, fraction, pointed := int64(0), 0, 0, false
	for _, c := range text {
		switch {
		case c == '.':
			pointed = true
			continue
		case c < '0' || c > '9':
			return 0, false
		}
		n = n*10 + int64(c-'0')
		digits++
		if pointed {
			fraction++
		}
	}
	if digits > 15 {
		return 0, false
	}
	v := float64(n) / tens[fraction]
	if negative {
		v = -v
	}
	return v, true
}
