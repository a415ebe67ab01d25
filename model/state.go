package model

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/internal/frame"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// stateFormat begins every state of a [Trainer] and names its version.
const stateFormat = "pacsgp-trainer/13"

// ErrState reports a state that cannot be resumed from, because it is damaged or belongs to another
// configuration or instruction set. The run must start again.
var ErrState = errors.New("model: unusable trainer state")

// state is the state of a trainer between two passes, as MarshalBinary writes it.
type state struct {
	phase        Phase
	step         int       // passes in this phase
	stepsDone    int       // passes in all phases
	theta        []float64 // ln lengthscales, ln variance
	z            linalg.Mat
	later        linalg.Mat // from coarse to fine: points of which refine adds some to z; empty after that
	refineAt     int        // the joint step after which they are added, or were; 0 in other training
	mean         []float64  // [M]: m
	precision    linalg.Mat // [M×M]: Λ, lower triangle mirrored
	frozen       []float64  // 1 for each θ that stays on its grid
	optTheta     adam
	optZ         adam
	squares      []float64 // means of E(f−y)² over the passes of risks
	noises       []float64 // squared standard errors of the mean that is minimised, over the passes of risks
	likelihood   float64   // price of E(f−y)²/2 in units of loss
	risks        []float64 // risks of the last joint passes: an epoch, or mostRisks of them
	weight       float64   // b, the price of a unit of loss in nats
	slowed       float64   // factor of all rates of the joint phase
	keepNegative float64   // part of negative curvature that natural gradients keep, in [0, 1]
	reached      float64   // least running value of the joint phase
	stage        int       // completed stages of putting θ on its grid
	jointBound   float64   // the same, raised a little at each restart
	gainBound    float64   // running value when it last fell by a worthwhile gain
	gainStep     int       // the joint step when that happened
	flatAt       int       // the joint step at which the value was found to be flat, or 0
	rate         float64   // of natural-gradient steps while settling
	mostRate     float64   // upper limit of rate
	last         Progress
	best         Progress // of the kept state below; in the joint phase a running mean
	bestTheta    []float64
	bestZ        linalg.Mat
	bestMean     []float64
	bestLambda   linalg.Mat
	settleSteps  int // greatest number of steps of the phase: as planned, or fewer after [Trainer.Settle]
	settleFailed int // consecutive passes without a gain
	settleFlat   int // consecutive passes of little gain
	warning      string
}

// fields returns all fields in the order of the file: pointers to numbers and texts, and vectors, whose lengths
// follow from the configuration.
func (s *state) fields() []any {
	return []any{
		(*int)(&s.phase), &s.step, &s.stepsDone, s.theta, s.z.Data, s.later.Data, &s.refineAt, s.mean, s.precision.Data, s.frozen,
		s.optTheta.mean, s.optTheta.square, &s.optTheta.steps, s.optZ.mean, s.optZ.square, &s.optZ.steps,
		s.risks, s.squares, s.noises, &s.weight, &s.likelihood, &s.slowed, &s.keepNegative, &s.reached, &s.stage, &s.jointBound, &s.gainBound, &s.gainStep, &s.flatAt, &s.rate, &s.mostRate,
		&s.last.Bound, &s.last.Risk, &s.last.KL, &s.last.LnInverseWeight, &s.last.squares, &s.last.value, &s.last.noise,
		&s.best.Bound, &s.best.Risk, &s.best.KL, &s.best.LnInverseWeight, &s.best.squares, &s.best.value, &s.best.noise,
		s.bestTheta, s.bestZ.Data, s.bestMean, s.bestLambda.Data, &s.settleSteps, &s.settleFailed, &s.settleFlat, &s.warning,
	}
}

