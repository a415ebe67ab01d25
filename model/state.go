package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// stateFormat begins every state and names its version.
const stateFormat = "pacsgp-trainer/4\n"

// ErrState says that a state cannot be resumed from: it is damaged, or belongs
// to another configuration or instruction set. The run must start anew.
var ErrState = errors.New("model: unusable trainer state")

// state is what a trainer has between two passes: what MarshalBinary writes. Its
// fields are listed once, by kind: in integers, floats and vectors.
type state struct {
	phase        Phase
	step         int       // in this phase
	stepsDone    int       // in all phases
	theta        []float64 // ln lengthscales, ln variance
	z            linalg.Mat
	mean         []float64  // [M]: m
	precision    linalg.Mat // [M×M]: Λ, lower triangle mirrored
	frozen       []float64  // 1 for each θ that is on its grid for good
	optTheta     adam
	optZ         adam
	risk         float64 // running mean over joint steps, or of the last pass
	weight       float64 // b
	slowed       float64 // factor of the rates of the joint phase
	keepNegative float64 // part of negative curvature that natural gradients keep
	jointBound   float64 // the least running bound of the joint phase, raised at each restart from it
	jointRisk    float64 // the running risk at that step
	gainBound    float64 // running bound when it last fell by a worthwhile gain
	gainStep     int     // the joint step of that
	flatAt       int     // the joint step at which the bound was found to fall no longer, or 0
	rate         float64 // of natural-gradient steps while settling
	last         Progress
	best         Progress // of the settle phase
	bestTheta    []float64
	bestZ        linalg.Mat
	bestMean     []float64
	bestLambda   linalg.Mat
	settleSteps  int // of the settle phase, at most: as planned, or fewer once somebody asks to end
	settleFailed int // consecutive passes without a gain
	notice       string
}

func (s *state) integers() []*int {
	return []*int{
		(*int)(&s.phase), &s.step, &s.stepsDone, &s.settleFailed, &s.optTheta.steps, &s.optZ.steps, &s.settleSteps, &s.gainStep, &s.flatAt,
	}
}

func (s *state) floats() []*float64 {
	all := []*float64{&s.risk, &s.weight, &s.rate, &s.slowed, &s.keepNegative, &s.jointBound, &s.jointRisk, &s.gainBound}
	for _, p := range []*Progress{&s.last, &s.best} {
		all = append(all, &p.Bound, &p.Risk, &p.KL, &p.LnInverseWeight)
	}
	return all
}

func (s *state) vectors() [][]float64 {
	return [][]float64{
		s.theta, s.frozen, s.z.Data, s.mean, s.precision.Data,
		s.bestTheta, s.bestZ.Data, s.bestMean, s.bestLambda.Data,
		s.optTheta.mean, s.optTheta.square, s.optZ.mean, s.optZ.square,
	}
}

// MarshalBinary returns the whole state between two passes. A trainer resumed
// from it gives the same bits as this one from here on. It is an error to call
// it between Begin and End.
func (t *Trainer) MarshalBinary() ([]byte, error) {
	if t.open {
		return nil, errors.New("model: state asked for inside a pass")
	}
	w := stateWriter{}
	w.Grow(t.stateBytes()) // once: the state of many inducing points is a large part of memory
	w.WriteString(stateFormat)
	w.text(linalg.InstructionSet())
	w.text(t.cfg.fingerprint())
	w.integers(int64(t.z.Rows))
	for _, p := range t.integers() {
		w.integers(int64(*p))
	}
	w.text(t.notice)
	for _, p := range t.floats() {
		w.floats(*p)
	}
	for _, v := range t.vectors() {
		w.floats(v...)
	}
	w.checksum()
	return w.Bytes(), nil
}

