package sink

import (
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline"
)

// EndColumns returns the columns of the ends of intervals around predictions.
func EndColumns() []Kept {
	node := parquet.Leaf(parquet.DoubleType)
	return []Kept{{"lower", node}, {"upper", node}}
}

// Ends returns the values of [EndColumns]: mean ∓ tolerance, in raw units, rounded outwards; null
// without a prediction.
func Ends(rows []pipeline.Prediction, tolerance float64) [][]parquet.Value {
	lower, upper := make([]parquet.Value, len(rows)), make([]parquet.Value, len(rows))
	for i, p := range rows {
		if p.Reason == "" {
			lower[i] = parquet.DoubleValue(math.Nextafter(p.Mean-tolerance, math.Inf(-1)))
			upper[i] = parquet.DoubleValue(math.Nextafter(p.Mean+tolerance, math.Inf(1)))
		}
	}
	return [][]parquet.Value{lower, upper}
}
