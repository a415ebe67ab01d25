package sink

import (
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline"
)

// The prediction of a row of a file names both, whatever name the file has, and what is kept
// stands behind it; no object is larger than is said.
func TestFileObjects(t *testing.T) {
	w := NewFileObjects("a \"b\"\n.parquet", "8c1f", 200, Kept{"id", parquet.Int(64)}, Kept{"a\"b", parquet.String()})
	rows := []pipeline.Prediction{{}, {Ordinal: 1 << 40, Mean: 0.5, Deviation: 2, PredictiveDeviation: 3}, {Ordinal: 1<<40 + 1, Reason: "x1 is null"}}
	ids := []parquet.Value{parquet.Int64Value(6), parquet.Int64Value(1<<53 + 1), {}}
	texts := []parquet.Value{parquet.ByteArrayValue([]byte(strings.Repeat("x", 500))), parquet.ByteArrayValue([]byte("é")), {}}
	got, err := w.Write(rows, [][]parquet.Value{ids, texts}, 1)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	for i, want := range []string{
		`{"file":"a \"b\"\n.parquet","row":1099511627776,"mean":0.5,"deviation":2,"predictive_deviation":3,"certificate":"8c1f","reason":null,"id":9007199254740993,"a\"b":"é"}`,
		`{"file":"a \"b\"\n.parquet","row":1099511627777,"mean":null,"deviation":null,"predictive_deviation":null,"certificate":null,"reason":"x1 is null","id":null,"a\"b":null}`,
	} {
		if string(got[i]) != want {
			t.Errorf("%s, want %s", got[i], want)
		}
	}
	if _, err := w.Write(rows, [][]parquet.Value{ids, texts}, 0); err == nil || !strings.Contains(err.Error(), "row 0: its prediction has") {
		t.Errorf("a large one: %v", err)
	}
	if CanKeepOfFile("file") == nil || CanKeepOfFile("mean") == nil || CanKeepOfFile("") == nil || CanKeepOfFile("offset") != nil {
		t.Error("names of kept members")
	}
}
