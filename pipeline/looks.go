package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
)

// A Look is one disclosure of a number that depends on hold-out rows.
type Look struct {
	// Family and Slot name a job among those that were declared together: alternatives of one
	// sweep, and numbers of one sequence.
	Family Digest
	Slot   Slot
	Shown  Digest // of model and hold-out rows, from which the number follows
	Sample int64  // rows of the sample, of all roles
	Held   HeldOut
}

// A Slot is the place of a job in its family.
type Slot struct{ Number, Alternative int64 }

// HeldOut names hold-out rows by their values, whatever their files and columns' names.
type HeldOut struct {
	Rows   int64
	Marks  []uint64 // digests of rows, whatever their order, ascending: all of them or the lowest maxMarks
	Places []uint64 // a place each, ascending: all of them or the maxMarks of lowest rank
}

// maxMarks bounds what a look takes in its log. Of more rows those of lowest rank are a sample
// that is the same for equal rows: an overlap of a five-hundredth is missed with a chance of e⁻⁴.
const maxMarks = 2048

// Looks is the log of looks. It outlives the process and the output.
type Looks interface {
	// Look notes a look, durably, unless the same was Shown before, and returns those that the
	// log had before it. It is called before the number is known. An error that wraps
	// [ErrUncounted] leaves the look uncounted.
	Look(ctx context.Context, l Look) (earlier []Look, err error)
}

// ErrUncounted says that a log does not count a look. The certificate says so.
var ErrUncounted = errors.New("looks at the hold-out rows are not counted")

// look notes that the hold-out rows are looked at with a model, and says what that costs.
func look(ctx context.Context, job Job, s *Survey, model string, env Environment) (*certify.Looks, error) {
	if s.held.Rows == 0 {
		return nil, nil
	}
	if env.Looks == nil {
		return &certify.Looks{Uncounted: true}, nil
	}
	l, err := job.look(s, model)
	if err != nil {
		return nil, err
	}
	earlier, err := env.Looks.Look(ctx, l)
	if errors.Is(err, ErrUncounted) {
		env.Observer.notice(err.Error())
		return &certify.Looks{Uncounted: true}, nil
	}
	paid := l.paid(earlier)
	if paid != nil && paid.Swapped {
		env.Observer.notice("the hold-out rows promise nothing: an earlier look at some of them trained on others, for which no price is known (hint: keep the key and let new rows come behind the old ones, or leave out the method holdout)")
	}
	return paid, err
}

// look is that of a job with the model of the digest.
func (j Job) look(s *Survey, model string) (Look, error) {
	identity, err := j.Identity()
	l := Look{Slot: Slot{Alternative: j.Spends().Alternative}, Sample: s.Roles.Rows, Held: s.held.HeldOut}
	family := append([]byte("pacsgp/family/1\x00"), identity[:]...)
	if q := j.sequence; q != nil {
		l.Slot.Number, family = q.Number, append(family, q.Name...)
	}
	l.Family = sha256.Sum256(family)
	l.Shown = sha256.Sum256(append(append([]byte("pacsgp/shown/1\x00"), s.held.digest[:]...), model...))
	return l, err
}

// paid is what a look has to pay for. A family's jobs were fixed before its first look, so that its
// slots do not pay for each other, unless one of them has had a second answer, or features of
// the rows were computed anew since.
func (l Look) paid(earlier []Look) *certify.Looks {
	fixed := !l.again(earlier)
	var all certify.Looks
	for _, o := range slices.Backward(earlier) {
		meets, kept, changed := l.meets(o)
		other := o.Family != l.Family
		fixed = fixed && (other || !changed)
		if meets && (other || !fixed) {
			all.Earlier = append(all.Earlier, min(o.Held.Rows, l.Held.Rows))
			all.Swapped = all.Swapped || !kept
		}
	}
	if all.Earlier == nil {
		return nil
	}
	slices.Reverse(all.Earlier)
	return &all
}

// again reports whether a slot of the look's family has had two answers, this one among them: by
// another program, on another machine, with another time limit or on other rows.
func (l Look) again(earlier []Look) bool {
	answers := map[Slot]Digest{l.Slot: l.Shown}
	for _, o := range earlier {
		if o.Family != l.Family {
			continue
		}
		if first, there := answers[o.Slot]; there && first != o.Shown {
			return true
		}
		answers[o.Slot] = o.Shown
	}
	return false
}

// meets reports whether two looks have hold-out rows in common; whether each row that l holds out
// was held out by o too, or came since; and whether common rows have other features.
func (l Look) meets(o Look) (meets, kept, changed bool) {
	mine, others := bothWhole(l.Held.Marks, o.Held.Marks, func(mark uint64) uint64 { return mark })
	common := 0
	for _, m := range mine {
		if _, found := slices.BinarySearch(others, m); found {
			common++
		}
	}
	if common == len(mine) {
		return true, true, false
	}
	same, kept, changed := l.meetsInPlace(o)
	return same || 100*common > min(len(mine), len(others)), kept, changed // a hundredth may be equal by chance
}

