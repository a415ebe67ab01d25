package kafkalog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

const avroSchema = `{"type":"record","name":"Row","namespace":"org.example","fields":[
	{"name":"before","type":{"type":"array","items":{"type":"map","values":["null","string","Row"]}}},
	{"name":"x","type":["null","double"],"default":null},
	{"name":"in","type":{"type":"record","name":"Inner","fields":[
		{"name":"text","type":"string"},{"name":"y","type":"long"},{"name":"f","type":"float"},{"name":"flag","type":"boolean"}]}},
	{"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}},
	{"name":"day","type":{"type":"int","logicalType":"date"}},
	{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}},
	{"name":"kind","type":{"type":"enum","name":"Kind","symbols":["A","B"]}},
	{"name":"id","type":{"type":"fixed","name":"ID","size":3}},
	{"name":"again","type":["Inner","null"]},
	{"name":"when","type":"string"}]}`

var avroColumns = []string{"x", "in.y", "in.f", "in.flag", "at", "day", "price", "again.y", "when"}

// encoded is a value of the schema, and the row that it is.
func encoded(t testing.TB, i int64) (value []byte, row []float64) {
	t.Helper()
	inner := map[string]any{"text": "t", "y": i, "f": float32(i) / 4, "flag": i%2 == 0}
	value, err := avro.MustParse(avroSchema).Encode(map[string]any{
		"before": []any{map[string]any{"a": nil, "b": "text"}},
		"x":      float64(i) / 3, "in": inner, "at": time.UnixMicro(1_500_000 * i), "day": time.Unix(86400*i, 0).UTC(),
		"price": big.NewRat(-i, 4), "kind": "B", "id": []byte{1, 2, 3}, "again": nil, "when": "1970-01-01T00:01:00Z",
	})
	fatal.If(t, err)
	flag := 0.0
	if i%2 == 0 {
		flag = 1
	}
	return value, []float64{float64(i) / 3, float64(i), float64(i) / 4, flag, 1.5 * float64(i), 86400 * float64(i), -float64(i) / 4, math.NaN(), 60}
}

// Rows that another library wrote are the rows that went in.
func TestAvro(t *testing.T) {
	r, err := newAvroReader(avroColumns), error(nil)
	r.declared, err = parseAvro(avroSchema, &avro.SchemaCache{}, map[string]avroType{})
	fatal.If(t, err)
	columns := make([][]float64, len(avroColumns))
	for i := range int64(8) {
		value, want := encoded(t, 4*i)
		fatal.If(t, r.read(value, columns))
		for j, v := range want {
			got := columns[j][i]
			if got != v && !(math.IsNaN(v) && ingest.FaultOf(got) == ingest.Null) {
				t.Errorf("row %d, column %s is %v, want %v", i, avroColumns[j], got, v)
			}
		}
	}
}

// fakeRegistry answers as a registry does, and counts the requests.
func fakeRegistry(t *testing.T, answers map[string]any) (at *Schemas, requests *int) {
	t.Helper()
	requests = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests++
		answer, ok := answers[r.URL.Path]
		switch {
		case answer == http.StatusServiceUnavailable:
			w.WriteHeader(http.StatusServiceUnavailable)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error_code":40403,"message":"Schema not found"}`))
		default:
			_ = json.NewEncoder(w).Encode(answer)
		}
	}))
	t.Cleanup(server.Close)
	client, err := sr.NewClient(sr.URLs(server.URL))
	fatal.If(t, err)
	return &Schemas{Client: client}, requests
}

// wire is a value with the id of its schema.
func wire(id uint32, value []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, id), value...)
}

