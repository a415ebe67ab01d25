package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
)

// A Look is one disclosure of a number that depends on hold-out rows.
type Look struct {
	Job         Digest // the identity of the job
	Alternative int64  // of its sweep, from 1 on
	Hurried     int64  // steps of training before its time limit; 0: it was not reached
	Sequence    bool   // the job makes one certificate after another
	Sample      Digest
	Targets     Digest  // of the sample
	Share       float64 // of the rows, that are held out
	Held        HeldOut
}

// Equal reports whether two looks have the same answer: the same training of the same job on the same rows.
func (l Look) Equal(o Look) bool {
	return l.Job == o.Job && l.Alternative == o.Alternative && l.Hurried == o.Hurried && l.Sample == o.Sample && l.Held.sameTargets(o.Held)
}

// HeldOut names hold-out rows by their values, whatever their order, files and columns' names.
type HeldOut struct {
	Rows    int64
	Targets Digest   // of the multiset of their targets
	Marks   []uint64 // digests of rows, ascending: all of them or the lowest maxMarks
}

func (h HeldOut) sameTargets(o HeldOut) bool { return h.Rows == o.Rows && h.Targets == o.Targets }

// maxMarks bounds what a look takes in its log. Of more rows the lowest marks are a sample
// that is the same for equal rows: an overlap of a thousandth is missed with a chance of e⁻⁴.
const maxMarks = 4096

// Looks is the log of looks. It outlives the process and the output.
type Looks interface {
	// Look notes a look, durably, and returns those that the log had before it was first
	// noted. It is called before the number is known.
	Look(ctx context.Context, l Look) (earlier []Look, err error)
}

// look notes that the hold-out rows are looked at, and says what that costs.
func look(ctx context.Context, job Job, s *Survey, hurried int, log Looks) (*certify.Looks, error) {
	if s.held.Rows == 0 {
		return nil, nil
	}
	if log == nil {
		return &certify.Looks{Uncounted: true}, nil
	}
	identity, err := job.Identity()
	if err != nil {
		return nil, err
	}
	l := Look{
		Job: identity, Alternative: job.Spends().Alternative, Hurried: int64(hurried), Sequence: job.DeltaPolicy != "",
		Sample: s.Digest, Targets: s.Targets, Share: job.ForRows(s.Roles.Rows).Roles.Holdout, Held: s.held,
	}
	earlier, err := log.Look(ctx, l)
	return l.paid(earlier), err
}

// paid is what a look has to pay for. Alternatives that were declared together are no looks at each
// other, nor are the numbers of one sequence, whose job is fixed: unless this alternative was
// tried before on the same targets, with other features, in other row groups, or for another time.
func (l Look) paid(earlier []Look) *certify.Looks {
	again := slices.ContainsFunc(earlier, func(o Look) bool {
		return o.Job == l.Job && o.Alternative == l.Alternative && o.Targets == l.Targets
	})
	var all certify.Looks
	for _, o := range earlier {
		same := o.Targets == l.Targets && o.Held.Targets == l.Held.Targets
		if o.Job == l.Job && (same && !again || l.Sequence && o.Targets != l.Targets) {
			continue
		}
		meets, within, around := l.Held.meets(o.Held)
		if !meets && o.Targets == l.Targets { // the same rows, of which other columns are used
			meets, within, around = true, same, false
		}
		if meets {
			all.Earlier = append(all.Earlier, min(o.Held.Rows, l.Held.Rows))
			// Rows that are held out now and were not then were trained on, unless they came since.
			all.Swapped = all.Swapped || !within && !(around && o.Share >= l.Share && o.Targets != l.Targets)
		}
	}
	if all.Earlier == nil {
		return nil
	}
	return &all
}

// meets reports whether two sets of hold-out rows have rows in common, but for a hundredth that may
// be equal by chance, and whether h is within o or around it.
func (h HeldOut) meets(o HeldOut) (meets, within, around bool) {
	if h.sameTargets(o) {
		return true, true, true
	}
	mine, others := h.Marks, o.Marks
	for _, whole := range []*[]uint64{&mine, &others} { // up to where both are complete
		if n := len(*whole); n == maxMarks {
			last := (*whole)[n-1]
			mine, others = upTo(mine, last), upTo(others, last)
		}
	}
	common := 0
	for _, m := range mine {
		if _, found := slices.BinarySearch(others, m); found {
			common++
		}
	}
	return 100*common > min(len(mine), len(others)), common == len(mine), common == len(others)
}

// upTo are the marks up to the last.
func upTo(marks []uint64, last uint64) []uint64 {
	at, found := slices.BinarySearch(marks, last)
	if found {
		at++
	}
	return marks[:at]
}

// heldRows gathers the hold-out rows of a pass, whatever the order of its blocks.
type heldRows struct {
	mu      sync.Mutex
	targets multiset
	marks   []uint64
}

// add adds the hold-out rows of a block.
func (h *heldRows) add(roles Roles, b block) error {
	var targets []float64
	var marks []uint64
	last := len(b.columns) - 1
	err := roles.heldOut(b, func(i int) error {
		row := make([]float64, last)
		for c := range row {
			row[c] = b.columns[c][i]
		}
		targets, marks = append(targets, b.columns[last][i]), append(marks, rowMark(row, b.columns[last][i]))
		return nil
	})
	if err != nil || len(marks) == 0 {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.targets.add(targets)
	if h.marks = append(h.marks, marks...); len(h.marks) > 4*maxMarks {
		h.lowest()
	}
	return nil
}

// lowest keeps the lowest marks.
func (h *heldRows) lowest() {
	slices.Sort(h.marks)
	h.marks = slices.Compact(h.marks)
	h.marks = h.marks[:min(len(h.marks), maxMarks)]
}

// found are the rows.
func (h *heldRows) found() HeldOut {
	h.lowest()
	return HeldOut{Rows: int64(h.targets.count), Targets: h.targets.digest(), Marks: h.marks} //nolint:gosec // a count of rows
}

// rowMark is a digest of a row that the order of its features does not change. It sorts them.
func rowMark(features []float64, target float64) uint64 {
	slices.Sort(features)
	var text bytes.Buffer
	text.WriteString("pacsgp/held-out/1\x00")
	for _, v := range append(features, target) {
		if v == 0 {
			v = 0 // not -0
		}
		text.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
	}
	sum := sha256.Sum256(text.Bytes())
	return binary.LittleEndian.Uint64(sum[:])
}
