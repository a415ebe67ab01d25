package kafkalog

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A record without a filled feature makes a good row, of a decoder and of a spool that tolerates none.
func TestMissingValues(t *testing.T) {
	cfg := Config{Columns: []string{"a", "b"}, Encoded: job.Encodings{{Column: "a", Scaled: true, Fill: &job.Fill{}}}}
	decoders, err := cfg.decoders(t.Context(), 1)
	fatal.If(t, err)
	lines := []string{`{"b": 1}`, `{"a": null, "b": 2}`, `{"a": 9007199254740993, "b": 3}`, `{"a": 1, "b": null}`}
	var records []Record
	for _, line := range lines {
		records = append(records, Record{0, broker.Record{Value: []byte(line)}})
	}
	got, err := decoders[0].rows(records)
	fatal.If(t, err)
	a, reasons := got.Batch.Column(0).(*array.Float64), got.Batch.Column(2).(*array.String)
	for i := range lines {
		if missing := math.Float64bits(a.Value(i)) == math.Float64bits(math.NaN()); missing != (i < 3) || reasons.IsNull(i) != (i < 3) {
			t.Errorf("%s: %v, %q", lines[i], a.Value(i), reasons.Value(i))
		}
	}
	c := newCluster(t, 1)
	for _, line := range lines[:3] {
		produce(t, c.producer(t), &kgo.Record{Value: []byte(line)})
	}
	spooled := c.config(t)
	spooled.Columns, spooled.Encoded = cfg.Columns, cfg.Encoded
	w, err := Spool(t.Context(), spooled)
	fatal.If(t, err)
	src, err := w.Open(t.Context(), dataset.Choice{Features: []string{"a"}, Target: "b", Encoded: cfg.Encoded})
	fatal.If(t, err)
	if columns, _ := pipelinetest.Read(t, src, 0); !math.IsNaN(columns[0][2]) || columns[1][2] != 3 {
		t.Errorf("the spool has %v", columns)
	}
	produce(t, c.producer(t), &kgo.Record{Value: []byte(lines[3])})
	spooled.Folder = t.TempDir()
	if _, err := Spool(t.Context(), spooled); err == nil || !strings.Contains(err.Error(), `column "b" is null`) {
		t.Errorf("without b: %v", err)
	}
}
