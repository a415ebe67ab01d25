package kafkalog

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
)

// Keys, headers, times and places of records are columns like any other, also where no
// column stands in the value.
func TestKeysAndHeadersAreColumns(t *testing.T) {
	c := newCluster(t, 1)
	p := c.producer(t)
	for i, key := range []string{"7", "-0.5", "2026-01-31T12:00:00Z", "true"} {
		produce(t, p, &kgo.Record{
			Key: []byte(key), Value: []byte(`{"x":1}`),
			Headers: []kgo.RecordHeader{{Key: "weight", Value: []byte{byte('0' + i)}}, {Key: "other", Value: []byte("text")}},
		})
	}
	cfg := c.config(t)
	cfg.Columns = []string{"$headers.weight", "$offset", "$key"}
	w, err := Spool(t.Context(), cfg)
	fatal.If(t, err)
	src, err := w.Open(t.Context(), pipeline.Choice{Features: []string{"$headers.weight"}, Target: "$key"})
	fatal.If(t, err)
	rows, _ := read(t, src)
	if want := [][2]float64{{0, 7}, {1, -0.5}, {2, 1769860800}, {3, 1}}; !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	if _, err := w.Open(t.Context(), pipeline.Choice{Features: []string{"$timestamp", "$partition"}, Target: "$offset"}); err != nil {
		t.Errorf("the place of a row as columns: %v", err)
	}
}

// A key that is missing is a null; one that is no number is told with its place.
func TestKeysThatAreNoNumbers(t *testing.T) {
	for _, c := range []struct {
		record kgo.Record
		want   string
	}{
		{kgo.Record{}, "is null"},
		{kgo.Record{Key: []byte{}}, "empty"},
		{kgo.Record{Key: []byte("DE-7")}, "DE-7"},
		{kgo.Record{Key: []byte("7 ")}, "is no number"},
		{kgo.Record{Key: []byte{0, 0, 0, 0, 0, 0, 0, 7}}, "is no number"},
		{kgo.Record{Key: []byte("NaN")}, "is no number"},
		{kgo.Record{Key: []byte("1e999")}, "infinite"},
		{kgo.Record{Key: []byte("1"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}, {Key: "h", Value: []byte("1")}}}, "2 headers"},
	} {
		cluster := newCluster(t, 1)
		c.record.Value = []byte(`{}`)
		produce(t, cluster.producer(t), &c.record)
		cfg := cluster.config(t)
		if cfg.Columns = []string{"$key"}; c.record.Headers != nil {
			cfg.Columns = append(cfg.Columns, "$headers.h")
		}
		if _, err := Spool(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "offset 0") {
			t.Errorf("key %q: error %v, want one with its offset and %q", c.record.Key, err, c.want)
		}
	}
	if v, err := textCell([]byte("null")); err != nil || ingest.FaultOf(v) != ingest.Null || !math.IsNaN(v) {
		t.Errorf("null is %v, %v", v, err)
	}
}
