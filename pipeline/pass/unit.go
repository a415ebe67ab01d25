package pass

import (
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// unitSums holds the exact sums of losses of the rows of each unit, by its hash.
type unitSums struct {
	counts  certify.UnitCounts
	train   map[uint64]*rowSums
	holdout map[uint64]*certify.RiskSum // of predictions
}

// rowSums holds sums of losses over training rows.
type rowSums struct{ draw, constant, around certify.RiskSum }

func newUnitSums(l *certify.UnitCounts) *unitSums {
	if l == nil {
		return nil
	}
	return &unitSums{*l, map[uint64]*rowSums{}, map[uint64]*certify.RiskSum{}}
}

// sumOf returns the sum of a unit, a new one if there is none.
func sumOf[S any](sums map[uint64]*S, unit uint64) *S {
	if sums[unit] == nil {
		sums[unit] = new(S)
	}
	return sums[unit]
}

// merge adds the sums of other. It does nothing if u is nil.
func (u *unitSums) merge(other *unitSums) error {
	if u == nil {
		return nil
	}
	var err error
	for unit, s := range other.train {
		to := sumOf(u.train, unit)
		err = errors.Join(err, to.draw.Merge(s.draw), to.constant.Merge(s.constant), to.around.Merge(s.around))
	}
	for unit, s := range other.holdout {
		err = errors.Join(err, sumOf(u.holdout, unit).Merge(*s))
	}
	return err
}

// addTo adds the units to loss sums, and returns the numbers of their training and held-out rows.
func (u *unitSums) addTo(to certify.LossSums) (train, holdout int64, err error) {
	for _, s := range u.train {
		train += s.draw.Count()
		err = errors.Join(
			err, to.At(certify.PredictorDraw, certify.SubsetTraining).AddUnit(s.draw, false, false),
			to.At(certify.PredictorConstant, certify.SubsetTraining).AddUnit(s.constant, true, false))
		if s.around.Count() > 0 {
			err = errors.Join(err, to.At(certify.PredictorAround, certify.SubsetTraining).AddUnit(s.around, false, false))
		}
	}
	for _, s := range u.holdout {
		holdout += s.Count()
		err = errors.Join(err, to.At(certify.PredictorMean, certify.SubsetHoldout).AddUnit(*s, false, true))
	}
	if int64(len(u.train)) != u.counts.Train || int64(len(u.holdout)) != u.counts.Holdout {
		err = errors.Join(err, fmt.Errorf("%w: %d train units and %d held-out units, of %d and %d", job.ErrChanged, len(u.train), len(u.holdout), u.counts.Train, u.counts.Holdout))
	}
	return train, holdout, err
}
