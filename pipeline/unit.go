package pipeline

import (
	"cmp"
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
)

// A UnitDecl declares independent examples that are sets of rows. Each unit has one role, by a keyed
// hash, and its loss is the mean over its rows. The zero value makes each row an example.
type UnitDecl struct {
	Columns []string `json:"columns,omitempty"` // rows of one unit have equal values in them; they are no features
}

// unitHoldout is the share of hold-out units where the job names none: units are few.
const unitHoldout = 0.2

// maxUnits bounds the units of a sample, of which each takes memory.
const maxUnits = 1 << 18

func (d UnitDecl) given() bool { return len(d.Columns) > 0 }

// showsCount reports whether the hold-out guarantee shows a count of losses of 0 and 1.
func (j Job) showsCount() bool {
	return j.Loss.Kind.Counts() && !j.Unit.given()
}

// checkUnit finds faults of the units, and what does not go with them.
func (j Job) checkUnit(fault func(string, ...any)) {
	d := j.Unit
	if !d.given() {
		return
	}
	for i, name := range d.Columns {
		if err := certify.ColumnName(name); err != nil {
			fault("unit: %w", err)
		}
		if name == j.Target || slices.Contains(j.Features, name) || slices.Contains(d.Columns[:i], name) {
			fault("unit: %q is the target, a feature, or named twice: a fresh unit has a value that no model has seen", name)
		}
	}
	for _, other := range []struct {
		given bool
		words string
	}{
		{j.Mean.given(), "mean"},
		{j.Roles.Last, "roles.holdout last: roles follow from units"},
		{j.Copies.Policy == CopiesDropped, "duplicates: drop"},
		{j.Spends().Applies(certify.MethodCurve), "a curve (loss.tolerance any, or guarantees: " + string(certify.MethodCurve) + ")"},
	} {
		if other.given {
			fault("unit: it does not go with %s", other.words)
		}
	}
}

// unlabelled are the columns, of which the target is last, without those that tell units apart: rows
// that differ in these alone are copies.
func (j Job) unlabelled(columns []int) []int {
	last := len(columns) - 1
	return slices.Concat(columns[:last-len(j.Unit.Columns)], columns[last:])
}

// ledger returns the ledger of these units, without counts; nil: examples are rows.
func (d UnitDecl) ledger() *certify.UnitLedger {
	if !d.given() {
		return nil
	}
	return &certify.UnitLedger{Columns: d.Columns}
}

// counted are the units of a job with these counts.
func (d UnitDecl) counted(found *certify.UnitLedger) *certify.UnitLedger {
	l := d.ledger()
	if l == nil || found == nil {
		return nil
	}
	l.Reference, l.Train, l.Holdout, l.Largest = found.Reference, found.Train, found.Holdout, found.Largest
	return l
}

// A unitHasher computes the keyed hash of a row's unit, which identifies the unit: the first 8 bytes,
// big endian, of SHA-256("pacsgp/roles/unit/1" 0x00 ‖ key ‖ 0x00 ‖ the float64 bits of the values of
// its columns, 8 bytes each, little endian).
type unitHasher struct {
	columns []int // of blocks of rows
	text    []byte
	values  []byte // the end of text
	hash    uint64 // of text; 0: not known
}

// newUnitHasher is for rows of so many columns, of which the target is last.
func newUnitHasher(job Job, columns int) *unitHasher {
	h := &unitHasher{}
	for i := range job.Unit.Columns {
		h.columns = append(h.columns, columns-1-len(job.Unit.Columns)+i)
	}
	h.text = append([]byte("pacsgp/roles/unit/1\x00"+job.Roles.Key), 0)
	prefix := len(h.text)
	h.text = append(h.text, make([]byte, 8*len(h.columns))...)
	h.values = h.text[prefix:]
	return h
}

// unit is the unit of row i of a block.
func (h *unitHasher) unit(b block, i int) uint64 {
	same := h.hash != 0
	for k, column := range h.columns {
		now := numberBits(b.columns[column][i])
		same = same && binary.LittleEndian.Uint64(h.values[8*k:]) == now
		binary.LittleEndian.PutUint64(h.values[8*k:], now)
	}
	if !same {
		sum := sha256.Sum256(h.text)
		h.hash = binary.BigEndian.Uint64(sum[:8])
	}
	return h.hash
}

