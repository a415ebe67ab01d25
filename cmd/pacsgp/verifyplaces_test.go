package main

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// edited writes the file of a spool again, each value of some columns as another one, and
// texts in an encoding; a column whose edit is nil is left out.
func edited(t *testing.T, path string, texts encoding.Encoding, edits map[string]func(row int, v parquet.Value) parquet.Value) {
	t.Helper()
	data := readFile(t, path)
	in, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]parquet.Row, in.NumRows())
	if n, _ := in.RowGroups()[0].Rows().ReadRows(rows); n != len(rows) {
		t.Fatalf("%d rows of %d", n, len(rows))
	}
	group := parquet.Group{}
	for _, f := range in.Schema().Fields() {
		switch edit, there := edits[f.Name()]; {
		case there && edit == nil:
		case f.Name() == "$topic":
			group[f.Name()] = parquet.Encoded(parquet.String(), texts)
		default:
			group[f.Name()] = parquet.Leaf(f.Type())
		}
	}
	var out bytes.Buffer
	w := parquet.NewGenericWriter[any](&out, parquet.NewSchema("row", group))
	for j, f := range group.Fields() {
		from, _ := in.Schema().Lookup(f.Name())
		var values []parquet.Value
		for i, row := range rows {
			v := row[from.ColumnIndex]
			if edit := edits[f.Name()]; edit != nil {
				v = edit(i, v)
			}
			values = append(values, v.Level(0, 0, j))
		}
		if _, err := w.ColumnWriters()[j].WriteRowValues(values); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, out.Bytes())
}

// want is what verify.py has to say.
type want struct {
	refused bool
	says    string
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
	type edit = func(row int, v parquet.Value) parquet.Value
	text := func(s string) edit {
		return func(int, parquet.Value) parquet.Value { return parquet.ByteArrayValue([]byte(s)) }
	}
	one := func(s string) edit {
		return func(row int, v parquet.Value) parquet.Value {
			if row == 59 {
				return parquet.ByteArrayValue([]byte(s))
			}
			return v
		}
	}
	var calls [][]string
	var wants []want
	for _, k := range []struct {
		name  string // of the case
		texts encoding.Encoding
		edits map[string]edit
		says  string // "": nothing is wrong
	}{
		{"written again", &parquet.Plain, nil, ""},
		{"written again with a dictionary", &parquet.RLEDictionary, nil, ""},
		{"without a column in all", &parquet.RLEDictionary, map[string]edit{"$timestamp": nil}, ""},
		{"another topic", &parquet.RLEDictionary, map[string]edit{"$topic": text("cows")}, "column $topic"},
		{"a longer topic", &parquet.RLEDictionary, map[string]edit{"$topic": text("other.rows")}, "column $topic"},
		{"another topic without a dictionary", &parquet.Plain, map[string]edit{"$topic": text("cows")}, "column $topic"},
		{"a longer topic without a dictionary", &parquet.Plain, map[string]edit{"$topic": text("other.rows")}, "column $topic"},
		{"one row of another topic", &parquet.RLEDictionary, map[string]edit{"$topic": one("rowsrows")}, "column $topic"},
		{"one row of another topic without a dictionary", &parquet.Plain, map[string]edit{"$topic": one("r")}, "column $topic"},
		{"another partition", &parquet.Plain, map[string]edit{"$partition": func(_ int, v parquet.Value) parquet.Value { return parquet.Int32Value(v.Int32() + 1) }}, "column $partition"},
		{"behind the end", &parquet.Plain, map[string]edit{"$offset": func(row int, v parquet.Value) parquet.Value { return parquet.Int64Value(v.Int64() + int64(row)/59) }}, "column $offset"},
		{"an offset twice earlier", &parquet.Plain, map[string]edit{"$offset": func(row int, v parquet.Value) parquet.Value {
			if row == 30 {
				return parquet.Int64Value(7)
			}
			return v
		}}, "column $offset"},
		{"without a column in one file", &parquet.Plain, map[string]edit{"$offset": nil}, "$offset"},
	} {
		spool := filepath.Join(t.TempDir(), "spool")
		if err := os.CopyFS(spool, os.DirFS(filepath.Join(dir, "spool"))); err != nil {
			t.Fatal(err)
		}
		edited(t, filepath.Join(spool, file), k.texts, k.edits)
		got := pacsgp(t, "verify", model, certificate, spool, "--judge", "draw")
		if k.says == "" {
			got.says(t, 0, "NOT CHECKED: that the rows are of the topic", "the columns $topic, $partition, $offset of the data say of each row")
		} else {
			got.says(t, exitFailure, "refused", k.says)
		}
		calls = append(calls, []string{model, "--certificate", certificate, spool})
		wants = append(wants, want{k.says != "", cmp.Or(k.says, "say of each row what the certificate's 3 segments say")})
	}

	whole, err := certify.Parse(readFile(t, certificate))
	if err != nil {
		t.Fatal(err)
	}
	const unnamed = "NOT CHECKED: of which topic and partitions the rows are"
	for _, k := range []struct {
		name  string
		forge func(*certify.Evidence)
		says  string
	}{
		{"partitions exchanged", func(ev *certify.Evidence) {
			s := ev.Sample.Segments
			s[1].Partition, s[2].Partition = 2, 1
		}, "column $partition"},
		{"other offsets", func(ev *certify.Evidence) {
			for i := range ev.Sample.Segments {
				ev.Sample.Segments[i].First, ev.Sample.Segments[i].End = 1000, 1060
			}
		}, "column $offset"},
		{"another topic", func(ev *certify.Evidence) {
			for i := range ev.Sample.Segments {
				ev.Sample.Segments[i].Topic = "others"
			}
		}, "column $topic"},
		{"other counts", func(ev *certify.Evidence) {
			ev.Sample.Segments[0].Rows, ev.Sample.Segments[1].Rows = 59, 61
		}, "the segment that the certificate names has 59"},
		{"no segments", func(ev *certify.Evidence) { ev.Sample.Segments = nil }, ""},
	} {
		ev := evidenceOf(t, whole)
		ev.Sample.Segments = slices.Clone(ev.Sample.Segments)
		k.forge(&ev)
		path := filepath.Join(t.TempDir(), k.name+".json")
		writeFile(t, path, certificateOf(t, ev))
		spool := filepath.Join(dir, "spool")
		got := pacsgp(t, "verify", model, path, spool, "--judge", "draw")
		if k.says == "" {
			got.says(t, 0, unnamed, "names no segments")
		} else {
			got.says(t, exitFailure, "refused", k.says)
		}
		calls = append(calls, []string{model, "--certificate", path, spool})
		wants = append(wants, want{k.says != "", cmp.Or(k.says, unnamed)})
	}
	verifytest.Need(t)
	for i, run := range verifytest.Verify(t, calls) {
		if (run.Status == 1) != wants[i].refused || strings.Contains(run.Out, "REFUSED") != wants[i].refused || !strings.Contains(run.Out, wants[i].says) {
			t.Errorf("verify.py %q: status %d, want %+v:\n%s", calls[i], run.Status, wants[i], run.Out)
		}
	}
}
