package watch

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A unitSet holds units: sets of rows that may depend on each other, such as the rows of a day. A unit counts as one
// example, with the mean loss of its rows. It ends with the first file that begins another unit and has no row of it.
// Rows of a unit that has ended do not count. A unit whose rows two models have predicted counts for neither.
type unitSet struct {
	Open  map[string]openUnit `json:"open"`  // by id, a digest of the values that identify the unit
	Ended map[string]bool     `json:"ended"` // ids

	begun bool // whether the file that is being counted has begun a unit
}

// An openUnit is a unit that may get more rows.
type openUnit struct {
	Number      int             `json:"number"`      // the number of units that began before
	Certificate string          `json:"certificate"` // whose model has predicted its rows
	Losses      certify.RiskSum `json:"losses"`      // of its rows so far

	here bool // whether the file that is being counted has a row of the unit
}

// mostUnits is the largest number of units in a state, which is stored as a whole.
const mostUnits = 1 << 18

// clone returns a copy to which units can be added.
func (u *unitSet) clone() *unitSet {
	c := &unitSet{map[string]openUnit{}, map[string]bool{}, u.begun}
	maps.Copy(c.Open, u.Open)
	maps.Copy(c.Ended, u.Ended)
	return c
}

// validateUnits reports the faults of stored units.
func (s *State) validateUnits() error {
	u := s.Units
	if u == nil {
		return nil
	}
	for id, unit := range u.Open {
		if u.Ended[id] || unit.Losses.Count() < 1 || unit.Number < 0 || unit.Number >= len(u.Open)+len(u.Ended) || s.Test(unit.Certificate) == nil {
			return fmt.Errorf("unit %s is no open one", id)
		}
	}
	return nil
}

// unitRows holds the losses of the labelled rows of a unit in a piece.
type unitRows struct {
	id     string
	losses certify.RiskSum
}

// seeIn counts a labelled row of a unit. With the id "" it counts the row as rejected, and returns why.
func (c *counted) seeIn(id string, loss uint64) (why string, err error) {
	if id == "" {
		c.bad++
		return "no unit", nil
	}
	at, seen := c.positions[id]
	if !seen {
		if c.positions == nil {
			c.positions = map[string]int{}
		}
		at = len(c.units)
		c.positions[id], c.units = at, append(c.units, unitRows{id: id})
	}
	return "", c.units[at].losses.AddUnits(loss)
}

// addUnits adds rows to their units, for the test t.
func (s *State) addUnits(t *Test, rows []unitRows) error {
	if s.Units == nil && len(rows) > 0 {
		s.Units = new(unitSet).clone()
	}
	u := s.Units
	for _, r := range rows {
		n := r.losses.Count()
		unit, open := u.Open[r.id]
		if open && unit.Certificate != t.Certificate {
			u.Ended[r.id] = true
			delete(u.Open, r.id)
			of, before := s.Test(unit.Certificate), unit.Losses.Count()
			of.Open, of.Late = of.Open-before, of.Late+before
		}
		if u.Ended[r.id] {
			t.Late += n
			continue
		}
		if !open {
			unit.Number, unit.Certificate = len(u.Open)+len(u.Ended), t.Certificate
			if u.begun = true; unit.Number == mostUnits {
				return fmt.Errorf("%w: unit: there are more than %d units, which take too much memory: declare larger ones", job.ErrData, mostUnits)
			}
		}
		if err := unit.Losses.Merge(r.losses); err != nil {
			return err
		}
		unit.here = true
		u.Open[r.id] = unit
		t.Open += n
	}
	return nil
}

// endUnits ends the units that end with the file that was counted, in the order in which they began, and adds their
// losses to their tests.
func (s *State) endUnits() error {
	u := s.Units
	if u == nil {
		return nil
	}
	var over []string
	for id, unit := range u.Open {
		if u.begun && !unit.here {
			over = append(over, id)
		}
		unit.here = false
		u.Open[id] = unit
	}
	u.begun = false
	slices.SortFunc(over, func(a, b string) int { return u.Open[a].Number - u.Open[b].Number })
	for _, id := range over {
		unit := u.Open[id]
		t, n := s.Test(unit.Certificate), unit.Losses.Count()
		t.Rows, t.Open = t.Rows+n, t.Open-n
		down, up := unit.Losses.MeanUnits()
		if err := errors.Join(t.Losses.AddUnits(up), t.Alarm.Add([]uint64{down})); err != nil {
			return err
		}
		u.Ended[id] = true
		delete(u.Open, id)
	}
	return nil
}
