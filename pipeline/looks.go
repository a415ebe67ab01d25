package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
)

// A Look is one disclosure of a number that depends on hold-out rows.
type Look struct {
	// Family and Slot name a job among those that were declared together: numbers of
	// one sequence.
	Family Digest
	Slot   Slot
	Curve  bool   // it discloses a curve, which ends the looks at its rows
	Groups int    // it discloses rows and misses of so many groups
	Shown  Digest // of the answer: model and hold-out rows; of a bound without a count also its part of δ
	Sample int64  // rows of the sample, of all roles
	Held   HeldOut

	Trained []uint64 // digests of its other rows, as Marks
}

// A Slot is the place of a job in its family; zero: it is the only one.
type Slot struct{ Number int64 }

// HeldOut identifies hold-out rows by their values, whatever their files and names of columns.
type HeldOut struct {
	Rows   int64
	Marks  []uint64 // digests of rows, the same in any order of features, ascending: all or the lowest maxMarks
	Places []uint64 // places of rows, ascending: all or the maxMarks of lowest rank
}

// maxMarks bounds the size of a look in its log. Marks of lowest rank are the same sample wherever
// rows are the same: it misses an overlap of a five-hundredth with a probability of e⁻⁴.
const maxMarks = 2048

// Looks is the log of looks. It outlives the process and the output.
type Looks interface {
	// Look records a look, durably, unless the log has the same one ([Look.Same]). It returns the
	// looks before it. It is called before the number is known. An error that wraps
	// [ErrUncounted] leaves the look uncounted.
	Look(ctx context.Context, l Look) (earlier []Look, err error)
	// Noted returns all looks of the log, in their order.
	Noted(ctx context.Context) ([]Look, error)
}

// Same reports whether two looks are one: of the same slot, with the same answer.
func (l Look) Same(o Look) bool {
	return l.Family == o.Family && l.Slot == o.Slot && l.Shown == o.Shown
}

// ErrUncounted says that a log does not count a look. The certificate says so.
var ErrUncounted = errors.New("looks at the hold-out rows are not counted")

const noPrice = "the hold-out rows promise nothing: an earlier job looked at some of them and trained on others, and no price is known for that (hint: keep the key and add new rows behind the old ones, or leave out the method holdout)"

const looksEnded = "what follows from the hold-out rows is indicative: an earlier job has shown a curve of some of them, which ends the looks at them (hint: add new rows)"

// warnOfLooks warns before training if the hold-out bound will promise nothing. A repeated job pays
// what it paid the first time.
func warnOfLooks(ctx context.Context, job Job, s *Survey, env Environment) (warned bool, err error) {
	if s.held.Rows == 0 || env.Looks == nil {
		return false, nil
	}
	l, err := job.look(s, "")
	if err != nil {
		return false, err
	}
	noted, err := env.Looks.Noted(ctx)
	if err != nil {
		return false, err
	}
	if at := slices.IndexFunc(noted, func(o Look) bool { return o.Family == l.Family && o.Slot == l.Slot }); at >= 0 {
		noted = noted[:at]
	}
	switch paid := l.charge(noted, true); {
	case paid == nil:
	case paid.Swapped:
		env.Observer.notice(noPrice)
		return true, nil
	case paid.Ended:
		env.Observer.notice(looksEnded)
		return true, nil
	}
	return false, nil
}

// look records the look at the hold-out rows with a model, and returns its price.
func look(ctx context.Context, job Job, s *Survey, model string, env Environment, warned bool) (*certify.Looks, error) {
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
	if err != nil {
		return nil, err
	}
	paid := l.paid(earlier)
	switch {
	case paid == nil || warned:
	case paid.Swapped:
		env.Observer.notice(noPrice)
	case paid.Ended:
		env.Observer.notice(looksEnded)
	}
	return paid, nil
}

// look is the look of a job with the model of this digest.
func (j Job) look(s *Survey, model string) (Look, error) {
	identity, err := j.Digest()
	l := Look{Curve: j.Spends().Applies(certify.MethodCurve), Sample: s.Roles.Rows, Held: s.held.HeldOut, Trained: s.held.trained}
	name := ""
	if q := j.sequence; q != nil {
		l.Slot.Number, name = q.Number, q.Name
	}
	l.Family = family(identity, name)
	shown := append(append([]byte("pacsgp/shown/1\x00"), s.held.digest[:]...), model...)
	if !j.showsCount() { // a count implies its bounds at every δ; a bound alone discloses more at another δ
		shown = fmt.Appendf(shown, "\x00%v %v", j.Delta, j.Spends().Share(certify.MethodHoldout))
	}
	if l.Curve {
		shown = append(shown, "curve"...)
	}
	if j.Groups.given() {
		l.Groups = len(s.groups) + 1
		shown = fmt.Appendf(shown, "groups %q %v", j.Groups.Column, s.groups)
	}
	l.Shown = sha256.Sum256(shown)
	return l, err
}

// family is the digest of what was declared together: a job, or all numbers of a sequence.
func family(identity Digest, name string) Digest {
	return sha256.Sum256(append(append([]byte("pacsgp/family/1\x00"), identity[:]...), name...))
}