// MarshalBinary returns the whole state between two passes. A trainer resumed from it gives the same bits as
// this one from here on. It is an error to call it between Begin and End.
func (t *Trainer) MarshalBinary() ([]byte, error) {
	if t.open {
		return nil, errors.New("model: state asked for inside a pass")
	}
	var out bytes.Buffer
	out.Grow(t.stateBytes()) // once: the state of many inducing points is a large part of memory
	w := beginState(&out, stateFormat, t.cfg.fingerprint())
	w.Integers(int64(t.z.Rows), int64(t.later.Rows))
	for _, field := range t.fields() {
		switch v := field.(type) {
		case *int:
			w.Integers(int64(*v))
		case *float64:
			w.Floats(*v)
		case []float64:
			w.Floats(v...)
		case *string:
			w.Text(*v)
		default:
			panic(fmt.Sprintf("model: a field of type %T in the state", v)) // a bug of this file
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// ResumeTrainer returns the trainer whose state was written, under the same configuration except for Workers. A
// state that does not fit is an [ErrState]. Close the trainer after use.
func ResumeTrainer(cfg Config, state []byte) (*Trainer, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	r := openState(state, stateFormat, cfg.fingerprint())
	m, later := int(r.UpTo(int64(cfg.Inducing))), int(r.UpTo(int64(cfg.Inducing)))
	if m < 1 {
		r.Failf("it has no inducing points")
	}
	if r.Err() != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, r.Close())
	}
	t := &Trainer{cfg: cfg, pool: linalg.NewPool(cfg.Workers)}
	t.z, t.later = linalg.NewMat(m, cfg.Dim), linalg.NewMat(later, cfg.Dim)
	t.allocate(m)
	for _, field := range t.fields() {
		switch v := field.(type) {
		case *int:
			*v = int(r.Integer())
		case *float64:
			*v = r.Float()
		case []float64:
			r.Floats(v)
		case *string:
			*v = r.Text(longestText)
		}
	}
	if t.phase < Joint || t.phase > Settled {
		r.Failf("it is in no phase of training")
	}
	if err := r.Close(); err != nil {
		t.Close()
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	return t, nil
}

// longestText is the greatest length of a text in a state, in bytes.
const longestText = 1 << 16

// beginState writes the start of a state: the format, the instruction set and the fingerprint. All must be the
// same where training resumes.
func beginState(out *bytes.Buffer, format, fingerprint string) *frame.Writer {
	w := frame.NewWriter(out, format)
	w.Text(linalg.InstructionSet())
	w.Text(fingerprint)
	return w
}

// openState reads and checks what beginState wrote.
func openState(state []byte, format, fingerprint string) *frame.Reader {
	r := frame.NewReader(bytes.NewReader(state), int64(len(state)), format)
	if set := r.Text(longestText); set != linalg.InstructionSet() {
		r.Failf("written with instruction set %q, this machine uses %q", set, linalg.InstructionSet())
	}
	if r.Text(longestText) != fingerprint {
		r.Failf("it belongs to another configuration")
	}
	return r
}

// stateBytes returns an upper bound on the size of the state in bytes, only a little above it.
func (t *Trainer) stateBytes() int {
	const rest = 1 << 10 // single numbers, texts, checksum
	bytes := rest + len(t.warning)
	for _, field := range t.fields() {
		if v, ok := field.([]float64); ok {
			bytes += 8 * len(v)
		}
	}
	return bytes
}

// fingerprint hashes everything that the course of training depends on.
func (c Config) fingerprint() string {
	b := fmt.Appendf(nil, "%t %s %x %d %d %d %x %v %x %d %x %+v %d %s", c.ELBO, c.Kernel.Name, c.Choice, c.Dim, c.N, c.Examples, c.Delta, c.Scales, c.Grids, c.Inducing, c.Jitter, c.Plan, c.Seed, c.Loss.Kind())
	// The loss's parameters show in its values.
	for _, y := range []float64{-1.3, 0.1, 2.7} {
		for _, f := range []float64{-0.9, 0.4, 0.45, 2.1} {
			b = fmt.Appendf(b, " %x", c.Loss.Expected(y, f, 0.3))
		}
	}
	sum := sha256.Sum256(b)
	return string(sum[:])
}
