package certify

import (
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
	GuaranteeHoldout GuaranteeID = "holdout" // about the mean of Q, from rows kept apart
	GuaranteeCurve   GuaranteeID = "curve"   // the same, at every tolerance at once
	GuaranteeMean    GuaranteeID = "mean-2b" // about the mean of Q, from the one about a draw
	GuaranteeDraw    GuaranteeID = "pb-full" // about a draw of Q
)

// A Predictor is what a guarantee is about.
type Predictor string

// The predictors.
const (
	PredictorDraw Predictor = "draw of Q"
	PredictorMean Predictor = "mean of Q"
	// PredictorConstant is the constant of the baseline, about which nothing is certified.
	PredictorConstant Predictor = "constant"
	// PredictorColumn is the column of the mean: not its losses are added up, but its distances ([Mean]).
	PredictorColumn Predictor = "column"
)

// A Status says what a guarantee is worth.
type Status string

// The statuses.
const (
	StatusCertified   Status = "certified"   // the theorem applies and says something
	StatusConditional Status = "conditional" // certified, if what a hold-out or a column of the mean rests on is true: no document can show it
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
	Copies        Copies        `json:"copies"`
	Findings      *Findings     `json:"findings,omitempty"` // nil: nothing suspicious
	Mean          *Mean         `json:"mean,omitempty"`     // nil: the prior's mean function is a constant
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

	document []byte // as it was read, of an earlier format
}

// A Role is what the rows are for that a guarantee is computed from.
type Role string

// The roles.
const (
	RoleTrain   Role = "train"
	RoleHoldout Role = "holdout"
)

// A Guarantee is one theorem applied to one predictor. Numbers in nats are
// upper bounds; Bound and BoundPinsker are upper bounds on the expected loss of the
// predictor on a fresh row. What a method does not use is 0: a hold-out has no KL.
type Guarantee struct {
	ID              GuaranteeID `json:"id"`
	Predictor       Predictor   `json:"predictor"`
	Role            Role        `json:"role"` // of the rows
	Method          string      `json:"method"`
	Status          Status      `json:"status"`
	Headline        string      `json:"headline"` // for the one who decides
	Statement       string      `json:"statement"`
	Loss            TargetLoss  `json:"loss"`
	Delta           float64     `json:"delta"`
	N               int64       `json:"n"`
	EmpiricalRisk   Risk        `json:"empirical_risk,omitzero"` // of a draw of Q on train rows, of the mean on hold-out rows, if losses are 0 or 1
	Unproven        int64       `json:"unproven"`                // train rows that are counted as a loss of 1
	KL              float64     `json:"kl,omitempty"`
	LnInverseWeight float64     `json:"ln_inverse_weight,omitempty"`
	LnXi            float64     `json:"ln_xi,omitempty"`
	LnInverseDelta  float64     `json:"ln_inverse_delta"`   // of the share of δ that is this certificate's
	Exponent        float64     `json:"exponent,omitempty"` // (the four terms)/N
	Bound           float64     `json:"bound"`
	BoundPinsker    float64     `json:"bound_pinsker,omitempty"`
	Curve           *Curve      `json:"curve,omitempty"` // of the guarantee about every tolerance
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

// A Baseline is a yardstick: the number that the formula gives for a constant
// prediction on the same rows. A guarantee whose bound is not below Bound is
// vacuous. It errs downwards and claims nothing about fresh rows.
type Baseline struct {
	Constant      float64 `json:"constant"` // raw
	Origin        Origin  `json:"origin"`
	EmpiricalRisk Lower   `json:"empirical_risk"`
	Bound         float64 `json:"bound"`
	Statement     string  `json:"statement"`
}

// A CopiesPolicy says what a job does with rows that equal an earlier one.
type CopiesPolicy string

// The policies.
const (
	CopiesLimited     CopiesPolicy = "limited"     // more copies than the limit end the job
	CopiesDropped     CopiesPolicy = "drop"        // later copies are neither trained nor certified on
	CopiesIndependent CopiesPolicy = "independent" // declared to be separate draws
)

// Copies counts rows that equal an earlier one: among all rows where copies are left out, else
// among reference and train rows.
type Copies struct {
	Policy   CopiesPolicy `json:"policy"`
	Limit    float64      `json:"limit"`              // share of the rows, for the policy limited
	Distinct int64        `json:"distinct"`           // rows that equal no earlier one
	Rows     int64        `json:"rows"`               // rows that equal an earlier one in all used columns
	Features int64        `json:"features"`           // rows that equal an earlier one in all features
	Frequent int64        `json:"frequent,omitempty"` // where roles follow from features, the most rows with the same ones
}

// Findings are what the first reference and train rows by rank show, and independent draws of
// one source hardly do.
type Findings struct {
	Rows       int64    `json:"rows"` // looked at
	NearCopies int64    `json:"near_copies,omitempty"`
	Ordered    []string `json:"ordered,omitempty"` // features, or the column of the mean, that rise or fall with the order of the rows
	Grids      []string `json:"grids,omitempty"`   // those that have each value of an even grid once
}

// NearCopies is how many near copies of so many rows are suspicious: a hundredth, and three.
func NearCopies(rows int64) int64 { return max(3, rows/100) }

// validate checks the findings against ledger and columns. Nothing suspicious is nil.
func (f *Findings) validate(rows int64, inputs []string) error {
	if f == nil {
		return nil
	}
	for _, names := range [][]string{f.Ordered, f.Grids} {
		rest := inputs
		for _, name := range names {
			at := slices.Index(rest, name)
			if at < 0 {
				return fmt.Errorf("the ordered columns %q or the grids %q are no features, nor the column of the mean, in their order", f.Ordered, f.Grids)
			}
			rest = rest[at+1:]
		}
	}
	if near := f.NearCopies; f.Rows < 1 || f.Rows > rows || near >= f.Rows || near != 0 && near < NearCopies(f.Rows) || near == 0 && len(f.Ordered)+len(f.Grids) == 0 {
		return fmt.Errorf("%d near copies of %d rows looked at, of %d, are no finding", near, f.Rows, rows)
	}
	return nil
}

// Accuracy says how exact a reader's predictions must be.
type Accuracy struct {
	Tau float64 `json:"tau"` // raw units of the target, > 0
}

// An AssumptionStatus says what is known of an assumption.
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
	Unit      string `json:"unit"` // what counts as one example: "row"
	Rows      int64  `json:"rows"`
	Reference int64  `json:"reference"`
	Train     int64  `json:"train"`
	Holdout   int64  `json:"holdout"`
	Copies    int64  `json:"copies"` // left out, because they equal an earlier row
	Bad       int64  `json:"bad"`
	Outside   int64  `json:"outside,omitempty"` // the column of the mean was fitted on them
}

