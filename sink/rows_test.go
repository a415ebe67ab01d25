package sink_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/sink"
)

// Any reader finds each rejected row again, whatever the columns are called.
func TestRejectedRowsAreReadBack(t *testing.T) {
	var file bytes.Buffer
	out := sink.NewRejectedRows(&file, []string{"row", "in", "zeta", "city"}, []string{"city"})
	shard := dataset.Shard{First: 90, Rows: 50, Position: dataset.Position{In: "lake/b.parquet", Part: 3, At: 7_000_000_000}}
	for i, values := range [][]float64{{1.5, math.NaN(), 3, 8e15}, {math.NaN(), 0, math.NaN(), 7e15}} {
		fatal.If(t, out.Write(shard, dataset.RejectedRow{Row: int64(10 * i), Reason: "is null", Values: values}))
	}
	fatal.If(t, out.Close())
	type values struct {
		Row  *float64 `parquet:"row,optional"`
		In   *float64 `parquet:"in,optional"`
		Zeta *float64 `parquet:"zeta,optional"`
	}
	type row struct {
		In     string `parquet:"in"`
		Part   int32  `parquet:"part"`
		Row    int64  `parquet:"row"`
		Column string `parquet:"column"`
		Reason string `parquet:"reason"`
		Values values `parquet:"values"`
	}
	got, err := parquet.Read[row](bytes.NewReader(file.Bytes()), int64(file.Len()))
	fatal.If(t, err)
	want := []row{
		{"lake/b.parquet", 3, 7_000_000_000, "in", "is null", values{Row: new(1.5), Zeta: new(3.0)}},
		{"lake/b.parquet", 3, 7_000_000_010, "row", "is null", values{In: new(0.0)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
