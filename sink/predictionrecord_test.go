package sink

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/pipeline"
)

// Whatever names, reasons and values are, an object is JSON that says them.
func TestPredictionObjects(t *testing.T) {
	o := NewPredictionObjects("8c1f", "a\"b", "text", "none", "broken")
	kept := [][]byte{[]byte("9007199254740993"), []byte(`{"x": [1, "\u00e9"]}`), nil, []byte("\"\xff\"")}
	for _, c := range []struct {
		p    pipeline.Prediction
		want map[string]any
	}{
		{pipeline.Prediction{Mean: 0.1, Deviation: 1e-300, PredictiveDeviation: 2}, map[string]any{"mean": json.Number("0.1"), "deviation": json.Number("1e-300"), "predictive_deviation": json.Number("2"), "certificate": "8c1f", "reason": nil}},
		{pipeline.Prediction{Mean: -1e21, Deviation: math.NaN(), PredictiveDeviation: math.NaN()}, map[string]any{"mean": json.Number("-1e+21"), "deviation": nil, "predictive_deviation": nil, "certificate": "8c1f", "reason": nil}},
		{pipeline.Prediction{Mean: 1, Reason: "x \"y\" </script>\x01"}, map[string]any{"mean": nil, "deviation": nil, "predictive_deviation": nil, "certificate": nil, "reason": "x \"y\" </script>\x01"}},
	} {
		text := o.Append([]byte("before"), 3, 1<<60, 2, c.p, kept...)
		d := json.NewDecoder(bytes.NewReader(text[len("before"):]))
		d.UseNumber()
		var got map[string]any
		if err := d.Decode(&got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		c.want["partition"], c.want["offset"], c.want["row"] = json.Number("3"), json.Number("1152921504606846976"), json.Number("2")
		c.want["a\"b"], c.want["text"], c.want["none"], c.want["broken"] = json.Number("9007199254740993"), map[string]any{"x": []any{json.Number("1"), "é"}}, nil, nil
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
	}
}
