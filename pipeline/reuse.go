package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
)

// A Use of held-out rows shows something that depends on them.
type Use struct {
	Rows   Digest `json:"rows"`             // of their places in the sample and their targets
	Count  int64  `json:"count"`            // of the rows
	Groups int    `json:"groups,omitempty"` // it shows rows and misses of so many groups
	Curve  bool   `json:"curve,omitempty"`  // it shows a curve, after which no further use has a price
	Shown  Digest `json:"shown"`            // of the model; of a bound without a count also of its part of δ
}

// reuse records the use of the held-out rows for a model, and returns its price: the different uses of
// the same rows before it. It is called before anything is known of the number that will be shown.
func (j Job) reuse(s *Survey, model string, env Environment) (paid *certify.Looks, err error) {
	u := Use{Rows: s.held.digest(), Count: int64(s.held.count), Curve: j.Spends().Applies(certify.MethodCurve)} //nolint:gosec // a count of rows
	if u.Count == 0 {
		return nil, nil
	}
	shown := append([]byte("pacsgp/shown/2\x00"), model...)
	if !j.showsCount() { // a count implies its bounds at every δ; a bound alone discloses more at another δ
		shown = fmt.Appendf(shown, "\x00%v %v", j.Delta, j.Spends().Share(certify.MethodHoldout))
	}
	if j.Groups.given() {
		u.Groups = len(s.groups) + 1
		shown = fmt.Appendf(shown, "groups %q %v", j.Groups.Column, s.groups)
	}
	u.Shown = sha256.Sum256(shown)
	log, err := env.Log.Log()
	if err != nil {
		return nil, err
	}
	var uses []Use
	log.Uses, uses = upTo(log.Uses, u)
	for _, o := range uses[:len(uses)-1] {
		if o.Rows != u.Rows {
			continue
		}
		if paid == nil {
			paid = &certify.Looks{}
		}
		paid.Earlier = append(paid.Earlier, certify.GroupLooks(o.Count, max(1, o.Groups))...)
		paid.Ended = paid.Ended || o.Curve
	}
	if paid != nil && paid.Ended {
		env.Observer.notice("what follows from the held-out rows is void: an earlier job of this output has shown a curve of the same rows, after which no further use of them has a price (hint: add new rows)")
	}
	return paid, env.Log.PutLog(log)
}

// heldRows gathers the held-out rows of a pass, in any order of blocks. Other features leave them the
// same rows.
type heldRows struct {
	mu   sync.Mutex
	rows multiset
}

// add adds the rows of a block.
func (h *heldRows) add(roles Roles, b block) {
	if roles.holdout == nil {
		return
	}
	var rows multiset
	text := []byte("pacsgp/held-out/2\x00")
	for i, y := range b.columns[len(b.columns)-1] {
		ordinal := b.first + int64(i)
		if roles.holdout.has(ordinal) {
			place := binary.LittleEndian.AppendUint64(slices.Clip(text), uint64(ordinal)) //nolint:gosec // ordinals are not negative
			rows.addDigest(sha256.Sum256(binary.LittleEndian.AppendUint64(place, numberBits(y))))
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows.merge(rows)
}
