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
	ClaimCurve   ClaimID = "curve"          // the same, at every tolerance at once
	ClaimGroups  ClaimID = "groups"         // the same, of groups of rows
	ClaimMean    ClaimID = "pac-bayes-mean" // about predictions, from random draws around them
	ClaimDraw    ClaimID = "pac-bayes"      // about a random draw from the posterior
)

// A Predictor is what a claim is about.
type Predictor string

// The predictors.
const (
	PredictorDraw Predictor = "draw"       // a random draw from the posterior
	PredictorMean Predictor = "prediction" // what predictions are
	// PredictorAround is a random draw with the covariance of the posterior around the weights of
	// predictions, about which nothing is claimed but what follows for predictions.
	PredictorAround Predictor = "draw-around-prediction"
	// PredictorConstant is the constant of the baseline, about which nothing is claimed.
	PredictorConstant Predictor = "constant"
	// PredictorColumn is the column of the mean: its distances are added up, not its losses ([Mean]).
	PredictorColumn Predictor = "column"
)

// A Status says what a claim is worth.
type Status string

// The statuses.
const (
	StatusCertified Status = "certified" // under the listed assumptions, and below the baseline
	StatusVacuous   Status = "vacuous"   // no better than a constant
	StatusVoid      Status = "void"      // an assumption of the theorem is known to fail
)

// A Certificate is the document. [Certify] makes it: claims, assumptions and warnings follow from
// the evidence, and [Recompute] checks that they do. It holds no times, host names or paths: the
// same evidence gives the same bytes.
type Certificate struct {
	Format      string       `json:"format"`
	Claims      []Claim      `json:"claims"`
	Assumptions []Assumption `json:"assumptions"`
	Warnings    []Warning    `json:"warnings"`
	Evidence
}

// A Subset is the use of the rows from which a claim is computed.
type Subset string

// The subsets.
const (
	SubsetTraining Subset = "training"
	SubsetHoldout  Subset = "holdout"
)

// A Claim is one theorem applied to one predictor. Numbers in nats are upper bounds; Bound and
// BoundPinsker are upper bounds on the expected loss of the predictor on a new row. Zero means that
// the theorem has no such number.
type Claim struct {
	ID              ClaimID   `json:"id"`
	Predictor       Predictor `json:"predictor"`
	Subset          Subset    `json:"subset"` // of the rows that it is computed from
	Status          Status    `json:"status"`
	Bound           float64   `json:"bound"`
	Baseline        float64   `json:"baseline"` // of the best constant, by the same formula on the training rows; errs downwards
	Delta           float64   `json:"delta"`    // all claims hold at once with confidence 1−δ
	N               int64     `json:"n"`
	Risk            *float64  `json:"risk,omitempty"`   // mean loss on these rows, at most; nil: only the bound is shown
	Misses          *int64    `json:"misses,omitempty"` // of held-out rows, if losses are 0 or 1
	LnInverseWeight float64   `json:"ln_inverse_weight,omitempty"`
	LnXi            float64   `json:"ln_xi,omitempty"`
	LnInverseDelta  float64   `json:"ln_inverse_delta"`   // of the claim's part of δ
	Exponent        float64   `json:"exponent,omitempty"` // (KL and the three terms above)/N
	BoundPinsker    float64   `json:"bound_pinsker,omitempty"`
	Curve           *Curve    `json:"curve,omitempty"`    // of the claim about every tolerance
	Groups          []Group   `json:"by_group,omitempty"` // of the claim about groups, by value; all other rows last

	shown LossSum // what the claim shows of the losses
	share Share   // the part of δ that it spends
}

// An Origin says which rows the constant of the baseline was chosen on.
type Origin string

// The origins.
const (
	OriginReference Origin = "prior" // the prior rows
	OriginStart     Origin = "start" // where there are none, the first training rows by rank
)

