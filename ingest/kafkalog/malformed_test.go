package kafkalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// malformed makes a record that is none, or one with a bad value.
func malformed(rng *rand.Rand, whole []byte, i int) []byte {
	text := slices.Clone(whole)
	switch i % 8 {
	case 0, 1:
		return text[:rng.IntN(len(text))]
	case 2, 3:
		at := rng.IntN(len(text))
		text[at] ^= 1 << rng.IntN(8)
		return text
	}
	value := []string{
		"NaN", "-Infinity", `"NaN"`, "1e999999999", "-" + strings.Repeat("9", 1000), "null", "0x10", "1_000", "01", "{}", "[[]]",
		strings.Repeat("[", 5000), strings.Repeat(`{"x":`, 5000), `"\u12"`, "\"\xff\"", `"` + strings.Repeat("a", 50_000), "tru", "+1", "1.", "٣",
	}[rng.IntN(20)]
	return bytes.Replace(text, []byte(`"x":1`), fmt.Appendf(nil, `"x":%s`, value), 1)
}

// TestMalformed: each of 2,000 malformed records of a topic is quarantined, or is a row, where bad rows
// are tolerated, and is an error with its place where they are not; memory is bounded.
func TestMalformed(t *testing.T) {
	if testing.Short() {
		t.Skip("2,000 records of a topic are spooled")
	}
	const count = 2000
	whole := []byte(`{"x":1,"note":"\u00e9 [{","list":[1,{"x":2}],"in":{"y":2.5}}`)
	c := newCluster(t, 1)
	p := c.producer(t)
	rng := rand.New(rand.NewPCG(11, 12))
	var records []*kgo.Record
	for i := range count {
		records = append(records, &kgo.Record{Value: malformed(rng, whole, i)})
	}
	records = append(records, &kgo.Record{Value: whole})
	produce(t, p, records...)
	cfg := c.config(t)
	cfg.segmentRows, cfg.Tolerant = MaxSegmentRows, true
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w, err := Spool(t.Context(), cfg)
	runtime.ReadMemStats(&after)
	fatal.If(t, err)
	if took := (after.TotalAlloc - before.TotalAlloc) / count; took > 1<<20 {
		t.Errorf("%d KiB a record", took>>10)
	}
	bad := 0
	decode := newJSONReader(cfg.Columns)
	for i, r := range records {
		err := decode.read(r.Value, make([][]float64, 2))
		if err != nil {
			bad++
		} else if !json.Valid(r.Value) {
			t.Errorf("record %d is read and is no JSON: %.80q", i, r.Value)
		}
		if err != nil && (len(err.Error()) < 10 || len(err.Error()) > 600) {
			t.Errorf("record %d: %v", i, err)
		}
	}
	if w.Rows() != count+1 || bad < count/2 {
		t.Errorf("%d rows of %d, of which %d records are none", w.Rows(), count+1, bad)
	}
	if _, err := Spool(t.Context(), c.config(t)); err == nil || !strings.Contains(err.Error(), `topic "rows", partition 0, offset 0: `) {
		t.Errorf("%v, want an error with the place of the first record", err)
	}
}
