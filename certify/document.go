package certify

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Format names the version of the certificate document.
const Format = "pacsgp-certificate/4"

// A ClaimID names a claim within its certificate.
type ClaimID string

// Identifiers of claims.
const (
	ClaimHoldout ClaimID = "holdout"        // about predictions, from held-out rows
	ClaimCurve   ClaimID = "curve"          // about predictions, at every tolerance at once, from held-out rows
	ClaimGroups  ClaimID = "groups"         // about predictions for groups of rows, from held-out rows
	ClaimMean    ClaimID = "pac-bayes-mean" // about predictions, from random draws around them
	ClaimDraw    ClaimID = "pac-bayes"      // about a random draw from the posterior
)

// A Predictor names what a claim is about.
type Predictor string

// The predictors.
const (
	PredictorDraw Predictor = "draw"       // a random draw from the posterior
	PredictorMean Predictor = "prediction" // the published predictions
	// PredictorAround is a random draw with the covariance of the posterior around the weights of predictions.
	// No claim is about it; claims about predictions follow from its risk.
	PredictorAround Predictor = "draw-around-prediction"
	// PredictorConstant is the constant of the baseline. No claim is about it.
	PredictorConstant Predictor = "constant"
	// PredictorColumn is the column of the mean. Its loss sum adds up distances from the target ([Mean]), not losses.
	PredictorColumn Predictor = "column"
)

// A Status says whether a claim holds and is of use.
type Status string

// The statuses.
const (
	StatusCertified Status = "certified" // under the listed assumptions, and below the baseline
	StatusVacuous   Status = "vacuous"   // no better than a constant
	StatusVoid      Status = "void"      // an assumption of the theorem is known to fail
)

// A Certificate is the document. [Certify] makes it: claims, assumptions and warnings follow from the evidence, and
// [Recompute] checks that they do. It holds no times, host names or paths: the same evidence gives the same bytes.
type Certificate struct {
	Format      string       `json:"format"`
	Claims      []Claim      `json:"claims"`
	Assumptions []Assumption `json:"assumptions"`
	Warnings    []Warning    `json:"warnings"`
	Evidence
}

// A Subset names rows of the dataset by their use: to train or to be held out.
type Subset string

// The subsets.
const (
	SubsetTraining Subset = "training"
	SubsetHoldout  Subset = "holdout"
)

// A Claim is one theorem applied to one predictor. Bound and BoundPinsker are upper bounds on the expected loss of the
// predictor on a new row, and all numbers in nats are upper bounds. A number that the theorem does not have is zero.
type Claim struct {
	ID              ClaimID   `json:"id"`
	Predictor       Predictor `json:"predictor"`
	Subset          Subset    `json:"subset"` // of the rows that the claim is computed from
	Status          Status    `json:"status"`
	Bound           float64   `json:"bound"`
	Baseline        float64   `json:"baseline"`         // [HoldoutBound] of the best constant, from a lower bound on its mean training loss
	Delta           float64   `json:"delta"`            // δ: all claims hold at once with confidence 1−δ
	N               int64     `json:"n"`                // number of examples: rows or units
	Risk            *float64  `json:"risk,omitempty"`   // upper bound on the mean loss of the N examples; nil if only the bound is shown
	Misses          *int64    `json:"misses,omitempty"` // held-out rows with a loss of 1; nil unless examples are held-out rows with losses of 0 or 1
	LnInverseWeight float64   `json:"ln_inverse_weight,omitempty"`
	LnXi            float64   `json:"ln_xi,omitempty"`
	LnInverseDelta  float64   `json:"ln_inverse_delta"`   // ln 1/(δ·share), for the claim's share of δ
	Exponent        float64   `json:"exponent,omitempty"` // (KL and the three terms above)/N
	BoundPinsker    float64   `json:"bound_pinsker,omitempty"`
	Curve           *Curve    `json:"curve,omitempty"`    // of [ClaimCurve]; nil for other claims
	Groups          []Group   `json:"by_group,omitempty"` // of [ClaimGroups], by value; all other rows last

	shown LossSum // the part of the loss sum that the claim shows
	share Share   // the part of δ that the claim spends
}

// An Origin says which rows the constant of the baseline was chosen on.
type Origin string

// The origins.
const (
	OriginPrior Origin = "prior" // the prior rows
	OriginStart Origin = "start" // the first training rows by rank, if there are no prior rows
)