// Counts are the numbers of rows of the dataset by subset. Rejected rows have no split.
type Counts struct {
	Rows       int64       `json:"rows"`
	Prior      int64       `json:"prior"`
	Training   int64       `json:"training"`
	Holdout    int64       `json:"holdout"`
	Duplicates int64       `json:"duplicates"` // equal an earlier row and are left out
	Rejected   int64       `json:"rejected"`
	Outside    int64       `json:"outside,omitempty"` // the column of the mean was fitted on them
	Units      *UnitCounts `json:"units,omitempty"`   // nil: examples are rows
}

// A Sample names the rows by the digest of their values.
type Sample struct {
	Digest  string   `json:"digest"`  // SHA-256, 64 hexadecimal digits
	Targets string   `json:"targets"` // of the multiset of the target's values
	Shards  int64    `json:"shards"`
	Columns []string `json:"columns"` // the features in model order, the column of the mean if there is one, those of units, the target

	// Segments are the shards of rows from a log, in order, as ranges of it. Only replaying the
	// log shows whether the rows are there.
	Segments []Segment `json:"segments,omitempty"`
}

// A Segment is the rows between two offsets of a partition of a topic. Some offsets may have
// no row: markers, aborted transactions, compacted records.
type Segment struct {
	Topic     string `json:"topic"`
	Partition int64  `json:"partition"`
	First     int64  `json:"first"` // offset
	End       int64  `json:"end"`   // offset after the last
	Rows      int64  `json:"rows"`
}

// Facts are those of the model.
type Facts struct {
	Digest   string      `json:"digest"`              // SHA-256 of the model file, 64 hexadecimal digits
	KL       float64     `json:"kl"`                  // KL(Q‖P), from [GaussianKL]
	KLAround float64     `json:"kl_around,omitempty"` // the same of [PredictorAround]; 0 unless a method needs it
	Accuracy float64     `json:"accuracy"`            // τ: largest distance of a reader's prediction from the exact one, raw units of the target
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

// A JitterCheck is the verdict on the stored factor L. Holds says that its error is
// proven to be at most Limit; then L·Lᵀ − K_ZZ is positive semi-definite, and the KL is
// that of the theorem.
type JitterCheck struct {
	Limit float64 `json:"limit"`
	Holds bool    `json:"holds"`
}

// Declared is what the publisher says and nothing can check. No claim depends on it.
type Declared struct {
	Software string   `json:"software"`
	Attempt  Attempt  `json:"attempt"`
	Training Training `json:"training"`
}

// Training has what is needed, with job and rows, to train the same bytes of the model again.
type Training struct {
	// Machine names the processor's architecture and the instruction set that was used:
	// they decide how arithmetic rounds.
	Machine string `json:"machine"`
	// StoppedAfter is the number of steps after which the job's time limit was reached; 0
	// if there was no limit, or it was not reached.
	StoppedAfter int64 `json:"stopped_after,omitempty"`
	// Parent is the model with which training began, or nil.
	Parent *Parent `json:"parent,omitempty"`
}

// An Attempt counts the different jobs in the publisher's log up to this one.
type Attempt struct {
	OnTheseRows int64 `json:"on_these_rows"`
	InThisLog   int64 `json:"in_this_log"`
}

// About returns the claim about a predictor ("": predictions) for a headline: of those that are
// certified, else of all, the one with the least bound. Without any, it returns a void claim of 1.
func (c Certificate) About(predictor Predictor) Claim {
	predictor = cmp.Or(predictor, PredictorMean)
	claims := slices.DeleteFunc(slices.Clone(c.Claims), func(g Claim) bool { return g.Predictor != predictor })
	if len(claims) == 0 {
		return Claim{Predictor: predictor, Status: StatusVoid, Bound: 1}
	}
	uncertain := func(g Claim) int {
		if g.Status == StatusCertified {
			return 0
		}
		return 1
	}
	return slices.MinFunc(claims, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(uncertain(a), uncertain(b)), cmp.Compare(a.Bound, b.Bound))
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
