package certify

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A lossSumJSON is the JSON form of a loss sum.
type lossSumJSON struct {
	Predictor Predictor `json:"predictor"`
	Subset    Subset    `json:"subset"`
	riskSumJSON
	Bound    float64    `json:"bound,omitempty"` // replaces the sum if a document shows only the bound
	Unproven int64      `json:"unproven,omitempty"`
	Beyond   []stepJSON `json:"beyond,omitempty"` // only the tolerances where the count changes; the first has index 0
	Groups   []Group    `json:"by_group,omitempty"`
	// Spread has the parts at each multiple with any. It is only in parts of a pass, never in documents.
	Spread map[int]uint64 `json:"spread,omitempty"`
}

// A stepJSON says that, from the tolerance with this index on, so many rows are off by more.
type stepJSON struct {
	Index  int   `json:"index"`
	Misses int64 `json:"misses"`
}

// MarshalJSON writes the loss sums as a list, in the order of files and without spreads.
func (all LossSums) MarshalJSON() ([]byte, error) { return json.Marshal(all.list(false)) }

// list returns the JSON forms in the order of files, with spreads if spreads is set.
func (all LossSums) list(spreads bool) []lossSumJSON {
	list := []lossSumJSON{}
	position := func(k LossKey) int {
		return slices.Index(predictors, k.Predictor)*len(subsets) + slices.Index(subsets, k.Subset)
	}
	for _, key := range slices.SortedFunc(maps.Keys(all), func(a, b LossKey) int { return cmp.Compare(position(a), position(b)) }) {
		j, spread := all[key].form(key), all[key].Spread
		if spreads && spread != nil {
			j.Spread = map[int]uint64{}
			for i, parts := range spread {
				if parts > 0 {
					j.Spread[i] = parts
				}
			}
		}
		list = append(list, j)
	}
	return list
}

// form returns the JSON form of the loss sum of a key, without its spread.
func (t *LossSum) form(key LossKey) lossSumJSON {
	j := lossSumJSON{Predictor: key.Predictor, Subset: key.Subset, riskSumJSON: t.Risk.form(), Unproven: t.Unproven, Groups: t.Groups}
	if t.Bound != 0 {
		j.Sum, j.Bound = "", t.Bound
	}
	last := int64(-1)
	for i, n := range t.Beyond {
		if n != last {
			j.Beyond, last = append(j.Beyond, stepJSON{i, n}), n
		}
	}
	return j
}

// UnmarshalJSON reads the form of MarshalJSON.
func (all *LossSums) UnmarshalJSON(data []byte) error {
	var list []lossSumJSON
	if err := unmarshalStrict(data, &list); err != nil {
		return err
	}
	*all = make(LossSums, len(list))
	for _, j := range list {
		if t, err := j.readInto(*all); err != nil {
			return err
		} else if t.Spread != nil {
			return errors.New("the spread of losses in a document")
		}
	}
	return nil
}

// readInto adds the loss sum to all, and returns it.
func (j lossSumJSON) readInto(all LossSums) (*LossSum, error) {
	key := LossKey{j.Predictor, j.Subset}
	if !slices.Contains(predictors, j.Predictor) || !slices.Contains(subsets, j.Subset) || all[key] != nil {
		return nil, fmt.Errorf("losses of a %q on %q rows, which are unknown or there twice", j.Predictor, j.Subset)
	}
	t := &LossSum{Unproven: j.Unproven, Groups: j.Groups, Bound: j.Bound}
	var err error
	switch {
	case j.Sum != "" && j.Bound == 0:
		if t.Risk, err = j.read(); err != nil {
			return nil, err
		}
	case j.Sum == "" && j.N > 0 && j.Bound > 0:
		t.Risk.count = j.N
	default:
		return nil, errors.New("losses with a bound, or without both")
	}
	if len(j.Beyond) > 0 {
		t.Beyond = make([]int64, curveTolerances)
		n, next := int64(-1), j.Beyond // −1, which is no valid count, stays where the first index is not 0
		for i := range t.Beyond {
			if len(next) > 0 && next[0].Index == i {
				n, next = next[0].Misses, next[1:]
			}
			t.Beyond[i] = n
		}
		if len(next) > 0 {
			return nil, fmt.Errorf("rows beyond a tolerance of the index %d", next[0].Index)
		}
	}
	if j.Spread != nil {
		t.Spread = &Spread{}
	}
	for i, parts := range j.Spread {
		if i < 0 || i >= len(t.Spread) {
			return nil, fmt.Errorf("%d parts at the multiple %d of 1/%d", parts, i, spreadCells)
		}
		t.Spread[i] = parts
	}
	all[key] = t
	return t, nil
}

// MarshalPart returns the JSON form in a part of a pass: that of MarshalJSON, with spreads.
func (all LossSums) MarshalPart() ([]byte, error) { return json.Marshal(all.list(true)) }

// ReadPart reads the form of MarshalPart. A loss sum of more than so many rows, and any other bytes, are an error.
func ReadPart(data []byte, rows int64) (LossSums, error) {
	var list []lossSumJSON
	if err := unmarshalStrict(data, &list); err != nil {
		return nil, err
	}
	all := LossSums{}
	for _, j := range list {
		t, err := j.readInto(all)
		if err != nil {
			return nil, err
		}
		if err := t.fits(rows); err != nil {
			return nil, fmt.Errorf("the losses of a %s on %s rows: %w", j.Predictor, j.Subset, err)
		}
	}
	if again, err := all.MarshalPart(); err != nil || !bytes.Equal(again, data) {
		return nil, errors.Join(errors.New("the loss sums are not in the form of this version"), err)
	}
	return all, nil
}

// fits returns an error unless the losses can be those of at most so many rows of a part.
func (t *LossSum) fits(rows int64) error {
	if t.Bound != 0 || t.Unproven < 0 || max(t.Risk.Count(), t.Unproven) > rows {
		return fmt.Errorf("%d losses, %d unproven, the bound %v, of %d rows", t.Risk.Count(), t.Unproven, t.Bound, rows)
	}
	last := rows
	for i, k := range t.Beyond {
		if k < 0 || k > last {
			return fmt.Errorf("%d rows are beyond tolerance %d, of %d", k, i, last)
		}
		last = k
	}
	if len(t.Groups) > MaxGroupValues+1 {
		return fmt.Errorf("rows of %d groups", len(t.Groups))
	}
	for _, of := range t.Groups {
		if of.Misses < 0 || of.Misses > of.N || of.N > rows || of.Bound != 0 {
			return fmt.Errorf("a group misses %d of %d rows, of %d", of.Misses, of.N, rows)
		}
		rows -= of.N
	}
	if t.Spread == nil {
		return nil
	}
	return t.Spread.validate(t.Risk.Count())
}
