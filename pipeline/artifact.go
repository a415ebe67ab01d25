package pipeline

import (
	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// ModelFormat names the version of the model file.
const ModelFormat = "pacsgp-model/2"

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
	Noise        *Noise    `json:"noise,omitempty"` // nil: unknown, as in files of earlier versions
}

// A Noise is the variance of the target around the mean of Q, in scaled units:
// Spread·(variance of f) + Variance. Spread discounts a Q that is wide because the tolerance is.
type Noise struct {
	Variance float64 `json:"variance"`
	Spread   float64 `json:"spread"` // in [0, 1]
}

// around is the variance of the target, given that of f.
func (n Noise) around(variance float64) float64 { return float64(n.Spread*variance) + n.Variance }

// known reports whether the variance of the target is known well enough to be given, if that of f may
// be off by so much. Without noise it is not.
func (n *Noise) known(variance, off float64) bool {
	return n != nil && off <= deviationAccuracy*n.around(variance)
}

// A Model is the content of a model file: the description, and the posterior Q over functions
// of the scaled features.
type Model struct {
	Meta      ModelMeta
	Posterior *model.Posterior
}
