package certify

import "encoding/json"

// Format names the version of the certificate document.
const Format = "pacsgp-certificate/1"

// Identifiers of guarantees.
const (
	GuaranteeDraw = "pb-full" // about a draw of Q
	GuaranteeMean = "mean-2b" // about the mean of Q
)

// Predictors that a guarantee may be about.
const (
	PredictorDraw = "draw of Q"
	PredictorMean = "mean of Q"
)

// Statuses of a guarantee.
const (
	StatusCertified  = "certified"  // the theorem applies and says something
	StatusVacuous    = "vacuous"    // the theorem applies and says nothing
	StatusIndicative = "indicative" // an assumption of the theorem is broken
)

// A Certificate is the document. [Certify] makes it; all of it follows from
// [Evidence], and [Recompute] checks that it does. It holds no times, host
// names or paths: the same evidence gives the same bytes.
type Certificate struct {
	Format        string        `json:"format"`
	Guarantees    []Guarantee   `json:"guarantees"`
	Baseline      Baseline      `json:"baseline"`
	Assumptions   []Assumption  `json:"assumptions"`
	Ledger        Ledger        `json:"ledger"`
	Sample        Sample        `json:"sample"`
	RowRules      []string      `json:"row_rules"`
	Model         ModelFile     `json:"model"`
	Configuration Configuration `json:"configuration"`
	Kernel        Kernel        `json:"kernel"`
	Theta         []Coordinate  `json:"theta"`
	Roles         Roles         `json:"roles"`
	Optimiser     Optimiser     `json:"optimiser"`
	Jitter        JitterCheck   `json:"jitter"`
	Delta         Delta         `json:"delta"`
	Attempt       Attempt       `json:"attempt"`
	Software      string        `json:"software"`
}

// A Guarantee is one theorem applied to one predictor. Numbers in nats are
// upper bounds; Bound and BoundPinsker are upper bounds, LowerBound a lower
// bound, on the expected loss of the predictor on a fresh row.
type Guarantee struct {
	ID              string  `json:"id"`
	Predictor       string  `json:"predictor"`
	Method          string  `json:"method"`
	Status          string  `json:"status"`
	Loss            Loss    `json:"loss"`
	Delta           float64 `json:"delta"`
	N               int64   `json:"n"`
	EmpiricalRisk   Risk    `json:"empirical_risk"` // of a draw of Q on the train rows
	KL              float64 `json:"kl"`
	LnInverseWeight float64 `json:"ln_inverse_weight"`
	LnXi            float64 `json:"ln_xi"`
	LnInverseDelta  float64 `json:"ln_inverse_delta"` // of the share of δ that is this certificate's
	Exponent        float64 `json:"exponent"`         // (the four terms)/N
	Slack           float64 `json:"slack"`
	Bound           float64 `json:"bound"`
	BoundPinsker    float64 `json:"bound_pinsker"`
	LowerBound      float64 `json:"lower_bound"`
	Statement       string  `json:"statement"`
}

// A Risk is an empirical risk: the exact sum of losses, and their mean rounded up.
type Risk struct {
	Exact RiskSum `json:"exact"`
	Upper float64 `json:"upper"`
}

// Kinds of losses. f is the value predicted for a row and y its target.
const (
	LossZeroOne     = "zero-one"    // 1 if |f−y| > Epsilon, else 0
	LossBand        = "band"        // 0 if −Below ≤ f−y ≤ Above, else 1
	LossSquared     = "squared"     // min(((f−y)/Epsilon)², 1)
	LossExponential = "exponential" // 1 − exp(−((f−y)/Epsilon)²)
	LossRelative    = "relative"    // min(|f−y|/|y|, 1)
)

