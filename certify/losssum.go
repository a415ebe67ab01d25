package certify

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// Predictors and subsets, numbered from 1 on in files.
var (
	predictors = []predictorForm{
		{PredictorDraw, 2},
		{PredictorMean, 1},
		{predictor: PredictorConstant}, // has no claims
		{predictor: PredictorColumn},   // has none either
	}
	subsets = []Subset{SubsetTraining, SubsetHoldout}
)

type predictorForm struct {
	predictor Predictor
	position  int // of its claims in the document
}

// A LossKey names the predictor and the rows of a loss sum.
type LossKey struct {
	Predictor Predictor
	Subset    Subset
}

// MarshalText writes the key for messages.
func (k LossKey) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s on %s rows", k.Predictor, k.Subset), nil
}

// number is the position of the predictor in the list of all.
func (p Predictor) number() int {
	for i, each := range predictors {
		if each.predictor == p {
			return i
		}
	}
	panic("certify: no predictor " + string(p)) // each is a constant of this package
}

// compareKeys is the order of loss sums in files.
func compareKeys(a, b LossKey) int {
	return cmp.Or(cmp.Compare(a.Predictor.number(), b.Predictor.number()), cmp.Compare(slices.Index(subsets, a.Subset), slices.Index(subsets, b.Subset)))
}

// A LossSum holds the exact sums of one predictor's losses on the rows of one subset. Loss sums of
// different rows merge.
type LossSum struct {
	Risk     RiskSum // upper bounds on the losses, one a row; lower ones for the constant
	Unproven int64   // rows whose loss is counted as 1, because no bound on it was proven
	Spread   *Spread // histogram of the losses; nil if a bound needs only their sum
	Beyond   []int64 // for a [Curve]: at each tolerance, the rows not proven to be within it; or nil
	Groups   []Group // for [Groups]: the rows of each, without bounds; or nil
	Bound    float64 // of a document that shows neither sum nor spread; else 0
}

// AddSpread adds the loss of one row, and to the spread of losses.
func (t *LossSum) AddSpread(loss float64) error {
	if t.Spread == nil {
		t.Spread = &Spread{}
	}
	return errors.Join(t.Risk.Add(loss), t.Spread.Add(loss))
}

// Merge adds the rows of other. A count beyond its range is an error.
func (t *LossSum) Merge(other LossSum) error {
	t.Unproven += other.Unproven
	if other.Spread != nil {
		if t.Spread == nil {
			t.Spread = &Spread{}
		}
		t.Spread.merge(other.Spread)
	}
	if t.Beyond == nil && other.Beyond != nil {
		t.Beyond = make([]int64, curveTolerances)
	}
	for i, n := range other.Beyond {
		t.Beyond[i] += n
	}
	if t.Groups == nil && other.Groups != nil {
		t.Groups = make([]Group, len(other.Groups))
	}
	if len(other.Groups) > len(t.Groups) {
		return fmt.Errorf("certify: rows of %d and %d groups", len(t.Groups), len(other.Groups))
	}
	for i, g := range other.Groups {
		t.Groups[i].N += g.N
		t.Groups[i].Misses += g.Misses
	}
	return t.Risk.Merge(other.Risk)
}

// clone returns a deep copy.
func (t *LossSum) clone() *LossSum {
	own := *t
	if t.Spread != nil {
		own.Spread = new(*t.Spread)
	}
	own.Beyond, own.Groups = slices.Clone(t.Beyond), slices.Clone(t.Groups)
	return &own
}

// lossSumBytes is the length of the binary form of a loss sum with its key, without spread and counts of errors.
const lossSumBytes = 48 + RiskSumBytes