// ResumeTrainer returns the trainer whose state was written, under the same
// configuration. Workers may differ.
func ResumeTrainer(cfg Config, state []byte) (*Trainer, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	r := stateReader{data: state}
	if err := r.open(); err != nil {
		return nil, err
	}
	if set := r.text(); set != linalg.InstructionSet() {
		return nil, fmt.Errorf("%w: written with instruction set %q, this machine uses %q", ErrState, set, linalg.InstructionSet())
	}
	if r.text() != cfg.fingerprint() {
		return nil, fmt.Errorf("%w: it belongs to another configuration", ErrState)
	}
	m := r.integer()
	if r.failed || m < 1 || m > int64(cfg.Inducing) {
		return nil, fmt.Errorf("%w: it has %d inducing points", ErrState, m)
	}
	t := &Trainer{cfg: cfg, pool: linalg.NewPool(cfg.Workers)}
	t.z = linalg.NewMat(int(m), cfg.Dim)
	t.allocate(int(m))
	for _, p := range t.integers() {
		*p = int(r.integer())
	}
	t.notice = r.text()
	r.floats(t.floats()...)
	for _, v := range t.vectors() {
		r.fill(v)
	}
	if r.failed || len(r.data) != 0 || t.phase < Joint || t.phase > Settled {
		t.Close()
		return nil, fmt.Errorf("%w: it is cut short or too long", ErrState)
	}
	return t, nil
}

// stateBytes is a little more than the state has.
func (t *Trainer) stateBytes() int {
	const rest = 1 << 10 // single numbers, texts, checksum
	bytes := rest + len(t.notice)
	for _, v := range t.vectors() {
		bytes += 8 * len(v)
	}
	return bytes
}

// fingerprint hashes what the course of training depends on.
func (c Config) fingerprint() string {
	b := fmt.Appendf(nil, "%s %x %d %d %x %t %x %d %x %+v %d %s", c.Kernel.Name(), c.Choice, c.Dim, c.N, c.Delta, c.ARD, c.Grids, c.Inducing, c.Jitter, c.Plan, c.Seed, c.Loss.Kind())
	// The loss's parameters show in its values.
	for _, y := range []float64{-1.3, 0.1, 2.7} {
		for _, f := range []float64{-0.9, 0.4, 0.45, 2.1} {
			b = fmt.Appendf(b, " %x", c.Loss.Expected(y, f, 0.3))
		}
	}
	sum := sha256.Sum256(b)
	return string(sum[:])
}

type stateWriter struct{ bytes.Buffer }

func (w *stateWriter) integers(v ...int64) { w.numbers(v) }

func (w *stateWriter) floats(v ...float64) { w.numbers(v) }

// numbers writes a slice of 8-byte numbers.
func (w *stateWriter) numbers(v any) {
	b, err := binary.Append(w.AvailableBuffer(), binary.LittleEndian, v)
	if err != nil {
		panic(err) // v is not of fixed size: a bug of this file
	}
	w.Write(b)
}

func (w *stateWriter) text(s string) {
	w.integers(int64(len(s)))
	w.WriteString(s)
}

// checksum ends the state. It finds accidents, not forgeries.
func (w *stateWriter) checksum() {
	sum := sha256.Sum256(w.Bytes())
	w.Write(sum[:])
}

// A stateReader reads what a stateWriter wrote; after the first fault it gives
// zeros.
type stateReader struct {
	data   []byte
	failed bool
}

// open checks format and checksum.
func (r *stateReader) open() error {
	body := len(r.data) - sha256.Size
	if body < len(stateFormat) || string(r.data[:len(stateFormat)]) != stateFormat {
		return fmt.Errorf("%w: it does not begin with %q", ErrState, stateFormat)
	}
	if sum := sha256.Sum256(r.data[:body]); !bytes.Equal(sum[:], r.data[body:]) {
		return fmt.Errorf("%w: its checksum is wrong", ErrState)
	}
	r.data = r.data[len(stateFormat):body]
	return nil
}

func (r *stateReader) take(n int) []byte {
	if r.failed || n < 0 || n > len(r.data) {
		r.failed = true
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *stateReader) integer() int64 {
	var v int64
	r.numbers(8, &v)
	return v
}

func (r *stateReader) floats(dst ...*float64) {
	for _, p := range dst {
		r.numbers(8, p)
	}
}

func (r *stateReader) fill(dst []float64) { r.numbers(8*len(dst), dst) }

// numbers reads size bytes into a pointer or a slice.
func (r *stateReader) numbers(size int, dst any) {
	b := r.take(size)
	if b == nil {
		return
	}
	if _, err := binary.Decode(b, binary.LittleEndian, dst); err != nil {
		r.failed = true
	}
}

func (r *stateReader) text() string {
	return string(r.take(int(r.integer())))
}
