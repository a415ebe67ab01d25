package certify

import "slices"

// A method derives claims from the losses of one predictor on the rows of one subset, within its share of δ. To
// add one, write a function such as [holdout] and list it in [methods].
type method struct {
	id    MethodID
	needs LossKey
	with  MethodID // the method whose part of δ it shares, because both hold on one event; empty if it has its own
	// claims applies the method to the loss sum that it needs. What the first claim shows of the losses goes
	// into the document for all of them. [Certify] fills in baseline and status.
	claims func(ev Evidence, needs LossKey, share Share) ([]Claim, error)
}

// weight returns the weight of the method when δ is divided. A bound from training rows pays thousands of nats for
// the KL, so that a tenth of δ costs it little more (ln 10 nats); a bound from held-out rows pays for δ alone.
func (m method) weight() int64 {
	switch {
	case m.with != "":
		return 0
	case m.needs.Subset == SubsetHoldout:
		return 9
	}
	return 1
}

// A MethodID names a method, in jobs and certificates.
type MethodID string

// The methods.
const (
	MethodPACBayes MethodID = "pac-bayes"
	MethodHoldout  MethodID = "holdout"
	MethodCurve    MethodID = "curve"
	MethodGroups   MethodID = "groups"
	MethodMean     MethodID = "pac-bayes-mean"
)

// methods are all methods, in the order of the document.
func methods() []method {
	return []method{pacBayes(), holdout(), curve(), groups(), pacBayesMean()}
}

// Methods returns the identifiers of all methods.
func Methods() []MethodID {
	var ids []MethodID
	for _, m := range methods() {
		ids = append(ids, m.id)
	}
	return ids
}

// methodByID returns the method with an identifier; false if there is none.
func methodByID(id MethodID) (method, bool) {
	for _, m := range methods() {
		if m.id == id {
			return m, true
		}
	}
	return method{}, false
}

// applied returns the methods of the certificate, in the order of the document.
func (d Delta) applied() []method {
	return slices.DeleteFunc(methods(), func(m method) bool {
		return !d.Applies(m.id)
	})
}

// needs returns the keys of the loss sums that the certificate's methods need, each once.
func (d Delta) needs() (all []LossKey) {
	for _, m := range d.applied() {
		if !slices.Contains(all, m.needs) {
			all = append(all, m.needs)
		}
	}
	return all
}

// Applies reports whether the certificate applies a method.
func (d Delta) Applies(id MethodID) bool { return slices.Contains(d.Methods, id) }

// Uses reports whether a method of the certificate needs the rows of a subset.
func (d Delta) Uses(subset Subset) bool {
	return slices.ContainsFunc(d.needs(), func(key LossKey) bool { return key.Subset == subset })
}