// appendBinary appends the number of unproven rows, the number of the spread's multiples that have
// losses, the sum, index and parts of each such multiple, the number of tolerances, the count at
// each tolerance, the number of groups, and the rows and misses of each.
func (t *LossSum) appendBinary(b []byte) []byte {
	var spread []uint64
	if t.Spread != nil {
		for i, parts := range t.Spread {
			if parts > 0 {
				spread = append(spread, uint64(i), parts)
			}
		}
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(t.Unproven)) //nolint:gosec // not negative
	b = binary.LittleEndian.AppendUint64(b, uint64(len(spread)/2))
	b = t.Risk.AppendBinary(b)
	for _, v := range spread {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(t.Beyond)))
	for _, n := range t.Beyond {
		b = binary.LittleEndian.AppendUint64(b, uint64(n)) //nolint:gosec // not negative
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(t.Groups)))
	for _, g := range t.Groups {
		b = binary.LittleEndian.AppendUint64(b, uint64(g.N))      //nolint:gosec // not negative
		b = binary.LittleEndian.AppendUint64(b, uint64(g.Misses)) //nolint:gosec // not negative
	}
	return b
}

// readBinary reads the form of appendBinary, for at most so many rows, and returns the rest of data.
func (t *LossSum) readBinary(data []byte, rows int64) ([]byte, error) {
	t.Unproven = int64(binary.LittleEndian.Uint64(data)) //nolint:gosec // a negative one is found below
	multiples := binary.LittleEndian.Uint64(data[8:])
	if err := t.Risk.UnmarshalBinary(data[16 : 16+RiskSumBytes]); err != nil {
		return nil, err
	}
	data = data[16+RiskSumBytes:]
	if t.Unproven < 0 || max(t.Risk.Count(), t.Unproven) > rows || multiples > uint64(len(data)/16) {
		return nil, fmt.Errorf("certify: %d losses, %d unproven, at %d multiples, of %d rows", t.Risk.Count(), t.Unproven, multiples, rows)
	}
	if multiples == 0 {
		return t.readBeyond(data, rows)
	}
	t.Spread = &Spread{}
	for last := uint64(0); multiples > 0; multiples-- {
		at, parts := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		if at >= uint64(len(t.Spread)) || at < last || parts == 0 {
			return nil, fmt.Errorf("certify: %d parts at the multiple %d of 1/%d, after %d", parts, at, spreadCells, last)
		}
		t.Spread[at], last, data = parts, at+1, data[16:]
	}
	if err := t.Spread.validate(t.Risk.Count()); err != nil {
		return nil, err
	}
	return t.readBeyond(data, rows)
}

// readBeyond reads the counts at tolerances and by groups, if there are any, and returns the rest of
// data.
func (t *LossSum) readBeyond(data []byte, rows int64) ([]byte, error) {
	if len(data) < 8 {
		return nil, errors.New("certify: a loss sum ends too early")
	}
	n := binary.LittleEndian.Uint64(data)
	if data = data[8:]; n == 0 {
		return t.readGroups(data, rows)
	}
	if n != curveTolerances || len(data) < 8*curveTolerances {
		return nil, fmt.Errorf("certify: errors are counted at %d tolerances", n)
	}
	t.Beyond = make([]int64, curveTolerances)
	last := rows
	for i := range t.Beyond {
		k := int64(binary.LittleEndian.Uint64(data[8*i:])) //nolint:gosec // a negative one is found here
		if k < 0 || k > last {
			return nil, fmt.Errorf("certify: %d rows are beyond tolerance %d, of %d", k, i, last)
		}
		t.Beyond[i], last = k, k
	}
	return t.readGroups(data[8*curveTolerances:], rows)
}

// validate reports all faults of the losses on n rows.
func (t *LossSum) validate(n int64, ev Evidence) error {
	faults := []error{t.Risk.validate()}
	if n < 1 || t.Risk.Count() != n {
		faults = append(faults, fmt.Errorf("losses of %d rows, for %d rows: each needs exactly one", t.Risk.Count(), n))
	}
	if t.Spread != nil {
		faults = append(faults, t.Spread.validate(n))
	}
	if u := ev.Counts.Units; t.Unproven < 0 || u == nil && (t.Unproven > n || t.Risk.total().Cmp(new(big.Int).Lsh(big.NewInt(max(0, t.Unproven)), 60)) < 0) {
		faults = append(faults, fmt.Errorf("%d of %d rows are counted as a loss of 1, but the sum of the losses is smaller", t.Unproven, n))
	}
	if err := errors.Join(append(faults, t.validateBeyond(n, ev), t.validateGroups(n, ev))...); err != nil {
		return err
	}
	return Terms{Risk: t.Risk.Upper(), KL: ev.Model.KL, N: n, Delta: ev.Delta.Declared}.validate()
}