// Counts are the numbers of rows of the dataset. Each row counts once: in Prior, Training, Holdout, Duplicates,
// Rejected or Outside.
type Counts struct {
	Rows       int64       `json:"rows"`
	Prior      int64       `json:"prior"`
	Training   int64       `json:"training"`
	Holdout    int64       `json:"holdout"`
	Duplicates int64       `json:"duplicates"` // rows that equal an earlier row and are left out
	Rejected   int64       `json:"rejected"`
	Outside    int64       `json:"outside,omitempty"` // rows on which the column of the mean was fitted
	Units      *UnitCounts `json:"units,omitempty"`   // nil if examples are rows
}

// A Sample names the rows by the digest of their values.
type Sample struct {
	Digest  string   `json:"digest"`  // SHA-256, 64 hexadecimal digits
	Targets string   `json:"targets"` // digest of the target's values, whatever their order
	Shards  int64    `json:"shards"`
	Columns []string `json:"columns"` // features in model order; the column of the mean or of the groups, and those of units, if any; the target

	// Segments are the shards of rows from a log, in order, as ranges of that log. Only replaying the log shows
	// whether it has these rows.
	Segments []Segment `json:"segments,omitempty"`
}

// A Segment is the rows between two offsets of a partition of a topic. Some offsets may have no row: markers,
// aborted transactions, compacted records.
type Segment struct {
	Topic     string `json:"topic"`
	Partition int64  `json:"partition"`
	First     int64  `json:"first"` // first offset
	End       int64  `json:"end"`   // offset after the last
	Rows      int64  `json:"rows"`
}

// Facts are what the claims need about the model.
type Facts struct {
	Digest   string      `json:"digest"`              // SHA-256 of the model file, 64 hexadecimal digits
	KL       float64     `json:"kl"`                  // upper bound on KL(Q‖P) in nats, from [GaussianKL]
	KLAround float64     `json:"kl_around,omitempty"` // the same for [PredictorAround]; 0 unless a method needs it
	Accuracy float64     `json:"accuracy"`            // τ: greatest distance of a reader's prediction from the exact one, in raw units of the target
	Kernel   Kernel      `json:"kernel"`
	Theta    []Parameter `json:"theta"`
	Jitter   JitterCheck `json:"jitter"`
}

// A Configuration holds the resolved settings of the job, a JSON object without secrets, and
// the SHA-256 of its compact form.
type Configuration struct {
	Digest string          `json:"digest"`
	Values json.RawMessage `json:"values"`
}

// A JitterCheck is the result of checking the stored factor L. Holds says that its error is proven to be at
// most Limit; then L·Lᵀ − K_ZZ is positive semi-definite, and the KL is that of the theorem.
type JitterCheck struct {
	Limit float64 `json:"limit"`
	Holds bool    `json:"holds"`
}

// Declared has the publisher's statements, which cannot be checked. No claim depends on them.
type Declared struct {
	Software string   `json:"software"`
	Attempt  Attempt  `json:"attempt"`
	Training Training `json:"training"`
}

// Training has what is needed, in addition to job and rows, to train the same bytes of the model again.
type Training struct {
	// Machine names the processor's architecture and the instruction set that was used:
	// they decide how arithmetic rounds.
	Machine string `json:"machine"`
	// StoppedAfter is the number of steps after which the job's time limit was reached; 0 if there was no
	// limit, or it was not reached.
	StoppedAfter int64 `json:"stopped_after,omitempty"`
	// Parent is the model with which training began, or nil.
	Parent *Parent `json:"parent,omitempty"`
}

// An Attempt counts the different jobs in the publisher's log up to this one, which is included.
type Attempt struct {
	OnTheseRows int64 `json:"on_these_rows"`
	InThisLog   int64 `json:"in_this_log"`
}

// About returns the claim about a predictor for a headline; an empty predictor means predictions. It is the
// claim with the least bound of those that are certified, or of all if none is. If no claim is about the
// predictor, About returns a void claim with a bound of 1.
func (c Certificate) About(predictor Predictor) Claim {
	predictor = cmp.Or(predictor, PredictorMean)
	claims := slices.DeleteFunc(slices.Clone(c.Claims), func(g Claim) bool { return g.Predictor != predictor })
	if len(claims) == 0 {
		return Claim{Predictor: predictor, Status: StatusVoid, Bound: 1}
	}
	first := map[Status]int{StatusCertified: -1}
	return slices.MinFunc(claims, func(a, b Claim) int {
		return cmp.Or(first[a.Status]-first[b.Status], cmp.Compare(a.Bound, b.Bound))
	})
}

// Claim returns the claim with the identifier.
func (c Certificate) Claim(id ClaimID) (Claim, bool) {
	at := slices.IndexFunc(c.Claims, func(g Claim) bool { return g.ID == id })
	if at < 0 {
		return Claim{}, false
	}
	return c.Claims[at], true
}