// meetsInPlace is meets for rows whose places stay, if other features are used, or another target.
func (l Look) meetsInPlace(o Look) (meets, kept, changed bool) {
	mine, others := bothWhole(l.Held.Places, o.Held.Places, placeRank)
	then := map[uint64]uint64{}
	for _, p := range others {
		then[p>>placeBits] = p
	}
	var targets, features pairs
	kept = true
	for _, p := range mine {
		q, held := then[p>>placeBits]
		if held {
			targets.add(p>>halfBits, q>>halfBits)
			features.add(p, q)
		}
		kept = kept && (held || p>>placeBits >= uint64(o.Sample)) //nolint:gosec // a count of rows
	}
	t, f := targets.alike(), features.alike()
	kept = kept && len(targets) > 0 && max(targets.equal(), features.equal()) == len(targets)
	return t || f, kept, t && 10*features.equal() < 9*len(features)
}

// pairs are short digests of two values that have the same place.
type pairs [][2]uint64

func (p *pairs) add(a, b uint64) {
	*p = append(*p, [2]uint64{a & (1<<halfBits - 1), b & (1<<halfBits - 1)})
}

// equal is how many pairs are equal.
func (p pairs) equal() (n int) {
	for _, x := range p {
		if x[0] == x[1] {
			n++
		}
	}
	return n
}

// alike reports whether pairs are equal beyond chance: nine tenths of those that chance, as among
// targets that are only 0 and 1, does not make equal, and five deviations. Targets that are 0 every
// night are equal in half of the places of two days.
func (p pairs) alike() bool {
	var counts [2]map[uint64]float64
	for side := range counts {
		counts[side] = map[uint64]float64{}
		for _, x := range p {
			counts[side][x[side]]++
		}
	}
	n, chance := float64(len(p)), 0.0
	for v, k := range counts[0] {
		chance += k * counts[1][v] / n
	}
	beyond := float64(p.equal()) - chance
	return 10*beyond >= 9*(n-chance) && beyond > 5*math.Sqrt(chance*(1-chance/n))
}

// bothWhole are those of two samples up to where both are complete, by rank.
func bothWhole(a, b []uint64, rank func(uint64) uint64) (mine, others []uint64) {
	last := uint64(math.MaxUint64)
	for _, all := range [][]uint64{a, b} {
		if len(all) == maxMarks {
			last = min(last, rank(slices.MaxFunc(all, byRank(rank))))
		}
	}
	beyond := func(m uint64) bool { return rank(m) > last }
	return slices.DeleteFunc(slices.Clone(a), beyond), slices.DeleteFunc(slices.Clone(b), beyond)
}

// A place is the ordinal of a row, then a short digest of its target, then one of its features.
const (
	halfBits  = 12
	placeBits = 2 * halfBits
)

// placeRank spreads ordinals over all 64-bit numbers.
func placeRank(place uint64) uint64 { return place >> placeBits * 0x9e3779b97f4a7c15 }

func byRank(rank func(uint64) uint64) func(a, b uint64) int {
	return func(a, b uint64) int { return cmp.Compare(rank(a), rank(b)) }
}

// heldRows gathers the hold-out rows of a pass, whatever the order of its blocks.
type heldRows struct {
	mu            sync.Mutex
	rows          multiset // of all their values, in the order of the columns
	marks, places []uint64
}

// heldFound are hold-out rows, and the digest of their multiset.
type heldFound struct {
	HeldOut

	digest Digest
}

// add adds the hold-out rows of a block.
func (h *heldRows) add(roles Roles, b block) error {
	var rows multiset
	var marks, places []uint64
	last := len(b.columns) - 1
	row := make([]float64, last+1)
	err := roles.heldOut(b, func(i int) error {
		for c := range row {
			row[c] = b.columns[c][i]
		}
		rows.addDigest(valuesDigest(row))
		slices.Sort(row[:last]) // the order of the features changes no mark
		ofTarget, ofFeatures := shortDigest(row[last:]), shortDigest(row[:last])
		marks = append(marks, shortDigest(row))
		places = append(places, uint64(b.first+int64(i))<<placeBits|ofTarget>>(64-halfBits)<<halfBits|ofFeatures>>(64-halfBits)) //nolint:gosec // ordinals are not negative
		return nil
	})
	if err != nil || len(marks) == 0 {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows.merge(rows)
	if h.marks, h.places = append(h.marks, marks...), append(h.places, places...); len(h.marks) > 8*maxMarks {
		h.lowest()
	}
	return nil
}

// lowest keeps marks and places of lowest rank.
func (h *heldRows) lowest() {
	slices.Sort(h.marks)
	h.marks = slices.Compact(h.marks)
	h.marks = h.marks[:min(len(h.marks), maxMarks)]
	slices.SortFunc(h.places, byRank(placeRank))
	h.places = h.places[:min(len(h.places), maxMarks)]
}

// found are the rows.
func (h *heldRows) found() heldFound {
	h.lowest()
	slices.Sort(h.places)
	return heldFound{HeldOut{Rows: int64(h.rows.count), Marks: h.marks, Places: h.places}, h.rows.digest()} //nolint:gosec // a count of rows
}

// valuesDigest is the SHA-256 of values of a hold-out row.
func valuesDigest(values []float64) [32]byte {
	text := []byte("pacsgp/held-out/1\x00")
	for _, v := range values {
		if v == 0 {
			v = 0 // not -0
		}
		text = binary.LittleEndian.AppendUint64(text, math.Float64bits(v))
	}
	return sha256.Sum256(text)
}

// shortDigest is the beginning of that.
func shortDigest(values []float64) uint64 {
	sum := valuesDigest(values)
	return binary.LittleEndian.Uint64(sum[:])
}