// Records of a topic are read by the schemas of their ids, which are asked for once, with
// the schemas that they refer to. A record of an unknown id is a rejected row; a registry that
// does not answer is an error, whatever is tolerated.
func TestRegistry(t *testing.T) {
	inner := `{"type":"record","name":"Inner","namespace":"org.example","fields":[{"name":"y","type":"double"}]}`
	outer := `{"type":"record","name":"Outer","namespace":"org.example","fields":[{"name":"x","type":"int"},{"name":"in","type":"Inner"}]}`
	answers := map[string]any{
		"/schemas/ids/7": map[string]any{"schema": `{"type":"record","name":"Old","fields":[{"name":"in","type":{"type":"record","name":"I","fields":[{"name":"y","type":"float"}]}},{"name":"x","type":"long"}]}`},
		"/schemas/ids/8": map[string]any{
			"schema": outer, "references": []any{map[string]any{"name": "org.example.Inner", "subject": "inner", "version": 3}},
		},
		"/subjects/inner/versions/3": map[string]any{"subject": "inner", "version": 3, "id": 2, "schema": inner},
		"/schemas/ids/9":             map[string]any{"schema": `message M {}`, "schemaType": "PROTOBUF"},
		"/schemas/ids/10":            http.StatusServiceUnavailable,
	}
	registry, requests := fakeRegistry(t, answers)
	c := newCluster(t, 1)
	p := c.producer(t)
	old := append(binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.5)), 6)
	recent := binary.LittleEndian.AppendUint64([]byte{8}, math.Float64bits(0.25))
	for range 20 {
		produce(t, p, &kgo.Record{Value: wire(7, old)}, &kgo.Record{Value: wire(8, recent)})
	}
	cfg := c.config(t)
	cfg.Format, cfg.Registry = FormatAvro, registry
	w, err := Spool(t.Context(), cfg)
	fatal.If(t, err)
	rows, _ := values(t, w)
	if len(rows) != 40 || rows[0] != [2]float64{3, 0.5} || rows[39] != [2]float64{4, 0.25} {
		t.Errorf("%d rows, %v … %v", len(rows), rows[0], rows[len(rows)-1])
	}
	if *requests != 3 {
		t.Errorf("%d requests, want 3: one for each schema", *requests)
	}

	produce(t, p, &kgo.Record{Value: wire(9, recent)}, &kgo.Record{Value: wire(11, recent)}, &kgo.Record{Value: recent})
	for id, want := range map[int]string{0: "PROTOBUF", 1: "schema 11: the registry has none", 2: "does not begin with the id"} {
		cfg := c.config(t)
		cfg.Format, cfg.Registry = FormatAvro, registry
		cfg.From.Offsets = map[int]int64{0: int64(40 + id)}
		if _, err := Spool(t.Context(), cfg); err == nil || !strings.Contains(strings.ToUpper(err.Error()), strings.ToUpper(want)) {
			t.Errorf("%v, want an error with %q", err, want)
		}
		cfg = c.config(t)
		cfg.Format, cfg.Registry, cfg.Tolerant = FormatAvro, registry, true
		if w, err := Spool(t.Context(), cfg); err != nil || w.Rows() != 43 {
			t.Errorf("tolerated: %v", err)
		}
	}
	produce(t, p, &kgo.Record{Value: wire(10, recent)})
	cfg = c.config(t)
	cfg.Format, cfg.Registry, cfg.Tolerant = FormatAvro, registry, true
	if _, err := Spool(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("a registry that fails: %v", err)
	}
}