// A Loss declares the loss that is certified, in raw units of the target.
type Loss struct {
	Kind    string  `json:"kind"`
	Epsilon float64 `json:"epsilon,omitempty"` // zero-one, squared, exponential: > 0
	Below   float64 `json:"below,omitempty"`   // band: ≥ 0, not both 0
	Above   float64 `json:"above,omitempty"`
	Target  string  `json:"target"`         // the column's name
	Unit    string  `json:"unit,omitempty"` // the word for its unit, such as minutes
}

// Origins of the constant of a [Baseline].
const (
	OriginReference = "reference" // chosen on reference rows
	OriginDeclared  = "declared"
)

// A Baseline is the best that a constant prediction can be certified for on
// the same rows. A guarantee whose bound is not below Bound is vacuous.
type Baseline struct {
	Constant      float64 `json:"constant"` // raw
	Origin        string  `json:"origin"`
	EmpiricalRisk Risk    `json:"empirical_risk"`
	Bound         float64 `json:"bound"`
	Statement     string  `json:"statement"`
}

// Statuses of an assumption.
const (
	AssumptionEnforced = "enforced" // true by construction
	AssumptionAssumed  = "assumed"  // not established; Diagnostic says what was looked at
	AssumptionBroken   = "broken"   // false: nothing is certified
)

// An Assumption is one condition of the theorem.
type Assumption struct {
	ID         string `json:"id"`
	Status     string `json:"status"`
	Text       string `json:"text"`
	Diagnostic string `json:"diagnostic,omitempty"`
}

// A Ledger counts the rows of the sample by role. Bad rows have no role.
type Ledger struct {
	Unit      string `json:"unit"` // what counts as one example: "row"
	Rows      int64  `json:"rows"`
	Reference int64  `json:"reference"`
	Train     int64  `json:"train"`
	Holdout   int64  `json:"holdout"`
	Bad       int64  `json:"bad"`
}

// A Sample names the rows by the digest of their values.
type Sample struct {
	Digest  string   `json:"digest"`  // SHA-256, 64 hexadecimal digits
	Targets string   `json:"targets"` // of the multiset of the target's values, 64 hexadecimal digits
	Shards  int64    `json:"shards"`
	Rows    int64    `json:"rows"`
	Columns []string `json:"columns"` // the features in model order, then the target
}

// A ModelFile names the model file by the SHA-256 of its bytes.
type ModelFile struct {
	Digest string `json:"digest"`
}

// A Configuration holds the resolved settings of the job, a JSON object, and
// the SHA-256 of its compact form.
type Configuration struct {
	Digest string          `json:"digest"`
	Values json.RawMessage `json:"values"`
}

// KernelSquaredExponential is σ²·exp(−½ Σ ((x_j−x'_j)/l_j)²).
const KernelSquaredExponential = "squared-exponential"

// A Kernel names the covariance function of the prior.
type Kernel struct {
	Family string `json:"family"`
	ARD    bool   `json:"ard"` // one lengthscale a feature, else one for all
}

// A Coordinate is one hyper-parameter and its value.
type Coordinate struct {
	Parameter
	Value float64 `json:"value"`
}

// Roles says how rows got their roles.
type Roles struct {
	Key string `json:"key"`
}

// An Optimiser names what training depends on beside configuration and rows.
type Optimiser struct {
	Seed uint64 `json:"seed,string"`
}

// A JitterCheck holds the verdict on the stored factor L: with Bound ≤ Limit,
// L·Lᵀ − K_ZZ is positive semi-definite and the KL is that of the theorem.
type JitterCheck struct {
	Bound float64 `json:"bound"`
	Limit float64 `json:"limit"`
}

// An Attempt counts the different jobs that were finished up to this one, here.
type Attempt struct {
	OnThisSample    int64 `json:"on_this_sample"`
	InThisDirectory int64 `json:"in_this_directory"`
}

// Guarantee returns the guarantee with the identifier.
func (c Certificate) Guarantee(id string) (Guarantee, bool) {
	for _, g := range c.Guarantees {
		if g.ID == id {
			return g, true
		}
	}
	return Guarantee{}, false
}
