package sink

import (
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
)

// EndColumns returns the columns of the ends of intervals around predictions.
func EndColumns() []Kept {
	node := parquet.Leaf(parquet.DoubleType)
	return []Kept{{"lower", node}, {"upper", node}}
}

// Ends returns the values of [EndColumns]: mean ∓ tolerance, in raw units or predictive deviations,
// rounded outwards; null without a prediction or a deviation.
func Ends(rows []pipeline.Prediction, tolerance float64, width certify.Width) [][]parquet.Value {
	lower, upper := make([]parquet.Value, len(rows)), make([]parquet.Value, len(rows))
	for i, p := range rows {
		off := tolerance
		if width == certify.WidthDeviation {
			off = math.Nextafter(tolerance*math.Nextafter(p.PredictiveDeviation, math.Inf(1)), math.Inf(1))
		}
		if p.Reason == "" && !math.IsNaN(off) {
			lower[i] = parquet.DoubleValue(math.Nextafter(p.Mean-off, math.Inf(-1)))
			upper[i] = parquet.DoubleValue(math.Nextafter(p.Mean+off, math.Inf(1)))
		}
	}
	return [][]parquet.Value{lower, upper}
}
