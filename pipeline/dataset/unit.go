package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A UnitHasher computes the keyed hash of a row's unit, which identifies the unit: the first 8 bytes,
// big endian, of SHA-256("pacsgp/roles/unit/1" 0x00 ‖ key ‖ 0x00 ‖ the float64 bits of the values of
// its columns, 8 bytes each, little endian).
type UnitHasher struct {
	columns []int  // of the unit, in blocks
	text    []byte // the hashed text
	values  []byte // the end of text, with the values of the last row
	hash    uint64 // of text; 0 before the first row
}

// NewUnitHasher returns a hasher for rows with this number of columns, of which the last are those of the units and
// then the target.
func NewUnitHasher(job job.Job, columns int) *UnitHasher {
	h := &UnitHasher{}
	for i := range job.Unit.Columns {
		h.columns = append(h.columns, columns-1-len(job.Unit.Columns)+i)
	}
	h.text = append([]byte("pacsgp/roles/unit/1\x00"+job.Split.Key), 0)
	prefix := len(h.text)
	h.text = append(h.text, make([]byte, 8*len(h.columns))...)
	h.values = h.text[prefix:]
	return h
}

// Unit returns the hash of the unit of row i of a block.
func (h *UnitHasher) Unit(b Block, i int) uint64 {
	same := h.hash != 0
	for k, column := range h.columns {
		now := NumberBits(b.Columns[column][i])
		same = same && binary.LittleEndian.Uint64(h.values[8*k:]) == now
		binary.LittleEndian.PutUint64(h.values[8*k:], now)
	}
	if !same {
		sum := sha256.Sum256(h.text)
		h.hash = binary.BigEndian.Uint64(sum[:8])
	}
	return h.hash
}

// A UnitSplit collects units while all rows are read, in any order, and then splits them. Units with the highest
// hashes are held-out units, those with the lowest are prior units.
type UnitSplit struct {
	job     job.Job
	columns int
	hash    SplitRule // the rule for held-out units

	mu      sync.Mutex
	rows    map[uint64]int64 // the number of rows of each unit, by its hash
	holdout *RowSet
	left    *RowSet // rejected rows whose values would put them into held-out units
	lowest  []Rank  // rows of the units with the lowest hashes, without held-out rows
}

// NewUnitSplit returns a UnitSplit for n rows, to which Add adds blocks. columns is the number of columns of a row.
func NewUnitSplit(job job.Job, n int64, columns int) *UnitSplit {
	return &UnitSplit{
		job: job, columns: columns, hash: SplitRule{held: hashUnits(job.Split.Holdout), last: n},
		rows: map[uint64]int64{}, holdout: NewRowSet(n), left: NewRowSet(n),
	}
}

// Add adds the rows of a block except those with the indices but, which ascend. It may be called from several
// goroutines.
func (u *UnitSplit) Add(b Block, but []int) {
	hasher := NewUnitHasher(u.job, u.columns)
	rows := map[uint64]int64{}
	var ranks []Rank
	for i := range b.Rows {
		if len(but) > 0 && but[0] == i {
			but = but[1:]
			if x := (Rank{hasher.Unit(b, i), b.First + int64(i)}); u.hash.HeldOut(x) {
				u.left.Add(x.Ordinal)
			}
			continue
		}
		x := Rank{hasher.Unit(b, i), b.First + int64(i)}
		rows[x.Hash]++
		if u.hash.HeldOut(x) {
			u.holdout.Add(x.Ordinal)
		} else {
			ranks = append(ranks, x)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.rows) <= job.MaxUnits {
		for unit, k := range rows {
			u.rows[unit] += k
		}
	}
	for _, x := range ranks {
		u.lowest = keep(u.lowest, x, maxPriorInUnits)
	}
}

// maxPriorInUnits is the largest number of rows in prior units.
const maxPriorInUnits = 2 * job.MaxPrior

// Split returns the split of n rows, all of which were added or are in out.
func (u *UnitSplit) Split(n int64, out LeftOut) (Split, error) {
	r := Split{Rows: n, Out: out, Units: &certify.UnitCounts{Columns: u.job.Unit.Columns}}
	if len(u.rows) > job.MaxUnits {
		return r, fmt.Errorf("%w: unit: there are more than %d units, which take too much memory: declare larger ones", job.ErrData, job.MaxUnits)
	}
	units := slices.Sorted(maps.Keys(u.rows))
	held := sort.Search(len(units), func(i int) bool { return u.hash.HeldOut(Rank{Hash: units[i]}) })
	r.Units.Holdout = int64(len(units) - held)
	prior := uint64(0) // the hash of the last prior unit
	if u.job.Scaling != job.ScalingNone {
		r.Units.Prior = min(job.PriorCount(int64(len(units))), int64(held))
		rows := int64(0)
		for _, unit := range units[:r.Units.Prior] {
			rows, prior = rows+u.rows[unit], unit
		}
		if rows > maxPriorInUnits {
			return r, fmt.Errorf("%w: unit: the %d prior units have %d rows, of which at most %d are read: use fewer files, or units with fewer rows", job.ErrData, r.Units.Prior, rows, maxPriorInUnits)
		}
	}
	r.Units.Train = int64(held) - r.Units.Prior
	for _, rows := range u.rows {
		r.Units.Largest = max(r.Units.Largest, rows)
	}
	if err := u.enough(*r.Units, int64(len(units))); err != nil {
		return r, err
	}
	if u.hash.held > 0 {
		u.holdout.Seal()
		r.heldOutRows, r.leftHeldOut = u.holdout, u.left
	}
	u.order(&r, prior)
	return r, nil
}

// order sets the prior rows, which are those of units up to the hash prior, and the start rows: the prior rows,
// then rows of the training units with the lowest hashes. Each of the two parts is in the order of ranks.
func (u *UnitSplit) order(r *Split, prior uint64) {
	late := map[int64]bool{}
	hasher := NewSplitHasher(u.job.Split.Key)
	slices.SortFunc(u.lowest, Rank.compare)
	for _, x := range u.lowest[:min(len(u.lowest), maxPriorInUnits)] {
		if r.Units.Prior > 0 && x.Hash <= prior {
			r.PriorRows = append(r.PriorRows, x.Ordinal)
		} else {
			late[x.Ordinal] = true
		}
		r.order = append(r.order, hasher.Rank(x.Ordinal))
	}
	slices.Sort(r.PriorRows)
	slices.SortFunc(r.order, func(a, b Rank) int {
		if late[a.Ordinal] != late[b.Ordinal] {
			return map[bool]int{false: -1, true: 1}[late[a.Ordinal]]
		}
		return a.compare(b)
	})
	r.order = r.order[:min(len(r.order), max(StartRows, len(r.PriorRows)))]
}

// enough returns an error, with a hint, if a subset has too few units.
func (u *UnitSplit) enough(l certify.UnitCounts, all int64) error {
	held := u.hash.held > 0
	if l.Train >= certify.LeastUnits && (!held || l.Holdout >= certify.LeastUnits) {
		return nil
	}
	hint := "declare smaller units, or give more rows"
	if share := math.Ceil(140*certify.LeastUnits/float64(all)) / 100; held && l.Holdout < certify.LeastUnits && share <= 0.5 {
		hint = fmt.Sprintf("set split.holdout to %v or more", share)
	}
	return fmt.Errorf("%w: unit: of %d units by %q %d are training and %d are held-out units, and each split needs %d: a bound from fewer says nothing\nhint: %s",
		job.ErrData, all, l.Columns, l.Train, l.Holdout, certify.LeastUnits, hint)
}
