package kafkalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pacsgp/pacsgp/ingest"
)

// A jsonReader reads the cells of rows from JSON objects: numbers, booleans (as 0 and 1) and RFC 3339 times (in seconds
// since 1970). A column a.b is the member b of the member a. Other members may have any value.
type jsonReader struct {
	root  *jsonNode
	row   []float64
	all   []string // names of the columns
	keeps []string // names of the kept members
	kept  [][]byte // their texts in the last object, unchanged; nil if it lacks the member
	reads int      // number of objects so far
	fault error    // first fault in the row of the last object, if that is valid JSON

	text []byte // the object
	buf  bytes.Buffer
	in   *jsontext.Decoder
	name []byte // buffer for a name without its escapes
}

// A jsonNode says what to read from a member.
type jsonNode struct {
	column  int                  // −1 if it is no column
	keep    int                  // number of the kept member, from 1; 0 if it is not kept
	last    int                  // number of the last object that had this member
	members map[string]*jsonNode // nil if no members of it are read
}

func newJSONReader(columns []string) *jsonReader {
	r := &jsonReader{root: &jsonNode{column: -1}, row: make([]float64, len(columns)), all: columns}
	r.in = jsontext.NewDecoder(&r.buf)
	for j, name := range columns {
		r.node(name).column = j
	}
	return r
}

// node returns the node of a member like a.b, and makes missing nodes.
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

// keep makes the reader keep the texts of these members, whatever their type.
func (r *jsonReader) keep(names []string) {
	for _, name := range names {
		r.keeps, r.kept = append(r.keeps, name), append(r.kept, nil)
		r.node(name).keep = len(r.keeps)
	}
}

// note records the first fault of the row. The object is read on, for its kept members.
func (r *jsonReader) note(format string, args ...any) {
	if r.fault == nil {
		r.fault = fmt.Errorf(format, args...)
	}
}

// read appends the row of an object to columns. A bad value becomes a cell with an [ingest.Fault].
// If the object is valid JSON, its members are kept even after an error.
func (r *jsonReader) read(text []byte, columns [][]float64) error {
	missing := ingest.Null.Cell()
	for j := range r.row {
		r.row[j] = missing
	}
	clear(r.kept)
	r.text, r.fault = text, nil
	r.reads++
	if err := r.object(); err != nil {
		clear(r.kept)
		return err
	}
	if r.fault != nil {
		return r.fault
	}
	for j, v := range r.row {
		columns[j] = append(columns[j], v)
	}
	return nil
}

// object reads one object. Bytes after it are an error.
func (r *jsonReader) object() error {
	r.buf = *bytes.NewBuffer(r.text)
	r.in.Reset(&r.buf, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if r.in.PeekKind() != '{' {
		return errors.New("it is no JSON object")
	}
	err := r.value(r.root)
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("no JSON: byte %d: %w", syntax.ByteOffset, syntax.Err)
	}
	if err != nil {
		return errors.New("the JSON object is cut off")
	}
	if rest := bytes.TrimLeft(r.text[r.in.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return fmt.Errorf("%d bytes behind the JSON object", len(rest))
	}
	return nil
}

// value reads the value of a member. If node is nil, it skips the value.
func (r *jsonReader) value(node *jsonNode) error {
	if node == nil {
		return r.in.SkipValue()
	}
	var text jsontext.Value
	if node.members != nil && r.in.PeekKind() == '{' {
		if _, err := r.in.ReadToken(); err != nil {
			return err
		}
		from := r.in.InputOffset() - 1
		if err := r.members(node); err != nil {
			return err
		}
		text = r.text[from:r.in.InputOffset()]
	} else {
		value, err := r.in.ReadValue()
		if err != nil {
			return err
		}
		end := r.in.InputOffset()
		text = r.text[end-int64(len(value)) : end]
	}
	again := node.last == r.reads
	node.last = r.reads
	if node.column >= 0 {
		r.column(node.column, text, again)
	}
	if node.keep > 0 {
		r.hold(node.keep-1, text, again)
	}
	if again && node.members != nil {
		r.note("an object with columns occurs twice")
	}
	return nil
}

// members reads the rest of an object after its opening brace.
func (r *jsonReader) members(node *jsonNode) error {
	for r.in.PeekKind() == '"' {
		name, err := r.in.ReadValue()
		if err != nil {
			return err
		}
		text := []byte(name[1 : len(name)-1])
		if slices.Contains(text, '\\') {
			r.name, _ = jsontext.AppendUnquote(r.name[:0], name) // valid, since ReadValue has accepted it
			text = r.name
		}
		if err := r.value(node.members[string(text)]); err != nil {
			return err
		}
	}
	_, err := r.in.ReadToken()
	return err
}

// column sets the cell of column j. again means that the object has the member twice.
func (r *jsonReader) column(j int, text jsontext.Value, again bool) {
	v, err := jsonCell(text)
	switch {
	case again:
		r.note("column %q occurs twice", r.all[j])
	case err != nil:
		r.note("column %q is %w", r.all[j], err)
	}
	r.row[j] = v // not used after a fault
}

// hold keeps the text of a member. again means that the object has the member twice.
func (r *jsonReader) hold(n int, text []byte, again bool) {
	switch {
	case again: // neither is kept
		text = nil
		r.note("member %q occurs twice", r.keeps[n])
	case !utf8.Valid(text):
		text = nil
		r.note("no JSON: member %q is no UTF-8", r.keeps[n])
	}
	r.kept[n] = text
}

func jsonCell(text jsontext.Value) (float64, error) {
	switch text.Kind() {
	case 't':
		return 1, nil
	case 'f':
		return 0, nil
	case 'n':
		return ingest.Null.Cell(), nil
	case '"':
		plain, _ := jsontext.AppendUnquote(nil, text) // valid, since ReadValue has accepted it
		return timeCell(string(plain))
	case '{', '[':
		return 0, errors.New("an object or a list; name a member of it, as in a.b")
	default:
		return number(text)
	}
}

// timeCell returns the cell for a time, in seconds since 1970, rounded once.
func timeCell(text string) (float64, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, fmt.Errorf("the text %.40q; numbers, true, false and times as in 2026-01-31T12:00:00Z are read", text)
	}
	seconds, nanos := t.Unix(), int64(t.Nanosecond())
	if nanos == 0 {
		return ingest.Seconds(seconds, 0), nil
	}
	if seconds > math.MaxInt64/1_000_000_000-1 || seconds < math.MinInt64/1_000_000_000+1 {
		return ingest.TooFar.Cell(), nil // nanoseconds since 1970 would overflow
	}
	return ingest.Seconds(seconds*1_000_000_000+nanos, 9), nil
}

// number returns the cell for a number, correctly rounded.
func number(text []byte) (float64, error) {
	v, err := strconv.ParseFloat(string(text), 64)
	if math.IsInf(v, 0) {
		return ingest.Infinite.Cell(), nil
	}
	if math.Abs(v) >= ingest.MaxInteger && !bytes.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(string(text), 10, 64); err != nil || n < -ingest.MaxInteger || n > ingest.MaxInteger {
			return ingest.TooLong.Cell(), nil //nolint:nilerr // a rejected value, not an error
		}
	}
	return v, err
}