// claim returns a claim that shows a loss sum, without a bound.
func (ev Evidence) claim(key LossKey, id ClaimID, shown LossSum) Claim {
	g := Claim{ID: id, Predictor: key.Predictor, Subset: key.Subset, Delta: ev.Delta.Declared, N: shown.Risk.Count(), Risk: new(shown.Risk.Upper()), shown: shown}
	if key.Subset == SubsetHoldout && ev.Loss.Kind.Counts() && ev.Counts.Units == nil {
		g.Misses = new(shown.Risk.ones())
	}
	return g
}

// with adds what only the other loss sum of the same rows has; nil has nothing.
func (t LossSum) with(other *LossSum) LossSum {
	if other != nil && t.Beyond == nil {
		t.Beyond = other.Beyond
	}
	if other != nil && t.Groups == nil {
		t.Groups = other.Groups
	}
	return t
}

// LossSums are the sums of a pass over rows.
type LossSums map[LossKey]*LossSum

// Of returns the loss sum of a predictor on the rows of a subset, or an empty one.
func (all LossSums) Of(predictor Predictor, subset Subset) LossSum {
	if t := all[LossKey{predictor, subset}]; t != nil {
		return *t
	}
	return LossSum{}
}

// At returns the loss sum of a predictor on the rows of a subset, to add to. It makes a missing one.
func (all LossSums) At(predictor Predictor, subset Subset) *LossSum {
	key := LossKey{predictor, subset}
	if all[key] == nil {
		all[key] = &LossSum{}
	}
	return all[key]
}

// Merge adds the rows of other. A count beyond its range is an error.
func (all LossSums) Merge(other LossSums) error {
	for key, t := range other {
		if err := all.At(key.Predictor, key.Subset).Merge(*t); err != nil {
			return err
		}
	}
	return nil
}

// Clone returns a deep copy.
func (all LossSums) Clone() LossSums {
	own := make(LossSums, len(all))
	for key, t := range all {
		own[key] = t.clone()
	}
	return own
}

// For returns a copy of the loss sums that a certificate's methods need.
func (all LossSums) For(d Delta) LossSums {
	own := LossSums{}
	for _, key := range d.needs() {
		t := all.Of(key.Predictor, key.Subset)
		own[key] = t.clone()
	}
	return own
}

// AppendBinary appends the binary form: for each loss sum the numbers of predictor and subset, by which
// loss sums are ordered, and the loss sum.
func (all LossSums) AppendBinary(b []byte) []byte {
	for _, key := range slices.SortedFunc(maps.Keys(all), compareKeys) {
		b = binary.LittleEndian.AppendUint64(b, uint64(key.Predictor.number()+1))            //nolint:gosec // small
		b = binary.LittleEndian.AppendUint64(b, uint64(slices.Index(subsets, key.Subset)+1)) //nolint:gosec // small
		b = all[key].appendBinary(b)
	}
	return b
}

// ReadLossSums reads the binary form of loss sums of at most so many rows each. Any other bytes are an
// error.
func ReadLossSums(data []byte, rows int64) (LossSums, error) {
	all, last := LossSums{}, uint64(0)
	for len(data) >= lossSumBytes {
		p, r := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		if p < 1 || p > uint64(len(predictors)) || r < 1 || r > uint64(len(subsets)) {
			return nil, fmt.Errorf("a loss sum of predictor %d on subset %d is none of this version", p, r)
		}
		at := p<<8 | r
		if at <= last {
			return nil, errors.New("a loss sum is out of order")
		}
		last = at
		var err error
		if data, err = all.At(predictors[p-1].predictor, subsets[r-1]).readBinary(data[16:], rows); err != nil {
			return nil, err
		}
	}
	if len(data) > 0 {
		return nil, fmt.Errorf("%d bytes are no loss sum", len(data))
	}
	return all, nil
}
