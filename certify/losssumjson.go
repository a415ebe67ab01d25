package certify

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A lossSumJSON is a loss sum in a document.
type lossSumJSON struct {
	Predictor Predictor `json:"predictor"`
	Subset    Subset    `json:"subset"`
	riskSumJSON
	Bound    float64    `json:"bound,omitempty"` // in place of the sum
	Unproven int64      `json:"unproven,omitempty"`
	Beyond   []stepJSON `json:"beyond,omitempty"`
	Groups   []Group    `json:"by_group,omitempty"`
}

// A stepJSON is the tolerance of an index from which on so many rows are off by more.
type stepJSON struct {
	Index  int   `json:"index"`
	Misses int64 `json:"misses"`
}

// MarshalJSON writes a list, in the order of files.
func (all LossSums) MarshalJSON() ([]byte, error) {
	list := []lossSumJSON{}
	for _, key := range slices.SortedFunc(maps.Keys(all), compareKeys) {
		t := all[key]
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
		list = append(list, j)
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads the form of MarshalJSON. The first tolerance of beyond is that of index 0.
func (all *LossSums) UnmarshalJSON(data []byte) error {
	var list []lossSumJSON
	if err := unmarshalStrict(data, &list); err != nil {
		return err
	}
	*all = make(LossSums, len(list))
	for _, j := range list {
		key := LossKey{j.Predictor, j.Subset}
		if !slices.ContainsFunc(predictors, func(p predictorForm) bool { return p.predictor == j.Predictor }) || !slices.Contains(subsets, j.Subset) || (*all)[key] != nil {
			return fmt.Errorf("losses of a %q on %q rows, which are unknown or there twice", j.Predictor, j.Subset)
		}
		t := &LossSum{Unproven: j.Unproven, Groups: j.Groups, Bound: j.Bound}
		var err error
		switch {
		case j.Sum != "" && j.Bound == 0:
			if t.Risk, err = j.read(); err != nil {
				return err
			}
		case j.Sum == "" && j.N > 0 && j.Bound > 0:
			t.Risk.count = j.N
		default:
			return errors.New("losses with a bound, or without both")
		}
		if len(j.Beyond) > 0 {
			t.Beyond = make([]int64, curveTolerances)
			n, next := int64(-1), j.Beyond // a first tolerance that is missing is found by its count
			for i := range t.Beyond {
				if len(next) > 0 && next[0].Index == i {
					n, next = next[0].Misses, next[1:]
				}
				t.Beyond[i] = n
			}
			if len(next) > 0 {
				return fmt.Errorf("rows beyond a tolerance of the index %d", next[0].Index)
			}
		}
		(*all)[key] = t
	}
	return nil
}
