package certify

// A method turns the losses of one predictor on the rows of one role into
// guarantees, within its share of δ. A new one is a file beside pacbayes.go and
// holdout.go, and a line in methods.
type method struct {
	id    MethodID
	needs TallyKey
	// guarantees applies the method. Baseline, status and words are filled in by
	// [Certify].
	guarantees func(ev Evidence, t Tally, share Share) ([]Guarantee, error)
}

// A MethodID names a method, as a job does.
type MethodID string

// The methods.
const (
	MethodPACBayes MethodID = "pac-bayes"
	MethodHoldout  MethodID = "holdout"
)

// methods are all methods, in the order of the document.
func methods() []method {
	return []method{pacBayes(), holdout()}
}

// Methods returns the identifiers of all methods.
func Methods() []MethodID {
	var ids []MethodID
	for _, m := range methods() {
		ids = append(ids, m.id)
	}
	return ids
}

func methodByID(id MethodID) (method, bool) {
	for _, m := range methods() {
		if m.id == id {
			return m, true
		}
	}
	return method{}, false
}

// applies reports whether a method is one of the certificate's.
func (d Delta) applies(id MethodID) bool {
	for _, m := range d.Methods {
		if m.ID == id {
			return true
		}
	}
	return false
}

// Needs are the keys of the tallies that the certificate's methods need, in the order of
// [Methods].
func (d Delta) Needs() []TallyKey {
	var all []TallyKey
	for _, m := range methods() {
		if d.applies(m.id) {
			all = append(all, m.needs)
		}
	}
	return all
}