// paid is the price of a look. An answer that was disclosed before costs what it cost then, if
// that look spent no smaller part of δ than this one may.
func (l Look) paid(earlier []Look) *certify.Looks {
	fixed := !l.again(earlier)
	if at := shownAt(earlier, l.Shown); at < len(earlier) {
		if first := earlier[at]; first.Slot == (Slot{}) || fixed && first.Family == l.Family {
			earlier = earlier[:at]
		}
	}
	return l.charge(earlier, fixed)
}

// shownAt is the index of the first look with this answer, or the number of looks.
func shownAt(looks []Look, shown Digest) int {
	if at := slices.IndexFunc(looks, func(o Look) bool { return o.Shown == shown }); at >= 0 {
		return at
	}
	return len(looks)
}

// charge is the price of a look after earlier ones. A family's jobs were fixed before its first look:
// its slots do not pay for each other (fixed), unless one of them has a second answer, or features
// of the rows were recomputed since. Each answer is paid for once.
func (l Look) charge(earlier []Look, fixed bool) *certify.Looks {
	var all certify.Looks
	for i, o := range slices.Backward(earlier) {
		common := l.common(o)
		other := o.Family != l.Family
		fixed = fixed && (other || !common.changed)
		if common.some && (other || !fixed) && shownAt(earlier, o.Shown) == i {
			all.Earlier = append(all.Earlier, certify.GroupLooks(min(o.Held.Rows, l.Held.Rows), max(1, o.Groups))...)
			all.Swapped = all.Swapped || !common.kept
			all.Ended = all.Ended || o.Curve
		}
	}
	if all.Earlier == nil {
		return nil
	}
	slices.Reverse(all.Earlier)
	return &all
}

// again reports whether a slot of the look's family has two answers, with this look's: by another
// program, machine, time limit or sample.
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

// commonRows says which hold-out rows a look has in common with an earlier one.
type commonRows struct {
	some    bool // at least one
	kept    bool // all rows of the look, but for those that have come since
	changed bool // with other features
}

// common compares the hold-out rows of a look with those of an earlier one.
func (l Look) common(o Look) commonRows {
	equal, mine, others := l.Held.among(o.Held.Marks)
	if equal == mine {
		return commonRows{some: true, kept: true}
	}
	c := l.commonPlaces(o)
	switch {
	case l.trainedBy(o, 0.25):
		c.some, c.kept = true, false
	case !c.some: // at other places; a hundredth may be equal by chance
		c.some, c.kept = 100*equal > min(mine, others), !l.trainedBy(o, 0.01)
	}
	return c
}

// among counts the marks of h that are among other marks, with the numbers of both.
func (h HeldOut) among(other []uint64) (common, mine, others int) {
	a, b := bothWhole(h.Marks, other, func(mark uint64) uint64 { return mark })
	for _, m := range a {
		if _, found := slices.BinarySearch(b, m); found {
			common++
		}
	}
	return common, len(a), len(b)
}

// trainedBy reports whether o has trained on hold-out rows of l. Some equal train rows by chance, as
// they do among l's own: there must be more, by the given part and by five deviations.
func (l Look) trainedBy(o Look, part float64) bool {
	common, of, _ := l.Held.among(o.Trained)
	alike, own, _ := l.Held.among(l.Trained)
	n, chance := float64(of), float64(alike)/float64(max(own, 1))
	beyond := float64(common) - n*chance
	return common >= min(of, 3) && beyond > part*n && beyond > 5*math.Sqrt(n*chance*(1-chance))
}

// commonPlaces is common by the places of rows, which other features or another target do not change.
func (l Look) commonPlaces(o Look) (c commonRows) {
	mine, others := bothWhole(l.Held.Places, o.Held.Places, placeRank)
	then := map[uint64]uint64{}
	for _, p := range others {
		then[p>>placeBits] = p
	}
	var targets, features pairs
	absent, whole := 0, 0 // rows with missing values that were not held out then, and the others of the earlier sample
	c.kept = true
	for _, p := range mine {
		q, held := then[p>>placeBits]
		if held {
			targets.add(p>>halfBits, q>>halfBits)
			features.add(p, q)
		}
		switch {
		case p&absentFeatures == absentFeatures:
			if !held {
				absent++
			}
		case p>>placeBits < uint64(o.Sample): //nolint:gosec // a count of rows
			c.kept = c.kept && held
			whole++
		}
	}
	c.kept = c.kept && (absent == 0 || whole >= leastWhole && features.equal() == len(features))
	sameTargets := targets.alike()
	c.some = sameTargets || features.alike()
	c.kept = c.kept && len(targets) > 0 && max(targets.equal(), features.equal()) == len(targets)
	c.changed = sameTargets && 10*features.equal() < 9*len(features)
	return c
}

// pairs are short digests of the values of two looks at the same places.
type pairs [][2]uint64

func (p *pairs) add(a, b uint64) {
	*p = append(*p, [2]uint64{a & (1<<halfBits - 1), b & (1<<halfBits - 1)})
}