// A Sample names the rows by the digest of their values.
type Sample struct {
	Digest  string   `json:"digest"`  // SHA-256, 64 hexadecimal digits
	Targets string   `json:"targets"` // of the multiset of the target's values
	Shards  int64    `json:"shards"`
	Rows    int64    `json:"rows"`
	Columns []string `json:"columns"` // the features in model order, the column of the mean if there is one, the target

	// Segments are the shards as ranges of a log, in order, where rows came from one:
	// who has the log can replay them. That the rows are there is checked by a
	// replay; against other copies of the rows it is the maker's word.
	Segments []Segment `json:"segments,omitempty"`
}

// A Segment is the rows between two offsets of a partition of a topic. Offsets of no
// row (markers, aborted transactions, what was compacted away) may lie between.
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
	Key       string  `json:"key"`
	ByContent bool    `json:"by_content,omitempty"` // from their features, rows of equal ones the same; else from their place
	Holdout   float64 `json:"holdout,omitempty"`    // by content: the share of all hashes that hold-out rows have
	Last      bool    `json:"last,omitempty"`       // hold-out rows are the last ones
}

// An Optimiser names what training depends on beside configuration and rows.
type Optimiser struct {
	Seed uint64 `json:"seed,string"`
}

// A JitterCheck holds the verdict on the stored factor L: if its error is proven
// to be at most Limit, L·Lᵀ − K_ZZ is positive semi-definite and the KL is that
// of the theorem.
type JitterCheck struct {
	Limit float64 `json:"limit"`
	Holds bool    `json:"holds"`
}

// Declared holds what nobody can read off model and rows: the word of whoever
// made the certificate. No guarantee depends on it, but for the meaning of the unit.
type Declared struct {
	Unit     string   `json:"unit,omitempty"` // the word for the target's unit, such as minutes
	Software string   `json:"software"`
	Attempt  Attempt  `json:"attempt"`
	Training Training `json:"training"`
	Scaling  []Scaled `json:"scaling,omitempty"` // constants that were declared, one a column
}

// Training holds what one has to know beside configuration and rows to train
// again, to the same bytes of the model.
type Training struct {
	// Machine names what decides how arithmetic rounds: the processor's architecture
	// and the instruction set that was used.
	Machine string `json:"machine"`
	// Hurried is the number of steps after which the job's time limit was reached; 0
	// if it was not, or there was none.
	Hurried int64 `json:"hurried_after,omitempty"`
	// Ancestor is the model that training began with; nil: with none.
	Ancestor *Ancestor `json:"ancestor,omitempty"`
}

// A Scaled is the declared scaling of a column.
type Scaled struct {
	Column string  `json:"column"`
	Centre float64 `json:"centre"`
	Scale  float64 `json:"scale"`
}

// An Attempt counts the different jobs that were tried up to this one, here.
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

// About returns what a headline says about a predictor: the guarantee of the least
// bound among those that are not [StatusConditional], or among all if there are no
// others. Where the certificate says nothing about a predictor, that is what it returns.
func (c Certificate) About(predictor Predictor) Guarantee {
	return c.least(predictor, func(s Status) bool { return s == StatusConditional })
}

// Best is [Certificate.About] for whoever takes its maker's word: the guarantee of the least
// bound, on whatever condition.
func (c Certificate) Best(predictor Predictor) Guarantee {
	return c.least(predictor, func(Status) bool { return false })
}

// least is the guarantee of the least bound about a predictor, one whose status is last only
// if there are no others.
func (c Certificate) least(predictor Predictor, last func(Status) bool) Guarantee {
	best := Guarantee{Predictor: predictor, Status: StatusVacuous, Bound: 1, Headline: "nothing is said about the " + string(predictor)}
	for _, g := range c.Guarantees {
		if g.Predictor != predictor {
			continue
		}
		open, openBest := last(g.Status), last(best.Status)
		if best.ID == "" || openBest && !open || openBest == open && g.Bound < best.Bound {
			best = g
		}
	}
	return best
}

// Promises reports whether a guarantee of this status promises something, if on a condition.
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

// SplitChosen reports whether the key of the roles may have been chosen for its easy rows: it
// is neither the default one nor that of an earlier window of the same topic. Files may have rows of
// earlier numbers of their sequence, which were known when its key was chosen.
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
	case c.Roles.ByContent:
		how = "by " + key + " and their features"
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
