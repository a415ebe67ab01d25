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

// predictors are all of them, numbered from 1 on in files; roles are the roles of certifying rows.
var (
	predictors = []struct {
		predictor Predictor
		place     int    // of its guarantees in the document
		subject   string // of sentences about it, which name the target
	}{
		{PredictorDraw, 2, "predictions of %s by a function drawn at random from Q"},
		{PredictorMean, 1, "predictions (the mean of Q) of %s"},
		{predictor: PredictorConstant}, // about which nothing is certified
		{predictor: PredictorColumn},   // nor about this
	}
	roles = []Role{RoleTrain, RoleHoldout}
)

// A TallyKey names the predictor and the rows of a tally.
type TallyKey struct {
	Predictor Predictor
	Role      Role
}

// MarshalText writes the key for messages.
func (k TallyKey) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s on %s rows", k.Predictor, k.Role), nil
}

// number is the place of the predictor in the list of all.
func (p Predictor) number() int {
	for i, each := range predictors {
		if each.predictor == p {
			return i
		}
	}
	panic("certify: no predictor " + string(p)) // each is a constant of this package
}

// compareKeys is the order of tallies in files.
func compareKeys(a, b TallyKey) int {
	return cmp.Or(cmp.Compare(a.Predictor.number(), b.Predictor.number()), cmp.Compare(slices.Index(roles, a.Role), slices.Index(roles, b.Role)))
}

// A Tally holds the exact sums of one predictor's losses on the rows of one role. Tallies of
// different rows merge.
type Tally struct {
	Risk     RiskSum // bounds on the losses, one a row: upper ones, but of the constant lower ones
	Unproven int64   // rows whose loss is counted as 1, because no bound on it was proven
}

// merge adds the rows of other.
func (t *Tally) merge(other Tally) error {
	t.Unproven += other.Unproven
	return t.Risk.Merge(other.Risk)
}

// TallyBytes is the length of the binary form of a tally with its key.
const TallyBytes = 24 + RiskSumBytes

func (t *Tally) appendBinary(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(t.Unproven)) //nolint:gosec // not negative
	return t.Risk.AppendBinary(b)
}

func (t *Tally) unmarshalBinary(data []byte) error {
	t.Unproven = int64(binary.LittleEndian.Uint64(data)) //nolint:gosec // a negative one is found below
	if t.Unproven < 0 {
		return fmt.Errorf("certify: %d unproven rows", t.Unproven)
	}
	return t.Risk.UnmarshalBinary(data[8:])
}

// validate reports all faults of the losses on n rows.
func (t *Tally) validate(n int64, ev Evidence) error {
	faults := []error{t.Risk.validate()}
	if n < 1 || t.Risk.Count() != n {
		faults = append(faults, fmt.Errorf("losses of %d rows, for %d rows: each needs exactly one", t.Risk.Count(), n))
	}
	if t.Unproven < 0 || t.Unproven > n || t.Risk.total().Cmp(new(big.Int).Lsh(big.NewInt(max(0, t.Unproven)), 60)) < 0 {
		faults = append(faults, fmt.Errorf("%d of %d rows are counted as a loss of 1, but the sum of the losses is smaller", t.Unproven, n))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return Terms{Risk: t.Risk.Upper(), KL: ev.KL, N: n, Delta: ev.Delta.Declared}.validate()
}

// guarantee returns a guarantee that states the tally of a key, without a bound.
func (ev Evidence) guarantee(key TallyKey, id GuaranteeID, theorem string) Guarantee {
	t := ev.Tallies.Of(key.Predictor, key.Role)
	return Guarantee{
		ID: id, Predictor: key.Predictor, Role: key.Role, Method: theorem, Loss: ev.Loss, Delta: ev.Delta.Declared, N: t.Risk.Count(),
		EmpiricalRisk: Risk{Exact: t.Risk, Upper: t.Risk.Upper()}, Unproven: t.Unproven,
	}
}

// tally is the tally that a guarantee states.
func (g Guarantee) tally() Tally {
	return Tally{Risk: g.EmpiricalRisk.Exact, Unproven: g.Unproven}
}

// Tallies are the sums of a pass over rows.
type Tallies map[TallyKey]*Tally

// Of returns the tally of a predictor on the rows of a role: without losses where there is
// none.
func (all Tallies) Of(predictor Predictor, role Role) Tally {
	if t := all[TallyKey{predictor, role}]; t != nil {
		return *t
	}
	return Tally{}
}

// At returns the same to add to, and makes it where there is none.
func (all Tallies) At(predictor Predictor, role Role) *Tally {
	key := TallyKey{predictor, role}
	if all[key] == nil {
		all[key] = &Tally{}
	}
	return all[key]
}

// Merge adds the rows of other. A count beyond its range is an error.
func (all Tallies) Merge(other Tallies) error {
	for key, t := range other {
		if err := all.At(key.Predictor, key.Role).merge(*t); err != nil {
			return err
		}
	}
	return nil
}

// Clone returns tallies that share nothing with these.
func (all Tallies) Clone() Tallies {
	own := make(Tallies, len(all))
	for key, t := range all {
		own[key] = new(*t)
	}
	return own
}

// For returns a copy of the tallies that a certificate's methods need.
func (all Tallies) For(d Delta) Tallies {
	own := Tallies{}
	for _, key := range d.needs() {
		own[key] = new(all.Of(key.Predictor, key.Role))
	}
	return own
}

// AppendBinary appends the binary form, [TallyBytes] of each: the numbers of predictor and
// role, then the tally, by the numbers.
func (all Tallies) AppendBinary(b []byte) []byte {
	for _, key := range slices.SortedFunc(maps.Keys(all), compareKeys) {
		b = binary.LittleEndian.AppendUint64(b, uint64(key.Predictor.number()+1))        //nolint:gosec // small
		b = binary.LittleEndian.AppendUint64(b, uint64(slices.Index(roles, key.Role)+1)) //nolint:gosec // small
		b = all[key].appendBinary(b)
	}
	return b
}

// ReadTallies reads the binary form of tallies of at most so many rows each. Any other bytes are an
// error.
func ReadTallies(data []byte, rows int64) (Tallies, error) {
	all, last := Tallies{}, uint64(0)
	for ; len(data) >= TallyBytes; data = data[TallyBytes:] {
		p, r := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		if p < 1 || p > uint64(len(predictors)) || r < 1 || r > uint64(len(roles)) {
			return nil, fmt.Errorf("a tally of predictor %d on role %d is none of this version", p, r)
		}
		t := all.At(predictors[p-1].predictor, roles[r-1])
		if err := t.unmarshalBinary(data[16:TallyBytes]); err != nil {
			return nil, err
		}
		at := p<<8 | r
		if at <= last || max(t.Risk.Count(), t.Unproven) > rows {
			return nil, fmt.Errorf("a tally is out of order, or has more than the %d rows that were read", rows)
		}
		last = at
	}
	if len(data) > 0 {
		return nil, fmt.Errorf("%d bytes are no tally", len(data))
	}
	return all, nil
}