// equal is the number of equal pairs.
func (p pairs) equal() (n int) {
	for _, x := range p {
		if x[0] == x[1] {
			n++
		}
	}
	return n
}

// alike reports whether pairs are equal beyond chance: by nine tenths of those that chance leaves
// unequal, and by five deviations. Chance can be large: targets that are only 0 and 1 are often
// equal, and targets that are 0 every night are equal at half of the places of two days.
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

// bothWhole cuts two samples at the highest rank up to which both are complete.
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

// heldRows gathers the hold-out rows of a pass, and the marks of the others, in any order of blocks.
// Columns that tell units or groups apart are left out: with others the rows are still the same.
type heldRows struct {
	beside         int // columns that are left out, before the target
	mu             sync.Mutex
	rows           multiset // of their values, in the order of the columns
	marks, trained sketch
	places         []uint64
}

// heldFound are hold-out rows, the digest of their multiset, and marks of the others.
type heldFound struct {
	HeldOut

	digest  Digest
	trained []uint64
}

// A sketch keeps the lowest of many marks, at least maxMarks of them.
type sketch struct {
	marks []uint64
	full  bool // the first maxMarks are sorted, and higher marks are dropped
}

func (s *sketch) add(marks []uint64) {
	for _, m := range marks {
		if !s.full || m <= s.marks[maxMarks-1] {
			s.marks = append(s.marks, m)
		}
	}
	if len(s.marks) > 8*maxMarks {
		s.lowest()
	}
}

// lowest are the lowest maxMarks different marks, ascending.
func (s *sketch) lowest() []uint64 {
	slices.Sort(s.marks)
	s.marks = slices.Compact(s.marks)
	s.marks = s.marks[:min(len(s.marks), maxMarks)]
	s.full = len(s.marks) == maxMarks
	return s.marks
}

// add adds the rows of a block.
func (h *heldRows) add(roles Roles, b block) error {
	if roles.holdout == nil {
		return nil
	}
	var rows multiset
	var held, places, trained []uint64
	last := len(b.columns) - 1 - h.beside
	columns := slices.Concat(b.columns[:last], b.columns[last+h.beside:])
	all := rowMarks(columns)
	row := make([]float64, last+1)
	for i, mark := range all {
		ordinal := b.first + int64(i)
		if !roles.holdout.has(ordinal) {
			if !roles.out.has(ordinal) {
				trained = append(trained, mark)
			}
			continue
		}
		for c := range row {
			row[c] = columns[c][i]
		}
		rows.addDigest(valuesDigest(row))
		slices.Sort(row[:last]) // the order of the features changes no place
		ofTarget, ofFeatures := shortDigest(row[last:]), shortDigest(row[:last])
		ofFeatures >>= 64 - halfBits
		if slices.ContainsFunc(row[:last], math.IsNaN) {
			ofFeatures = absentFeatures
		}
		held = append(held, mark)
		places = append(places, uint64(ordinal)<<placeBits|ofTarget>>(64-halfBits)<<halfBits|ofFeatures) //nolint:gosec // ordinals are not negative
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows.merge(rows)
	h.marks.add(held)
	h.trained.add(trained)
	if h.places = append(h.places, places...); len(h.places) > 8*maxMarks {
		h.lowestPlaces()
	}
	return nil
}

// lowestPlaces keeps the places of lowest rank.
func (h *heldRows) lowestPlaces() {
	slices.SortFunc(h.places, byRank(placeRank))
	h.places = h.places[:min(len(h.places), maxMarks)]
}

// merge adds what other has gathered of other rows.
func (h *heldRows) merge(other *heldRows) {
	h.rows.merge(other.rows)
	h.marks.add(other.marks.lowest())
	h.trained.add(other.trained.lowest())
	h.places = append(h.places, other.places...)
	h.lowestPlaces()
}

// found returns the gathered rows.
func (h *heldRows) found() heldFound {
	h.lowestPlaces()
	slices.Sort(h.places)
	held := HeldOut{Rows: int64(h.rows.count), Marks: h.marks.lowest(), Places: h.places} //nolint:gosec // a count of rows
	return heldFound{held, h.rows.digest(), h.trained.lowest()}
}

// rowMarks are digests of rows by their values, the target last. They need not resist forged
// collisions: the log is its user's own.
func rowMarks(columns [][]float64) []uint64 {
	last := len(columns) - 1
	all := make([]uint64, len(columns[last]))
	for _, column := range columns[:last] {
		for i, v := range column {
			all[i] += fold(numberBits(v)^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
		}
	}
	for i, v := range columns[last] {
		all[i] = fold(fold(all[i]^0xa0761d6478bd642f, 0xe7037ed1a0b428db), numberBits(v)^0x8ebc6af09c88c6e3)
	}
	return all
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

// shortDigest is the first 64 bits of valuesDigest.
func shortDigest(values []float64) uint64 {
	sum := valuesDigest(values)
	return binary.LittleEndian.Uint64(sum[:])
}
