package certify

import (
	"errors"
	"fmt"
	"slices"
)

// An AssumptionID names an assumption.
type AssumptionID string

// Identifiers of the assumptions that certificates name. [Evidence] states the
// first six; [Certify] derives the others from its numbers.
const (
	AssumeIndependentRows AssumptionID = "independent-rows"
	// AssumeIndependentUnits stands in its place where examples are units.
	AssumeIndependentUnits AssumptionID = "independent-units"
	AssumePriorFirst       AssumptionID = "prior-before-rows"
	AssumeLossFirst        AssumptionID = "loss-before-rows"
	AssumeRolesByKey       AssumptionID = "roles-by-key"
	AssumeSeparatePass     AssumptionID = "separate-last-pass"
	AssumeLossProven       AssumptionID = "losses-proven"
	AssumeJitter           AssumptionID = "jitter"
	AssumeGridWeights      AssumptionID = "grid-weights"
	AssumeOneAttempt       AssumptionID = "one-attempt"
	AssumeHoldoutUnseen    AssumptionID = "holdout-unseen"        // of certificates with hold-out rows
	AssumeHoldoutFixed     AssumptionID = "holdout-fixed"         // of the same
	AssumeMeanFixed        AssumptionID = "mean-fixed"            // of certificates with a column for the mean
	AssumeEqualRows        AssumptionID = "equal-rows-are-copies" // of certificates that left some out
)

// A standardAssumption is the text of an assumption, and the statuses that it may
// have.
type standardAssumption struct {
	id       AssumptionID
	text     string
	derived  bool // Certify derives it from numbers
	enforced bool // a program can enforce it
}

// standardAssumptions returns them in the order of the document.
func standardAssumptions(units bool) []standardAssumption {
	all := []standardAssumption{
		{id: AssumeIndependentRows, text: "The certified rows and the fresh row are independent draws from one distribution. No program can establish this from the rows."},
		{id: AssumePriorFirst, enforced: true, text: "The prior (kernel family, choice of features, scaling, grid and weights of the hyper-parameters) follows from declarations, from names and types of columns, and from reference rows: this is enforced. That nobody looked at the certified rows before declaring it is not; one-attempt assumes it."},
		{id: AssumeLossFirst, enforced: true, text: "The loss, its tolerance and delta follow from declarations and reference rows: this is enforced. That nobody looked at the certified rows before declaring them is not; one-attempt assumes it."},
		{id: AssumeRolesByKey, enforced: true, text: "Each row has one role, which follows from its ordinal and from declarations; bad rows and copies are left out by their values."},
		{id: AssumeSeparatePass, enforced: true, text: "The empirical risk was computed in a separate pass over exactly the rows of the sample, with the model as read back from its file; the digests of both readings agree."},
		{id: AssumeLossProven, enforced: true, text: "Each certified row has a proven upper bound on its loss (on train rows the expected loss of a draw, on hold-out rows the loss of the mean), for the stored numbers in exact arithmetic; a row without one counts as a loss of 1. Tolerances leave room for predictions that are off by the stated accuracy."},
		{id: AssumeJitter, derived: true, text: "With the stored factor L, L L' - K_ZZ is positive semi-definite, so that the KL of the stored numbers is the KL of the theorem."},
		{id: AssumeGridWeights, derived: true, text: "The kernel is of a declared family, and the hyper-parameters are values of the declared grids; the weights of all choices together add up to at most 1."},
		{id: AssumeOneAttempt, derived: true, text: "The job (files, features, kernel, grid, declared constants, loss, tolerance, delta, key, methods, share of hold-out rows) was declared without a look at the certified rows, and not chosen among several after their results were seen. Where there are hold-out rows, neither were the seed and the settings of training, nor the time at which it ended."},
		{id: AssumeHoldoutUnseen, derived: true, text: "Training did not see the hold-out rows. A model does not tell what it was trained on: who doubts it trains again, without these rows, and compares the bytes."},
		{id: AssumeHoldoutFixed, derived: true, text: "Which rows are hold-out rows (by key, share, selection and order of the rows) was fixed before their values were known. No file tells: who doubts it audits, under a key of his own."},
		{id: AssumeMeanFixed, derived: true, text: "The prior's mean function, a column of the rows, is a function of the features that was fixed without the rows that certify. Predictions of a model that was fitted on them are none, nor are out-of-fold predictions, each of which has seen the others. No column tells how it was made."},
		{id: AssumeEqualRows, derived: true, text: "Rows that are equal in every used column are one draw, which a join or a repeated delivery multiplied after it was drawn. The first counts, and the others were left out. No program can tell copies from separate draws; those among the rows of an earlier model that training began with are not looked for."},
	}
	if units {
		all[0].id = AssumeIndependentUnits
		all[0].text = "The certified units and the fresh unit, each with all its rows, are independent draws from one distribution, whatever labels or numbers tell them apart. Rows of one unit may depend on each other. No program can establish this from the rows."
		all[3].text = "Each row has the role of its unit, which follows from the unit's label or number and from declarations; bad rows are left out by their values."
	}
	return all
}

