package certify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Format names the version of the certificate document.
const Format = "pacsgp-certificate/3"

// A GuaranteeID names a guarantee within its certificate.
type GuaranteeID string

// Identifiers of guarantees.
const (
	GuaranteeHoldout GuaranteeID = "holdout" // about the predictor, from rows kept apart
	GuaranteeCurve   GuaranteeID = "curve"   // the same, at every tolerance at once
	GuaranteeGroups  GuaranteeID = "groups"  // the same, of groups of rows
	GuaranteeMean    GuaranteeID = "mean-2b" // about the predictor, from the one about a draw
	GuaranteeDraw    GuaranteeID = "pb-full" // about a draw of Q
)

// A Predictor is what a guarantee is about.
type Predictor string

// The predictors.
const (
	PredictorDraw Predictor = "draw of Q"
	PredictorMean Predictor = "predictor"
	// PredictorConstant is the constant of the baseline, about which nothing is certified.
	PredictorConstant Predictor = "constant"
	// PredictorColumn is the column of the mean: its distances are added up, not its losses ([Mean]).
	PredictorColumn Predictor = "column"
)

// A Status says what a guarantee is worth.
type Status string

// The statuses.
const (
	StatusCertified   Status = "certified"   // the theorem applies and says something
	StatusConditional Status = "conditional" // certified on a condition of a hold-out or a column of the mean that no document can show
	StatusVacuous     Status = "vacuous"     // the theorem applies and says nothing
	StatusIndicative  Status = "indicative"  // an assumption of the theorem is broken
)

// A Certificate is the document. [Certify] makes it; all of it follows from
// [Evidence], and [Recompute] checks that it does. It holds no times, host
// names or paths: the same evidence gives the same bytes.
type Certificate struct {
	Format        string        `json:"format"`
	Guarantees    []Guarantee   `json:"guarantees"`
	Baseline      Baseline      `json:"baseline"`
	Dependence    Dependence    `json:"dependence"`
	Copies        Copies        `json:"duplicates"`
	Mean          *Mean         `json:"mean,omitempty"` // nil: the prior's mean function is a constant
	Accuracy      Accuracy      `json:"accuracy"`
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
	Declared      Declared      `json:"declared"`
}

// A Role is the use of the rows from which a guarantee is computed.
type Role string

// The roles.
const (
	RoleTrain   Role = "train"
	RoleHoldout Role = "holdout"
)

// A Guarantee is one theorem applied to one predictor. Numbers in nats are
// upper bounds; Bound and BoundPinsker are upper bounds on the expected loss of the
// predictor on a fresh row. Zero means that the method has no such number: a hold-out has no KL.
type Guarantee struct {
	ID              GuaranteeID `json:"id"`
	Predictor       Predictor   `json:"predictor"`
	Role            Role        `json:"role"` // of the rows
	Method          string      `json:"method"`
	Status          Status      `json:"status"`
	Headline        string      `json:"headline"` // one line, for decisions
	Statement       string      `json:"statement"`
	Loss            TargetLoss  `json:"loss"`
	Delta           float64     `json:"delta"`
	N               int64       `json:"n"`
	EmpiricalRisk   Risk        `json:"empirical_risk,omitzero"` // of a draw of Q on train rows, of the mean on hold-out rows, if losses are 0 or 1
	Unproven        int64       `json:"unproven"`                // train rows that are counted as a loss of 1
	KL              float64     `json:"kl,omitempty"`
	LnInverseWeight float64     `json:"ln_inverse_weight,omitempty"`
	LnXi            float64     `json:"ln_xi,omitempty"`
	LnInverseDelta  float64     `json:"ln_inverse_delta"`   // of the method's share of δ
	Exponent        float64     `json:"exponent,omitempty"` // (the four terms)/N
	Bound           float64     `json:"bound"`
	BoundPinsker    float64     `json:"bound_pinsker,omitempty"`
	Curve           *Curve      `json:"curve,omitempty"`  // of the guarantee about every tolerance
	Groups          *Groups     `json:"groups,omitempty"` // of the guarantee about groups of rows
}

// A Risk bounds an empirical risk from above: the exact sum of upper bounds on
// the losses, and their mean rounded up.
type Risk struct {
	Exact RiskSum `json:"exact"`
	Upper float64 `json:"upper"`
}

// A Lower bounds an empirical risk from below: the exact sum of lower bounds on
// the losses, and their mean rounded down.
type Lower struct {
	Exact RiskSum `json:"exact"`
	Lower float64 `json:"lower"`
}

