package model

import (
	"errors"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// NewTrainerFrom returns a trainer that starts from an earlier posterior, fitted to a part of the rows or to
// other rows. It clamps θ to the grids, and estimates the weight of the risk on start rows like those of
// [NewTrainer], which it does not keep. The posterior must have the kernel and the features of the
// configuration, and at most as many inducing points. Close the trainer after use.
func NewTrainerFrom(cfg Config, from *Posterior, start Rows) (*Trainer, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(from.Validate(), start.Validate()); err != nil {
		return nil, err
	}
	m := from.Inducing()
	if from.Dim() != cfg.Dim || from.Kernel.Family.Name != cfg.Kernel.Name || m > cfg.Inducing || start.Len() == 0 || start.Dim != cfg.Dim {
		return nil, fmt.Errorf("%w: start values of %d features, kernel %s and %d inducing points, %d start rows of %d; want %d, %s and at most %d",
			ErrConfig, from.Dim(), from.Kernel.Family.Name, m, start.Len(), start.Dim, cfg.Dim, cfg.Kernel.Name, cfg.Inducing)
	}
	t := &Trainer{cfg: cfg, pool: linalg.NewPool(cfg.Workers)}
	t.z = linalg.NewMat(m, cfg.Dim)
	t.allocate(m)
	copy(t.z.Data, from.Z)
	copy(t.mean, from.Mean)
	t.setTheta(from)
	if err := t.invertCovariance(from); err != nil {
		t.Close()
		return nil, err
	}
	if err := t.derive(); err != nil {
		t.Close()
		return nil, err
	}
	start = usualRows(start)
	t.estimateBound(start.Slice(0, min(start.Len(), boundRows)))
	t.weigh(t.last)
	t.skipEmptyPhases()
	return t, nil
}

// setTheta sets θ to the logarithms of the lengthscales and the variance, clamped to the grids.
func (t *Trainer) setTheta(from *Posterior) {
	t.theta[len(t.theta)-1] = math.Log(from.Kernel.Variance)
	for j, i := range t.cfg.of(t.cfg.Dim) {
		t.theta[i] = math.Log(from.Kernel.Lengthscales[j])
	}
	for i, g := range t.cfg.Grids {
		t.theta[i] = g.clamp(t.theta[i])
	}
}

// invertCovariance sets the precision to S⁻¹ = C⁻ᵀC⁻¹.
func (t *Trainer) invertCovariance(from *Posterior) error {
	m := from.Inducing()
	inverse := linalg.NewMat(m, m)
	invertLower(t.pool, view(from.Factor, m), inverse)
	gramLower(t.pool, inverse, t.precision)
	t.pool.Mirror(t.precision)
	if firstNotFinite(t.precision.Data) >= 0 {
		return fmt.Errorf("model: invert the covariance of the start values (M=%d): %w", m, ErrNotPositiveDefinite)
	}
	return nil
}
