package kafkalog

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Columns have the order of their names; kept members are unchanged, and a value that is no JSON
// object keeps nothing.
func TestDecoder(t *testing.T) {
	cfg := Config{Topic: "rows", Columns: []string{"$timestamp", "b.c", "a", "$offset", "$partition"}}
	decoders, err := cfg.decoders(t.Context(), 2, "a", "b", "id")
	fatal.If(t, err)
	record := func(offset int64, value string) Record {
		return Record{1, broker.Record{Offset: offset, Time: 1500, Value: []byte(value)}}
	}
	records := []Record{
		record(7, `{"a": 9007199254740993, "b": {"c": 2}, "id": "x"}`),
		record(8, `{"a": 1, "b": {"c": 2}, "id": [1, 2]}`),
		record(9, `{"id": "y", "a": 1, "b"`),
		{1, broker.Record{Offset: 10}},
		record(11, `{"a": -1, "b": {"c": 0.5}}`),
	}
	for _, d := range decoders { // each is used again
		for range 2 {
			got, err := d.rows(records)
			fatal.If(t, err)
			var last []float64
			for j := range cfg.Columns {
				last = append(last, got.Batch.Column(j).(*array.Float64).Value(4))
			}
			if diff := cmp.Diff([]float64{1.5, 0.5, -1, 11, 1}, last); diff != "" {
				t.Error(diff)
			}
			reasons := got.Batch.Column(len(cfg.Columns)).(*array.String)
			if reasons.IsNull(0) || !strings.Contains(reasons.Value(0), "a has more digits") || !reasons.IsNull(1) || reasons.IsNull(2) || reasons.IsNull(3) || !reasons.IsNull(4) {
				t.Errorf("reasons %v", reasons)
			}
			if f := got.Faults; len(f) != 2 || !strings.Contains(f[2], "cut off") || !strings.Contains(f[3], "tombstone") {
				t.Errorf("faults %v", f)
			}
			var kept []string
			for _, text := range got.Kept {
				kept = append(kept, string(text))
			}
			want := []string{"9007199254740993", `{"c": 2}`, `"x"`, "1", `{"c": 2}`, "[1, 2]", "", "", "", "", "", "", "-1", `{"c": 0.5}`, ""}
			if diff := cmp.Diff(want, kept); diff != "" {
				t.Error(diff)
			}
			if v := got.Batch.Column(2).(*array.Float64).Value(2); !math.IsNaN(v) {
				t.Errorf("a cell of no row is %v", v)
			}
			got.Batch.Release()
		}
	}
}

// A whole object keeps its members whatever is wrong with its columns. A member that is
// named twice, or is no UTF-8, is a fault and kept of none.
func TestDecoderKeepsOfRejectedRows(t *testing.T) {
	decoders, err := Config{Topic: "rows", Columns: []string{"x1", "x2"}}.decoders(t.Context(), 1, "id", "x2", "in.id")
	fatal.If(t, err)
	type found struct{ Fault, ID, X2, In string }
	texts := []string{
		`{"x1":"0.5","x2":1,"id":4}`, `{"x1":{"id":9},"id":4,"in":{"id":5}}`, `{"x1":[1],"id":4}`, `{"x1":1,"x1":2,"x2":3,"id":4}`, `{"x1":1,"x2":3,"x2":3,"id":4}`,
		`{"x1":1,"x2":2,"id":4,"id":4}`, `{"id":1,"id":2,"id":3,"x2":2}`, `{"in":{"id":1},"id":2,"in":{"id":3}}`,
		"{\"x1\":1,\"x2\":2,\"id\":\"\xff\",\"in\":{\"id\":\"\xc3\xbc\"}}",
		`{"x1":"0.5","x2":1,"id":4} x`, `{"x1":"0.5","x2":1,"id":4`, `{"x1":1,"x2":2}`, `{"in":{"id":1},"in":null,"x1":1,"x2":2,"id":4}`,
	}
	const text = `column "x1" is the text "0.5"; numbers, true, false and times as in 2026-01-31T12:00:00Z are read`
	want := []found{
		{text, "4", "1", ""},
		{`column "x1" is an object or a list; name a member of it, as in a.b`, "4", "", "5"},
		{`column "x1" is an object or a list; name a member of it, as in a.b`, "4", "", ""},
		{`column "x1" occurs twice`, "4", "3", ""},
		{`column "x2" occurs twice`, "4", "", ""},
		{`member "id" occurs twice`, "", "2", ""},
		{`member "id" occurs twice`, "", "2", ""},
		{`member "in.id" occurs twice`, "2", "", ""},
		{`no JSON: member "id" is no UTF-8`, "", "2", `"ü"`},
		{Fault: "1 bytes behind the JSON object"},
		{Fault: "the JSON object is cut off"},
		{"", "", "2", ""},
		{"an object with columns occurs twice", "4", "2", "1"},
	}
	var records []Record
	for _, text := range texts {
		records = append(records, Record{0, broker.Record{Value: []byte(text)}})
	}
	rows, err := decoders[0].rows(records)
	fatal.If(t, err)
	defer rows.Batch.Release()
	var got []found
	for i := range texts {
		k := rows.Kept[3*i:]
		got = append(got, found{rows.Faults[i], string(k[0]), string(k[1]), string(k[2])})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
