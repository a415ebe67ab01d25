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
	w.text(t.asked)
	w.integers(int64(t.z.Rows), int64(t.phase), int64(t.step), int64(t.stepsDone),
		int64(t.settleFailed), int64(t.optTheta.steps), int64(t.optZ.steps), int64(t.cfg.Plan.Settle), int64(t.gainStep), int64(t.flatAt))
	w.text(t.notice)
	w.floats(t.risk, t.weight, t.rate, t.slowed, t.keepNegative, t.jointBound, t.jointRisk, t.gainBound)
	for _, p := range []Progress{t.last, t.best} {
		w.floats(p.Bound, p.Risk, p.KL, p.LnInverseWeight)
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
	asked := cfg.fingerprint()
	if r.text() != asked {
		return nil, fmt.Errorf("%w: it belongs to another configuration", ErrState)
	}
	m := r.integer()
	if r.failed || m < 1 || m > int64(cfg.Inducing) {
		return nil, fmt.Errorf("%w: it has %d inducing points", ErrState, m)
	}
	t := &Trainer{cfg: cfg, asked: asked, pool: linalg.NewPool(cfg.Workers)}
	t.z = linalg.NewMat(int(m), cfg.Dim)
	t.allocate(int(m))
	t.phase = Phase(r.integer())
	for _, p := range []*int{&t.step, &t.stepsDone, &t.settleFailed, &t.optTheta.steps, &t.optZ.steps, &t.cfg.Plan.Settle, &t.gainStep, &t.flatAt} {
		*p = int(r.integer())
	}
	t.notice = r.text()
	r.floats(&t.risk, &t.weight, &t.rate, &t.slowed, &t.keepNegative, &t.jointBound, &t.jointRisk, &t.gainBound)
	for _, p := range []*Progress{&t.last, &t.best} {
		r.floats(&p.Bound, &p.Risk, &p.KL, &p.LnInverseWeight)
	}
	for _, v := range t.vectors() {
		r.fill(v)
	}
	if r.failed || len(r.data) != 0 || t.phase < Joint || t.phase > Settled {
		t.Close()
		return nil, fmt.Errorf("%w: it is cut short or too long", ErrState)
	}
	return t, nil
}

// vectors returns all slices of the state, in the order of the format.
func (t *Trainer) vectors() [][]float64 {
	return [][]float64{
		t.theta, t.frozen, t.z.Data, t.mean, t.precision.Data,
		t.bestTheta, t.bestZ.Data, t.bestMean, t.bestLambda.Data,
		t.optTheta.mean, t.optTheta.square, t.optZ.mean, t.optZ.square,
	}
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