// unitRoles gathers the roles of units while all rows are read, in whatever order. Units of the highest
// hashes are hold-out units, those of the lowest are reference units.
type unitRoles struct {
	job     Job
	n       int64
	columns int
	hash    roleRule // the rule for hold-out units

	mu      sync.Mutex
	rows    map[uint64]int64 // of each unit
	holdout *ordinalSet
	lowest  rankHeap // the rows of the lowest units, without hold-out rows
}

func newUnitRoles(job Job, n int64, columns int) *unitRoles {
	return &unitRoles{
		job: job, n: n, columns: columns, hash: roleRule{held: hashUnits(job.Roles.Holdout), last: n},
		rows: map[uint64]int64{}, holdout: newOrdinalSet(n),
	}
}

// add adds the rows of a block, except some, ascending.
func (u *unitRoles) add(b block, but []int) {
	hasher := newUnitHasher(u.job, u.columns)
	rows := map[uint64]int64{}
	var ranks []rank
	for i := range b.rows {
		if len(but) > 0 && but[0] == i {
			but = but[1:]
			continue
		}
		x := rank{hasher.unit(b, i), b.first + int64(i)}
		rows[x.hash]++
		if u.hash.heldOut(x) {
			u.holdout.add(x.ordinal)
		} else {
			ranks = append(ranks, x)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.rows) <= maxUnits {
		for unit, k := range rows {
			u.rows[unit] += k
		}
	}
	for _, x := range ranks {
		u.lowest.keep(x, maxReferenceInUnits)
	}
}

// maxReferenceInUnits bounds the reference rows.
const maxReferenceInUnits = 2 * MaxReference

// roles are the roles of a sample of n rows, once all are added.
func (u *unitRoles) roles(n int64, out leftOut) (Roles, error) {
	r := Roles{Rows: n, out: out, units: u.job.Unit.ledger()}
	if len(u.rows) > maxUnits {
		return r, fmt.Errorf("%w: unit: there are more than %d units, which take too much memory: declare larger ones", ErrData, maxUnits)
	}
	units := slices.Sorted(maps.Keys(u.rows))
	held := sort.Search(len(units), func(i int) bool { return u.hash.heldOut(rank{hash: units[i]}) })
	r.units.Holdout = int64(len(units) - held)
	reference := uint64(0) // of the last reference unit
	if u.job.Scaling.byReference() {
		r.units.Reference = min(ReferenceCount(int64(len(units))), int64(held))
		rows := int64(0)
		for _, unit := range units[:r.units.Reference] {
			rows, reference = rows+u.rows[unit], unit
		}
		if rows > maxReferenceInUnits {
			return r, fmt.Errorf("%w: unit: the %d reference units have %d rows, at most %d are read: declare smaller units, or the scaling", ErrData, r.units.Reference, rows, maxReferenceInUnits)
		}
	}
	r.units.Train = int64(held) - r.units.Reference
	for _, rows := range u.rows {
		r.units.Largest = max(r.units.Largest, rows)
	}
	if err := u.enough(*r.units, int64(len(units))); err != nil {
		return r, err
	}
	if u.hash.held > 0 {
		u.holdout.seal()
		r.holdout = u.holdout
	}
	u.order(&r, reference)
	return r, nil
}

// order sets the reference rows, of units up to a hash, and the start rows: the reference rows, then
// those of the lowest train units, each in the order of the keyed hash of their ordinals.
func (u *unitRoles) order(r *Roles, reference uint64) {
	late := map[int64]bool{}
	hasher := newRoleHasher(u.job.Roles.Key)
	for _, x := range u.lowest {
		if r.units.Reference > 0 && x.hash <= reference {
			r.reference = append(r.reference, x.ordinal)
		} else {
			late[x.ordinal] = true
		}
		r.order = append(r.order, hasher.rank(x.ordinal))
	}
	slices.Sort(r.reference)
	slices.SortFunc(r.order, func(a, b rank) int {
		if late[a.ordinal] != late[b.ordinal] {
			return map[bool]int{false: -1, true: 1}[late[a.ordinal]]
		}
		return a.compare(b)
	})
	r.order = r.order[:min(len(r.order), max(startRows, len(r.reference)))]
}

// CountUnits reads the rows of a job by units once, and returns the units of each role; nil without units.
// Too few units are [ErrData].
func (j Job) CountUnits(ctx context.Context, src Source, res Resources) (*certify.UnitLedger, error) {
	if !j.Unit.given() {
		return nil, nil
	}
	n := rowsOf(src)
	s, err := sift(ctx, src, j.ForRows(n), indices(len(src.Columns())), res.WithDefaults())
	if err != nil {
		return nil, err
	}
	r, err := s.roles.roles(n, s.out)
	return r.units, err
}

// enough returns an error unless there are units enough for each role, with what would help.
func (u *unitRoles) enough(l certify.UnitLedger, all int64) error {
	held := u.hash.held > 0
	if l.Train >= certify.LeastUnits && (!held || l.Holdout >= certify.LeastUnits) {
		return nil
	}
	hint := "declare smaller units, or give more rows"
	if share := math.Ceil(140*certify.LeastUnits/float64(all)) / 100; held && l.Holdout < certify.LeastUnits && share <= 0.5 {
		hint = fmt.Sprintf("set roles.holdout to %v or more", share)
	}
	return fmt.Errorf("%w: unit: of %d units by %q %d are training and %d are held-out units, and each split needs %d: a bound from fewer says nothing\nhint: %s",
		ErrData, all, l.Columns, l.Train, l.Holdout, certify.LeastUnits, hint)
}

// keep adds a rank to a heap of the k lowest.
func (h *rankHeap) keep(x rank, k int) {
	switch {
	case len(*h) < k:
		heap.Push(h, x)
	case x.compare((*h)[0]) < 0:
		(*h)[0] = x
		heap.Fix(h, 0)
	}
}

// unitSums are the exact sums of losses of the rows of each unit. They merge.
type unitSums struct {
	ledger  certify.UnitLedger
	train   map[uint64]*rowSums
	holdout map[uint64]*certify.RiskSum // of predictions
}

// rowSums are sums over train rows.
type rowSums struct{ draw, constant certify.RiskSum }

// merge adds the rows of other.
func (s *rowSums) merge(other *rowSums) error {
	return errors.Join(s.draw.Merge(other.draw), s.constant.Merge(other.constant))
}

func newUnitSums(l *certify.UnitLedger) *unitSums {
	if l == nil {
		return nil
	}
	return &unitSums{*l, map[uint64]*rowSums{}, map[uint64]*certify.RiskSum{}}
}

// sumOf is a unit's sum, which is begun if there is none.
func sumOf[S any](of map[uint64]*S, unit uint64) *S {
	if of[unit] == nil {
		of[unit] = new(S)
	}
	return of[unit]
}

// merge adds the rows of other; nil has none.
func (u *unitSums) merge(other *unitSums) error {
	if u == nil {
		return nil
	}
	var err error
	for unit, s := range other.train {
		err = cmp.Or(err, sumOf(u.train, unit).merge(s))
	}
	for unit, s := range other.holdout {
		err = cmp.Or(err, sumOf(u.holdout, unit).Merge(*s))
	}
	return err
}

// tally adds the units to tallies, and returns the numbers of rows.
func (u *unitSums) tally(to certify.Tallies) (train, holdout int64, err error) {
	for _, s := range u.train {
		train += s.draw.Count()
		err = errors.Join(
			err, to.At(certify.PredictorDraw, certify.RoleTrain).AddUnit(s.draw, false, false),
			to.At(certify.PredictorConstant, certify.RoleTrain).AddUnit(s.constant, true, false))
	}
	for _, s := range u.holdout {
		holdout += s.Count()
		err = errors.Join(err, to.At(certify.PredictorMean, certify.RoleHoldout).AddUnit(*s, false, true))
	}
	if int64(len(u.train)) != u.ledger.Train || int64(len(u.holdout)) != u.ledger.Holdout {
		err = errors.Join(err, fmt.Errorf("%w: %d train units and %d hold-out units, of %d and %d", ErrChanged, len(u.train), len(u.holdout), u.ledger.Train, u.ledger.Holdout))
	}
	return train, holdout, err
}
