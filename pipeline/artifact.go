package pipeline

import (
	"math"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// ModelFormat names the version of the model file.
const ModelFormat = "pacsgp-model/3"

// An Affine maps a raw column to scaled units: (value − Centre) / Scale.
type Affine struct {
	Name   string  `json:"name"`
	Centre float64 `json:"centre"`
	Scale  float64 `json:"scale"` // > 0
}

// ModelMeta is the part of a model file that is not a table.
type ModelMeta struct {
	Format   string              `json:"format"`
	Kernel   string              `json:"kernel"` // the name of its family
	ARD      bool                `json:"ard"`
	Theta    []certify.Parameter `json:"theta"` // ln lengthscales (one a feature, or one if not ARD), then ln variance
	Features []Affine            `json:"features"`
	Encode   Encodings           `json:"encode,omitempty"` // of some features, which are not scaled
	Target   Affine              `json:"target"`
	Mean     string              `json:"mean,omitempty"` // column that predictions are added to; "": none
	Loss     certify.Loss        `json:"loss"`
	RowRules []string            `json:"row_rules"` // identifiers: [certify.RowRules]

	// The numbers for predictions, in scaled units.
	Lengthscales []float64 `json:"lengthscales"` // one an input
	Variance     float64   `json:"variance"`
	Jitter       float64   `json:"jitter"` // absolute, on the diagonal of K_ZZ
	Inducing     int       `json:"inducing"`
	Predictor    Predictor `json:"predictor"`
}

// A Predictor describes how predictions are made beside Q.
type Predictor struct {
	// Part is the part of the least-squares weights in those of predictions; the rest is the mean of Q.
	Part float64 `json:"part"` // in [0, 1]
	// The variance of a target is that of f and Factor·Noise, in scaled units.
	Noise  float64 `json:"noise"`  // > 0
	Factor float64 `json:"factor"` // > 0
}

// deviations are those of f and of the target, in scaled units, where the law of predictions has this
// variance.
func (p Predictor) deviations(variance float64) (f, target float64) {
	variance = max(0, variance)
	return math.Sqrt(variance), math.Sqrt(variance + float64(p.Factor*p.Noise))
}

// A Model is the content of a model file: the description, and two laws of functions of the scaled
// features, with the same kernel and inducing points. The bound of a draw is about the posterior Q.
// Predictions, and what hold-out rows say, are about the mean of Predictive, a law of its own.
type Model struct {
	Meta       ModelMeta
	Posterior  *model.Posterior
	Predictive *model.Posterior
}
