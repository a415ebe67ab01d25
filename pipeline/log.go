package pipeline

import (
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// A Log says what was tried in an output, in its order.
type Log struct {
	Attempts []Attempt `json:"attempts"`
	Uses     []Use     `json:"uses,omitempty"` // of held-out rows
}

// Logs keeps the log of an output. Whoever holds the output may change it.
type Logs interface {
	// Log returns the log, empty if there is none. Damage is an error.
	Log() (Log, error)
	// PutLog replaces the log, durably.
	PutLog(l Log) error
}

// An Attempt is a job on rows. The same job on the same rows, run again or
// resumed, is the same attempt.
type Attempt struct {
	Targets       Digest `json:"targets"`       // of the multiset of the target's values: what attempts are counted under
	Sample        Digest `json:"sample"`        // of the rows, in their order and row groups
	Configuration Digest `json:"configuration"` // of the job
}

// record adds an attempt to a log, unless it is there, and counts the attempts up to it.
func (a Attempt) record(in Logs) (n certify.Attempt, err error) {
	log, err := in.Log()
	if err != nil {
		return n, err
	}
	var all []Attempt
	log.Attempts, all = upTo(log.Attempts, a)
	for _, o := range all {
		n.InThisLog++
		if o.Targets == a.Targets {
			n.OnTheseRows++
		}
	}
	return n, in.PutLog(log)
}

// upTo adds an entry to a list, unless it is there, and returns the entries up to it.
func upTo[E comparable](list []E, entry E) (all, to []E) {
	at := slices.Index(list, entry)
	if at < 0 {
		at, list = len(list), append(list, entry)
	}
	return list, list[:at+1]
}