// completeAssumptions returns given and derived assumptions with their standard texts, in the
// order of the document. Unknown, missing and repeated ones are errors.
func completeAssumptions(given []Assumption, derived map[AssumptionID]Assumption, units bool) ([]Assumption, error) {
	var faults []error
	byID := make(map[AssumptionID]Assumption, len(given))
	for _, a := range given {
		if _, twice := byID[a.ID]; twice {
			faults = append(faults, fmt.Errorf("assumption %q is stated twice", a.ID))
		}
		byID[a.ID] = a
	}
	var all []Assumption
	for _, s := range standardAssumptions(units) {
		a, stated := byID[s.id]
		if _, applies := derived[s.id]; s.derived && !applies && !stated {
			continue
		}
		switch {
		case s.derived && stated:
			faults = append(faults, fmt.Errorf("assumption %q follows from numbers; it is not to be stated", s.id))
		case s.derived:
			a = derived[s.id]
		case !stated:
			faults = append(faults, fmt.Errorf("assumption %q is not stated: is it enforced, assumed or broken?", s.id))
		case a.Status == AssumptionEnforced && !s.enforced:
			faults = append(faults, fmt.Errorf("assumption %q cannot be enforced", s.id))
		case a.Text != "" && a.Text != s.text:
			faults = append(faults, fmt.Errorf("assumption %q has a text of its own, %q", s.id, a.Text))
		}
		a.ID, a.Text = s.id, s.text
		all = append(all, a)
		delete(byID, s.id)
	}
	for _, a := range given {
		if _, further := byID[a.ID]; further {
			faults = append(faults, fmt.Errorf("assumption %.100q is unknown", a.ID))
		}
	}
	for _, a := range all {
		faults = append(faults, a.validate())
	}
	return all, errors.Join(faults...)
}

// brokenOnes names the broken assumptions, for a sentence.
func brokenOnes(assumptions []Assumption) []string {
	var ids []string
	for _, a := range assumptions {
		if a.Status == AssumptionBroken {
			ids = append(ids, "the assumption "+string(a.ID))
		}
	}
	return ids
}

func broken(assumptions []Assumption) bool {
	return slices.ContainsFunc(assumptions, func(a Assumption) bool { return a.Status == AssumptionBroken })
}

// validate reports an unknown status and missing words.
func (a Assumption) validate() error {
	switch a.Status {
	case AssumptionEnforced, AssumptionAssumed:
	case AssumptionBroken:
		if a.Diagnostic == "" {
			return fmt.Errorf("assumption %q is broken: its diagnostic must say how", a.ID)
		}
	default:
		return fmt.Errorf("assumption %q has the status %q, want enforced, assumed or broken", a.ID, a.Status)
	}
	if a.ID == "" || a.Text == "" {
		return fmt.Errorf("assumption %q has no identifier or no text", a.ID)
	}
	if a.Diagnostic != "" {
		return word("assumption's diagnostic", a.Diagnostic, maxDiagnostic)
	}
	return nil
}

// maxDiagnostic bounds the length of a diagnostic, in characters.
const maxDiagnostic = 2000
