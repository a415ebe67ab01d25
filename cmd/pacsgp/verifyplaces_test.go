package main

import (
	"bytes"
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// An edit is what is put in the place of a value.
type edit = func(row int, v parquet.Value) parquet.Value

// A rewrite is how the file of a spool is written again: each value of some columns as
// another one, some columns as another type; a column whose edit is nil is left out.
type rewrite struct {
	texts encoding.Encoding // of the topic; nil: PLAIN
	edits map[string]edit
	types map[string]parquet.Node
}

// file writes the file at path again.
func (r rewrite) file(t *testing.T, path string) {
	t.Helper()
	data := readFile(t, path)
	in, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	fatal.If(t, err)
	rows := make([]parquet.Row, in.NumRows())
	if n, _ := in.RowGroups()[0].Rows().ReadRows(rows); n != len(rows) {
		t.Fatalf("%d rows of %d", n, len(rows))
	}
	group := parquet.Group{}
	for _, f := range in.Schema().Fields() {
		edit, there := r.edits[f.Name()]
		node := r.types[f.Name()]
		switch {
		case there && edit == nil:
			continue
		case node == nil && f.Name() == "$topic":
			node = parquet.Encoded(parquet.String(), cmp.Or[encoding.Encoding](r.texts, &parquet.Plain))
		case node == nil:
			node = parquet.Leaf(f.Type())
		}
		group[f.Name()] = node
	}
	var out bytes.Buffer
	schema := parquet.NewSchema("row", group)
	w := parquet.NewGenericWriter[any](&out, schema)
	for j, path := range schema.Columns() {
		from, _ := in.Schema().Lookup(path[0])
		to, _ := schema.Lookup(path...)
		var values []parquet.Value
		for i, row := range rows {
			v := row[from.ColumnIndex]
			if edit := r.edits[path[0]]; edit != nil {
				v = edit(i, v)
			}
			level := to.MaxDefinitionLevel
			if v.IsNull() {
				level = 0
			}
			values = append(values, v.Level(0, level, j))
		}
		if _, err := w.ColumnWriters()[j].WriteRowValues(values); err != nil {
			t.Fatal(err)
		}
	}
	fatal.If(t, w.Close())
	writeFile(t, path, out.Bytes())
}

// placedAs rewrites a file so that a column has another type, and values that are made of
// the row's integer there.
func placedAs(column string, node parquet.Node, value func(n int64) parquet.Value) rewrite {
	return rewrite{
		edits: map[string]edit{column: func(_ int, v parquet.Value) parquet.Value {
			if v.Kind() == parquet.Int32 {
				return value(int64(v.Int32()))
			}
			return value(v.Int64())
		}},
		types: map[string]parquet.Node{column: node},
	}
}

// TestVerifyHoldsPlacesAgainstSegments: what the columns of a spool say of where its rows
// stood is held against the certificate, by both programs. Where the certificate is silent
// about what they say, that is told.
func TestVerifyHoldsPlacesAgainstSegments(t *testing.T) {
	c := smallTopic(t)
	dir := t.TempDir()
	succeed(t, "train", "-c", fromTopic(c, nil).write(t, dir))
	out := filepath.Join(dir, "out")
	r := record(t, out)
	model, certificate := filepath.Join(out, r.Model), filepath.Join(out, r.Certificate)
	const file = "segment-00000000-partition-000001.parquet"
	const placed = "the columns $topic, $partition, $offset of the data say of each row"
	copied := func() string {
		spool := filepath.Join(t.TempDir(), "spool")
		fatal.If(t, os.CopyFS(spool, os.DirFS(filepath.Join(dir, "spool"))))
		return spool
	}
	offsets := func(change func(row int, offset int64) int64) rewrite {
		return rewrite{edits: map[string]edit{"$offset": func(row int, v parquet.Value) parquet.Value { return parquet.Int64Value(change(row, v.Int64())) }}}
	}
	topics := func(texts encoding.Encoding, from int, topic string) rewrite {
		return rewrite{texts: texts, edits: map[string]edit{"$topic": func(row int, v parquet.Value) parquet.Value {
			if row < from {
				return v
			}
			return parquet.ByteArrayValue([]byte(topic))
		}}}
	}
	topicAs := func(node parquet.Node, v parquet.Value) rewrite {
		return rewrite{edits: map[string]edit{"$topic": func(int, parquet.Value) parquet.Value { return v }}, types: map[string]parquet.Node{"$topic": node}}
	}
	nullable := func(column string, node parquet.Node) rewrite {
		return rewrite{edits: map[string]edit{column: func(row int, v parquet.Value) parquet.Value {
			if row == 59 {
				return parquet.Value{}
			}
			return v
		}}, types: map[string]parquet.Node{column: parquet.Optional(node)}}
	}
	long := parquet.Leaf(parquet.Int64Type)
	number := func(n int64) parquet.Value { return parquet.Int32Value(int32(n)) }
	for _, k := range []struct {
		name string // of the case
		rewrite
		says string // "": nothing is wrong
	}{
		{"written again", rewrite{}, ""},
		{"written again with a dictionary", rewrite{texts: &parquet.RLEDictionary}, ""},
		{"without a column in all", rewrite{edits: map[string]edit{"$timestamp": nil}}, ""},
		{"other integers", placedAs("$offset", parquet.Uint(64), parquet.Int64Value), ""},
		{"short integers", placedAs("$offset", parquet.Int(16), number), ""},
		{"a column that may be null", placedAs("$offset", parquet.Optional(long), parquet.Int64Value), ""},
		{"a null offset", nullable("$offset", long), "column $offset"},
		{"a null topic", nullable("$topic", parquet.String()), "column $topic"},
		{"another topic", topics(&parquet.RLEDictionary, 0, "cows"), "column $topic"},
		{"one row of another topic", topics(&parquet.RLEDictionary, 59, "rowsrows"), "column $topic"},
		{"one row of another topic without a dictionary", topics(&parquet.Plain, 59, "r"), "column $topic"},
		{"the topic as an integer", topicAs(long, parquet.Int64Value(1)), "and has to be text"},
		{"the topic as bytes", topicAs(parquet.Leaf(parquet.ByteArrayType), parquet.ByteArrayValue([]byte("rows"))), "and has to be text"},
		{"another partition", placedAs("$partition", parquet.Leaf(parquet.Int32Type), func(n int64) parquet.Value { return number(n + 1) }), "column $partition"},
		{"the partition as a Boolean", placedAs("$partition", parquet.Leaf(parquet.BooleanType), func(n int64) parquet.Value { return parquet.BooleanValue(n == 1) }), "and has to be integers"},
		{"behind the end", offsets(func(row int, offset int64) int64 { return offset + int64(row)/59 }), "column $offset"},
		{"an offset twice earlier", offsets(func(row int, offset int64) int64 {
			if row == 30 {
				return 7
			}
			return offset
		}), "column $offset"},
		{"offsets with a half", placedAs("$offset", parquet.Leaf(parquet.DoubleType), func(n int64) parquet.Value { return parquet.DoubleValue(float64(n) + 0.5) }), "and has to be integers"},
		{"offsets as times", placedAs("$offset", parquet.Timestamp(parquet.Microsecond), func(n int64) parquet.Value { return parquet.Int64Value(n * 1e6) }), "and has to be integers"},
		{"offsets as text", placedAs("$offset", parquet.String(), func(n int64) parquet.Value { return parquet.ByteArrayValue(strconv.AppendInt(nil, n, 10)) }), "and has to be integers"},
		{"offsets in a group", placedAs("$offset", parquet.Group{"x": long}, parquet.Int64Value), "$offset"},
		{"offsets in lists", placedAs("$offset", parquet.List(long), parquet.Int64Value), "$offset"},
		{"without a column in one file", rewrite{edits: map[string]edit{"$offset": nil}}, "has 0 columns $offset"},
	} {
		spool := copied()
		k.file(t, filepath.Join(spool, file))
		got := pacsgp(t, "verify", model, certificate, spool, "--judge", "draw")
		if k.says == "" {
			got.says(t, 0, "not checked: the rows are those of the topic", placed)
		} else {
			got.says(t, exitFailure, "refused", k.says)
		}
	}

	whole, err := certify.Parse(readFile(t, certificate))
	fatal.If(t, err)
	const unnamed = "not checked: the topic and the partitions of the rows"
	const far = 1 << 60 // a float64 does not tell its neighbours apart
	from := func(first, end int64) func(*certify.Evidence) {
		return func(ev *certify.Evidence) { ev.Sample.Segments[1].First, ev.Sample.Segments[1].End = first, end }
	}
	for _, k := range []struct {
		name string
		rewrite
		forge   func(*certify.Evidence)
		refused bool
		says    string
	}{
		{"partitions exchanged", rewrite{}, func(ev *certify.Evidence) {
			s := ev.Sample.Segments
			s[1].Partition, s[2].Partition = 2, 1
		}, true, "column $partition"},
		{"other offsets", rewrite{}, from(1000, 1060), true, "column $offset"},
		{"far offsets", offsets(func(_ int, offset int64) int64 { return far + offset }), from(far, far+60), false, placed},
		{"far offsets, one behind the end", offsets(func(_ int, offset int64) int64 { return far + offset }), from(far, far+59), true, "column $offset"},
		{"far offsets, one earlier", offsets(func(row int, offset int64) int64 { return far + offset - 2*int64(row/59) }), from(far, far+60), true, "column $offset"},
		{"offsets beyond those of a topic", placedAs("$offset", parquet.Uint(64), func(n int64) parquet.Value { return parquet.Int64Value(n + math.MinInt64) }), from(0, math.MaxInt64), true, "column $offset"},
		{"rows of one record", offsets(func(int, int64) int64 { return 7 }), from(7, 8), false, placed},
		{"the topic as an integer", topicAs(long, parquet.Int64Value(1)), func(ev *certify.Evidence) { ev.Sample.Segments[1].Topic = "payments" }, true, "and has to be text"},
		{"another topic", rewrite{}, func(ev *certify.Evidence) {
			for i := range ev.Sample.Segments {
				ev.Sample.Segments[i].Topic = "others"
			}
		}, true, "column $topic"},
		{"other counts", rewrite{}, func(ev *certify.Evidence) {
			ev.Sample.Segments[0].Rows, ev.Sample.Segments[1].Rows = 59, 61
		}, true, "the segment that the certificate names has 59"},
		{"no segments", rewrite{}, func(ev *certify.Evidence) { ev.Sample.Segments = nil }, false, unnamed},
	} {
		ev := certifytest.Evidence(t, whole)
		ev.Sample.Segments = slices.Clone(ev.Sample.Segments)
		k.forge(&ev)
		path := filepath.Join(t.TempDir(), "forged.json")
		writeFile(t, path, certificateOf(t, ev))
		spool := copied()
		k.file(t, filepath.Join(spool, file))
		got := pacsgp(t, "verify", model, path, spool, "--judge", "draw")
		if k.refused {
			got.says(t, exitFailure, "refused", k.says)
		} else {
			got.says(t, 0, k.says)
		}
	}

	for _, k := range []struct {
		name string // of the case
		rewrite
		says string
	}{
		{"a key beside the column", rewrite{}, "has 2 columns $offset"},
		{"a key in the place of the column", rewrite{edits: map[string]edit{"$offset": nil}}, "is a key of the path"},
	} {
		spool := filepath.Join(t.TempDir(), "$offset=3")
		fatal.If(t, os.Rename(copied(), spool))
		for _, name := range names(t, spool) {
			if filepath.Ext(name) == ".parquet" {
				k.file(t, filepath.Join(spool, name))
			}
		}
		pacsgp(t, "verify", model, certificate, spool, "--judge", "draw").says(t, exitFailure, "refused", k.says)
	}
}