// An Origin says which rows the constant of a [Baseline] was chosen on.
type Origin string

// The origins.
const (
	OriginReference Origin = "reference" // the reference rows
	OriginStart     Origin = "start"     // where there are none, the first rows by rank
)

// A Baseline is a yardstick: the formula of a hold-out, applied to a constant
// prediction on the train rows. A guarantee whose bound is not below Bound is
// vacuous. Bound errs downwards and claims nothing about fresh rows.
type Baseline struct {
	Constant      float64 `json:"constant"` // raw
	Origin        Origin  `json:"origin"`
	EmpiricalRisk Lower   `json:"empirical_risk"`
	Bound         float64 `json:"bound"`
	Statement     string  `json:"statement"`
}

// Accuracy is the largest allowed distance of a reader's prediction from the exact mean.
type Accuracy struct {
	Tau float64 `json:"tau"` // raw units of the target, > 0
}

// An AssumptionStatus says whether an assumption holds.
type AssumptionStatus string

// The statuses of an assumption.
const (
	AssumptionEnforced AssumptionStatus = "enforced" // true by construction
	AssumptionAssumed  AssumptionStatus = "assumed"  // not established; Diagnostic says what was looked at
	AssumptionBroken   AssumptionStatus = "broken"   // false: nothing is certified
)

// An Assumption is one condition of the theorem.
type Assumption struct {
	ID         AssumptionID     `json:"id"`
	Status     AssumptionStatus `json:"status"`
	Text       string           `json:"text"`
	Diagnostic string           `json:"diagnostic,omitempty"`
}

// A Ledger counts the rows of the sample by role. Bad rows have no role.
type Ledger struct {
	Unit      string      `json:"unit"` // what counts as one example: "row", or the words of Units
	Rows      int64       `json:"rows"`
	Reference int64       `json:"reference"`
	Train     int64       `json:"train"`
	Holdout   int64       `json:"holdout"`
	Copies    int64       `json:"duplicates"` // equal an earlier row and are left out
	Bad       int64       `json:"bad"`
	Outside   int64       `json:"outside,omitempty"` // the column of the mean was fitted on them
	Units     *UnitLedger `json:"units,omitempty"`   // nil: examples are rows
}

// A Sample names the rows by the digest of their values.
type Sample struct {
	Digest  string   `json:"digest"`  // SHA-256, 64 hexadecimal digits
	Targets string   `json:"targets"` // of the multiset of the target's values
	Shards  int64    `json:"shards"`
	Rows    int64    `json:"rows"`
	Columns []string `json:"columns"` // the features in model order, the column of the mean if there is one, those of units, the target

	// Segments are the shards of rows from a log, in order, as ranges of it. Replaying
	// the log shows whether the rows are there; without a replay they are the maker's
	// word.
	Segments []Segment `json:"segments,omitempty"`
}