// Schemas that cannot give the columns are reported; so are values that are none of their
// schema, whatever they claim.
func TestAvroFaults(t *testing.T) {
	doubled := `{"name":"f","type":"null"}`
	for i := range 40 {
		doubled += fmt.Sprintf(`,{"name":"f%d","type":{"type":"record","name":"R%d","fields":[{"name":"a","type":"%s"},{"name":"b","type":"%[3]s"}]}}`, i, i+1, map[bool]string{true: "null", false: fmt.Sprint("R", i)}[i == 0])
	}
	for schema, want := range map[string]string{
		`{"type":"record","name":"R","fields":[` + doubled + `]}`: "65536 types or more",
		`"int"`: "want a record",
		`{`:     "Avro schema",
		`{"type":"record","name":"R","fields":[` + strings.Repeat(" ", maxAvroSchema) + `{"name":"x","type":"int"}]}`:                                                                     "want at most",
		`{"type":"record","name":"R","fields":[{"name":"x","type":` + strings.Repeat(`{"type":"array","items":`, 100_000) + `"int"}]}`:                                                    "Avro schema",
		`{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"record","name":"E","fields":[{"name":"n","type":"null"}]}},{"name":"x","type":{"type":"array","items":"E"}}]}`: "without bytes",
	} {
		if _, err := (Config{Format: FormatAvro, Schema: schema}).decoder(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want an error with %q", schema, err, want)
		}
	}
	r, err := newAvroReader([]string{"x"}), error(nil)
	for _, c := range []struct{ schema, value, want string }{
		{`"string"`, "\x04ab", "the text"},
		{`"string"`, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "no Avro"},
		{`"bytes"`, "\x02a", `column "x" is bytes`},
		{`{"type":"bytes","logicalType":"timestamp-millis"}`, "\x02a", `column "x" is bytes`},
		{`{"type":"string","logicalType":"decimal"}`, "\x02a", `the text "a"`},
		{`"double"`, "1234567", "no Avro"},
		{`"int"`, "\x80\x80\x80\x80\x20", "no Avro"},
		{`"long"`, "\x02\x00", "1 bytes behind"},
		{`["null","int"]`, "\x04", "no Avro"},
		{`{"type":"enum","name":"E","symbols":["A"]}`, "\x00", `the text "A"`},
		{`{"type":"record","name":"S","fields":[]}`, "", "name a member"},
		{`{"type":"array","items":"int"}`, "\x00", "a list"},
	} {
		r.declared, err = parseAvro(`{"type":"record","name":"R","fields":[{"name":"x","type":`+c.schema+`}]}`, &avro.SchemaCache{}, map[string]avroType{})
		fatal.If(t, err)
		if err := r.read([]byte(c.value), make([][]float64, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q as %s: %v, want an error with %q", c.value, c.schema, err, c.want)
		}
	}
	// A list of 2⁶⁰ integers, and records that hold each other without end.
	r.declared, err = parseAvro(`{"type":"record","name":"R","fields":[{"name":"l","type":{"type":"array","items":"int"}},{"name":"r","type":["null","R"]},{"name":"x","type":"int"}]}`, &avro.SchemaCache{}, map[string]avroType{})
	fatal.If(t, err)
	for want, value := range map[string][]byte{
		"exceeds":   binary.AppendVarint(nil, 1<<60),
		"recursion": bytes.Repeat([]byte{0, 2}, 10000),
	} {
		if err := r.read(value, make([][]float64, 1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// TestDamagedAvro: 2,000 damaged values are errors or rows, no panic.
func TestDamagedAvro(t *testing.T) {
	value, _ := encoded(t, 5)
	r, err := newAvroReader(avroColumns), error(nil)
	r.declared, err = parseAvro(avroSchema, &avro.SchemaCache{}, map[string]avroType{})
	fatal.If(t, err)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		data := bytes.Clone(value)
		for range 1 + rng.IntN(3) {
			data[rng.IntN(len(data))] ^= byte(1 << rng.IntN(8))
		}
		_ = r.read(data[:rng.IntN(len(data)+1)], make([][]float64, len(avroColumns)))
	}
}

// FuzzAvro: whatever a record is, it is a row or refused.
func FuzzAvro(f *testing.F) {
	value, _ := encoded(f, 5)
	f.Add(value)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newAvroReader(avroColumns)
		r.declared, _ = parseAvro(avroSchema, &avro.SchemaCache{}, map[string]avroType{})
		columns := make([][]float64, len(avroColumns))
		if err := r.read(data, columns); err == nil && len(columns[0]) != 1 {
			t.Errorf("a record is %d rows", len(columns[0]))
		}
	})
}
