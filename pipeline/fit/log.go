package fit

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A Log lists what was tried in an output, in order.
type Log struct {
	Attempts []Attempt `json:"attempts"`
	Uses     []Use     `json:"uses,omitempty"` // uses of held-out rows
	Most     int       `json:"-"`              // for a stream, the number of windows' entries of each list that are kept, the last ones; else zero
}

// Logs stores the log of an output. The caller of PutLog holds the output.
type Logs interface {
	// Log returns the log, which is empty if none is stored. A damaged log is an error.
	Log() (Log, error)
	// PutLog replaces the log, durably.
	PutLog(l Log) error
}

// An Attempt is a job on rows. The same job on the same rows, run again or resumed, is the same attempt.
type Attempt struct {
	Targets       job.Digest `json:"targets"`          // of the multiset of the target's values; attempts with the same one are counted together
	Sample        job.Digest `json:"dataset"`          // of the rows, in their order and row groups
	Configuration job.Digest `json:"configuration"`    // of the job
	Window        bool       `json:"window,omitempty"` // whether a stream made it
}

// attempt records the attempt of a job on the rows of its first pass, unless it is recorded, and returns the counts of
// attempts up to it. It warns if an earlier curve has shown the held-out rows.
func attempt(j job.Job, s *pass.FirstPass, env Environment) (n certify.Attempt, err error) {
	configuration, fault := j.Digest()
	log, err := env.Log.Log()
	if err = cmp.Or(fault, err); err != nil {
		return n, err
	}
	if paid := earlier(log.Uses, s.Held.Digests()); paid != nil && paid.Ended {
		env.Observer.ReportWarning("earlier jobs in this output have used these held-out rows up: they can certify no other model (hint: train on new rows, or use guarantees: [pac-bayes]; what was certified with these rows still holds)")
	}
	var all []Attempt
	log.Attempts, all = upTo(log.Attempts, Attempt{s.Targets, s.Digest, configuration, log.Most > 0}, log.Most, func(a Attempt) bool { return a.Window })
	for _, o := range all {
		if o.Targets == s.Targets {
			n.OnTheseRows++
		} else if log.Most > 0 {
			continue // which other windows a member had must not change a certificate
		}
		n.InThisLog++
	}
	return n, env.Log.PutLog(log)
}

// upTo adds an entry to a list, unless the list has it, and returns the whole list and the entries up to this one.
// Unless most is zero, the first entries of windows are dropped until there are at most this many with the new one.
func upTo[E comparable](list []E, entry E, most int, window func(E) bool) (all, to []E) {
	at := slices.Index(list, entry)
	if at < 0 {
		over := -most
		list = append(list, entry)
		for _, e := range list {
			if window(e) {
				over++
			}
		}
		list = slices.DeleteFunc(list, func(e E) bool {
			if most == 0 || over <= 0 || !window(e) {
				return false
			}
			over--
			return true
		})
		at = len(list) - 1
	}
	return list, list[:at+1]
}

// A Use is a published result that depends on held-out rows.
type Use struct {
	Rows   job.Digest `json:"rows,omitzero"`    // of the positions of the rows in the sample and their targets; zero in logs of older programs
	All    job.Digest `json:"digest"`           // of these and the left-out rows that would be held out
	Count  int64      `json:"n"`                // number of the rows
	Groups int        `json:"groups,omitempty"` // number of groups whose rows and misses the result shows
	Curve  bool       `json:"curve,omitempty"`  // whether the result shows a curve, after which no further use can be paid for
	Window bool       `json:"window,omitempty"` // whether a stream made it
	Shown  job.Digest `json:"shown"`            // of the model and the sample, and of its part of δ if the bound is shown without a count
}

// reuse records the use of the held-out rows for the model of a training state, and returns the different earlier uses of
// the same rows, by which the use is paid. It is called before the result that will be shown is computed.
func reuse(j job.Job, s *pass.FirstPass, h *pass.TrainingState, in Logs) (paid *certify.Reuse, err error) {
	rows := s.Held.Digests()
	u := Use{Rows: rows[0], All: rows[1], Count: s.Split.Holdout(), Curve: j.Spends().Applies(certify.MethodCurve)}
	if u.Count == 0 {
		return nil, nil
	}
	shown := fmt.Appendf(nil, "pacsgp/shown/3\x00%s%s", h.Model, s.Digest) // other features give other losses
	if !j.ShowsCount() {                                                   // a count implies its bounds at every δ; a bound alone discloses more at another δ
		shown = fmt.Appendf(shown, "\x00%v %v %d", j.Delta, j.Spends().Share(certify.MethodHoldout), cmp.Or(j.Numbering, &certify.Sequence{}).Number)
	}
	if j.Groups.Given() {
		u.Groups = len(h.Groups) + 1
		shown = fmt.Appendf(shown, "groups %q %v", j.Groups.Column, h.Groups)
	}
	u.Shown = sha256.Sum256(shown)
	log, err := in.Log()
	if err != nil {
		return nil, err
	}
	var uses []Use
	u.Window = log.Most > 0
	log.Uses, uses = upTo(log.Uses, u, log.Most, func(u Use) bool { return u.Window })
	return earlier(uses[:len(uses)-1], rows), in.PutLog(log)
}

// earlier returns what a use of rows ([pass.HeldOut]) has to pay for these uses before it; nil if none was of the same.
func earlier(uses []Use, rows [2]job.Digest) (paid *certify.Reuse) {
	for _, o := range uses {
		if o.Rows == rows[0] || o.All == rows[1] {
			paid = cmp.Or(paid, &certify.Reuse{})
			paid.Earlier = append(paid.Earlier, certify.GroupUses(o.Count, max(1, o.Groups))...)
			paid.Ended = paid.Ended || o.Curve || len(paid.Earlier) >= certify.MaxUses
			paid.Earlier = paid.Earlier[:min(len(paid.Earlier), certify.MaxUses-1)]
		}
	}
	return paid
}