// A Segment is the rows between two offsets of a partition of a topic. Some offsets may have
// no row: markers, aborted transactions, compacted records.
type Segment struct {
	Topic     string `json:"topic"`
	Partition int64  `json:"partition"`
	First     int64  `json:"first"` // offset
	End       int64  `json:"end"`   // offset behind the last
	Rows      int64  `json:"rows"`
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

// A Coordinate is one hyper-parameter and its value.
type Coordinate struct {
	Parameter
	Value float64 `json:"value"`
}

// Roles says how rows got their roles.
type Roles struct {
	Key  string `json:"key"`
	Last bool   `json:"last,omitempty"` // hold-out rows are the last ones
}

// An Optimiser has the seed of training.
type Optimiser struct {
	Seed uint64 `json:"seed,string"`
}

// A JitterCheck is the verdict on the stored factor L. Holds says that its error is
// proven to be at most Limit; then L·Lᵀ − K_ZZ is positive semi-definite, and the KL is
// that of the theorem.
type JitterCheck struct {
	Limit float64 `json:"limit"`
	Holds bool    `json:"holds"`
}

// Declared is the maker's word: nobody can derive it from model and rows. No guarantee
// depends on it, except for the meaning of the unit.
type Declared struct {
	Unit     string   `json:"unit,omitempty"` // the word for the target's unit, such as minutes
	Software string   `json:"software"`
	Attempt  Attempt  `json:"attempt"`
	Training Training `json:"training"`
}

// Training has what is needed, with configuration and rows, to train the same bytes of the
// model again.
type Training struct {
	// Machine names the processor's architecture and the instruction set that was used:
	// they decide how arithmetic rounds.
	Machine string `json:"machine"`
	// Hurried is the number of steps after which the job's time limit was reached; 0
	// if there was no limit, or it was not reached.
	Hurried int64 `json:"hurried_after,omitempty"`
	// Ancestor is the model with which training began, or nil.
	Ancestor *Ancestor `json:"ancestor,omitempty"`
}

// An Attempt counts the different jobs in the maker's log up to this one.
type Attempt struct {
	OnTheseRows int64 `json:"on_these_rows"`
	InThisLog   int64 `json:"in_this_log"`
}

// HeldOut returns the first guarantee from hold-out rows.
func (c Certificate) HeldOut() (Guarantee, bool) {
	i := slices.IndexFunc(c.Guarantees, func(g Guarantee) bool { return g.Role == RoleHoldout })
	if i < 0 {
		return Guarantee{}, false
	}
	return c.Guarantees[i], true
}

// About returns the guarantee about a predictor for a headline: of those that are certified, else of
// those that are conditional, else of all, that of the least bound. Without any, it returns a vacuous guarantee that says so.
func (c Certificate) About(predictor Predictor) Guarantee {
	return c.least(predictor, func(s Status) int {
		switch s {
		case StatusCertified:
			return 0
		case StatusConditional:
			return 1
		default:
			return 2
		}
	})
}

// Best is [Certificate.About] for a reader who trusts the maker's word: certified and conditional count alike.
func (c Certificate) Best(predictor Predictor) Guarantee {
	return c.least(predictor, func(s Status) int {
		if s.Promises() {
			return 0
		}
		return 1
	})
}

// least returns the guarantee of the least rank about a predictor, and of these that of the least bound.
func (c Certificate) least(predictor Predictor, rank func(Status) int) Guarantee {
	best := Guarantee{Predictor: predictor, Status: StatusVacuous, Bound: 1, Headline: "nothing is said about the " + string(predictor)}
	for _, g := range c.Guarantees {
		if g.Predictor != predictor {
			continue
		}
		if order := cmp.Compare(rank(g.Status), rank(best.Status)); best.ID == "" || order < 0 || order == 0 && g.Bound < best.Bound {
			best = g
		}
	}
	return best
}

// Promises reports whether a guarantee of this status promises something, perhaps on a condition.
func (s Status) Promises() bool { return s == StatusCertified || s == StatusConditional }

// Conditional returns the guarantees that hold on a condition.
func (c Certificate) Conditional() []Guarantee {
	var open []Guarantee
	for _, g := range c.Guarantees {
		if g.Status == StatusConditional {
			open = append(open, g)
		}
	}
	return open
}

// DefaultRolesKey is the key of a job that names none.
const DefaultRolesKey = "pacsgp"

// SplitChosen reports whether the key of the roles may have been chosen for easy hold-out rows: it
// is neither the default nor the key of an earlier window of the same topic. The key of an earlier
// number over files does not count: files may repeat rows that were known when it was chosen.
func (c Certificate) SplitChosen() bool {
	return !c.Roles.Last && c.Roles.Key != DefaultRolesKey && (c.Delta.Sequence == nil || c.Delta.Sequence.Number == 1 || len(c.Sample.Segments) == 0)
}

// Split says which rows are hold-out rows; "": there are none.
func (c Certificate) Split() string {
	if c.Ledger.Holdout == 0 {
		return ""
	}
	key := "the default key " + quoted(c.Roles.Key)
	switch {
	case c.Roles.Key == DefaultRolesKey:
	case c.SplitChosen():
		key = "the key " + quoted(c.Roles.Key) + ", which its maker chose,"
	default:
		key = "the key " + quoted(c.Roles.Key) + ", fixed with its sequence,"
	}
	how := "by " + key + " and the order of the rows"
	switch {
	case c.Roles.Last:
		how = "the last ones in the order of the rows"
	case c.Ledger.Units != nil:
		how = fmt.Sprintf("in %s, by %s and their units", c.Ledger.Units.Counted(c.Ledger.Units.Holdout), key)
	}
	return fmt.Sprintf("Hold-out rows: %d of %s, %s.", c.Ledger.Holdout, Count(c.Ledger.Rows, "row"), how) + c.Delta.Looks.told()
}

// Guarantee returns the guarantee with the identifier.
func (c Certificate) Guarantee(id GuaranteeID) (Guarantee, bool) {
	for _, g := range c.Guarantees {
		if g.ID == id {
			return g, true
		}
	}
	return Guarantee{}, false
}
