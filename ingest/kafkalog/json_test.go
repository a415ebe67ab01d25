package kafkalog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/ingest"
)

func readRow(columns []string, text string) ([]float64, error) {
	out := make([][]float64, len(columns))
	if err := newJSONReader(columns).read([]byte(text), out); err != nil {
		return nil, err
	}
	row := make([]float64, len(columns))
	for j := range out {
		row[j] = out[j][0]
	}
	return row, nil
}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		text string
		want float64
	}{
		{`{"a":{"b":1}}`, 1},
		{` { "x" : [1, {"a": {"b": 9}}], "a" : { "c":null, "b" : -0.25e2 } } `, -25},
		{`{"a":{"b":true}}`, 1},
		{`{"a":{"b":false},"z":"\ud83d\ude00\n"}`, 0},
		{`{"\u0061":{"b":3}}`, 3},
		{`{"a":{"b":"1970-01-02T00:00:00.5Z"}}`, 86400.5},
		{`{"a":{"b":"1969-12-31T23:59:58.999999999Z"}}`, -1.000000001},
		{`{"a":{"b":"2026-01-31T12:00:00+02:00"}}`, 1769853600},
		{`{"a":{"b":0.1}}`, 0.1},
		{`{"a":{"b":9007199254740992}}`, 9007199254740992},
		{`{"a":{"b":123456789012345678e-17}}`, 1.2345678901234568},
	} {
		if got, err := readRow([]string{"a.b"}, c.text); err != nil || got[0] != c.want {
			t.Errorf("%s: %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	for _, c := range []struct {
		text string
		want ingest.Fault
	}{
		{`{}`, ingest.Null},
		{`{"a":{"b":null}}`, ingest.Null},
		{`{"a":null}`, ingest.Null},
		{`{"a":{"b":1e400}}`, ingest.Infinite},
		{`{"a":{"b":-1e400}}`, ingest.Infinite},
		{`{"a":{"b":9007199254740993}}`, ingest.TooLong},
		{`{"a":{"b":-123456789012345678901234567890}}`, ingest.TooLong},
	} {
		if got, err := readRow([]string{"a.b"}, c.text); err != nil || ingest.FaultOf(got[0]) != c.want {
			t.Errorf("%s: %v, %v, want the fault %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{
		``, `1`, `[]`, `null`, `{`, `{"a"`, `{"a":{"b":1}`, `{"a":{"b":1}}x`, `{"a":{"b":NaN}}`, `{"a":{"b":Infinity}}`, `{"a":{"b":01}}`, `{"a":{"b":1.}}`, `{"a":{"b":.5}}`, `{"a":{"b":+1}}`,
		`{"a":{"b":"NaN"}}`, `{"a":{"b":"1"}}`, `{"a":{"b":[1]}}`, `{"a":{"b":{"c":1}}}`, `{"a":{"b":1,"b":1}}`, `{"a":{"b":1},"a":{"b":2}}`, `{"a":{"b":1},}`, "{\"\x01\":1}", `{"\x":1}`, `{"\u12":1}`,
		strings.Repeat(`{"a":`, 100000), `{"x":` + strings.Repeat(`[`, 100000),
	} {
		if got, err := readRow([]string{"a.b"}, text); err == nil {
			t.Errorf("%.60q: %v, want an error", text, got)
		}
	}
}

// FuzzJSON: what is read as a row is JSON to the library too, and has its numbers; what
// is no JSON is an error.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"x":1.5,"y":{"z":true}}`, `{"x":null}`, `{"x":"2026-01-31T12:00:00Z","q":[1,2,{"x":1}]}`, `{"x":1e-5}`, `{"\u0078":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		row, err := readRow([]string{"x"}, string(text))
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is read, and is no JSON", text)
		}
		var want struct {
			X *float64 `json:"x"`
		}
		if json.Unmarshal(text, &want) != nil || want.X == nil || ingest.FaultOf(row[0]) != ingest.None {
			return
		}
		members := map[string]json.RawMessage{} // the library takes X for x
		if err := json.Unmarshal(text, &members); err != nil || members["x"] == nil || len(members) > 1 {
			return
		}
		if row[0] != *want.X {
			t.Fatalf("%q: %v, want %v", text, row[0], *want.X)
		}
	})
}
