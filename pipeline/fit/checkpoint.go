package fit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/internal/frame"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A checkpoint is the state of a training between two steps: the trainers, and the position in the rows.
type checkpoint struct {
	// These identify the training. A checkpoint of another job, sample, version or instruction set is not resumed,
	// because the result would not have the bytes of an uninterrupted run.
	configuration, sample, instructions string

	candidate    int       // index of the candidate in training
	centre       []float64 // of the peaks of the prior, if the job has one family of kernels; nil if unknown
	finished     [][]byte  // states of finished trainers
	trainer      []byte    // state of the current trainer; nil before its first step
	taken        int64     // number of rows taken from the shuffled reader
	stoppedAfter int       // steps of all candidates when the time limit was reached; 0 if it was not
	spent        time.Duration
	trace        []job.Progress
}

// checkpointFormat names the version of the bytes. checkpointVersion is part of the identity, and changes when training
// changes.
const (
	checkpointFormat  = "pacsgp-checkpoint/4"
	checkpointVersion = "7 "
	traceBytes        = 72 // of an entry of the trace, at least
)

// resume restores the stored checkpoint if it belongs to this training, and lists the candidates, with the centre of their
// prior from the checkpoint, which takes long to compute.
func (t *training) resume(ctx context.Context) error {
	var data []byte
	if t.env.Checkpoints != nil {
		var err error
		if data, err = t.env.Checkpoints.Load(ctx); err != nil {
			return err
		}
	}
	if data == nil {
		return t.nominate()
	}
	stored, err := decodeCheckpoint(data)
	if err != nil {
		return err
	}
	ours := stored.configuration == t.state.configuration && stored.sample == t.state.sample && stored.instructions == t.state.instructions
	if ours && len(stored.centre) > 0 {
		t.state.centre = stored.centre
	}
	if err := t.nominate(); err != nil {
		return err
	}
	steps := words.Count(len(stored.trace), "step")
	if !ours || !t.resumable(stored) {
		t.env.Observer.ReportWarning("the checkpoint after " + steps + " is of another job, version or instruction set, or the files have changed: training starts again and will replace it")
		return nil
	}
	t.state, t.resumed = stored, true
	t.env.Observer.ReportEvent("resumed from the checkpoint after " + steps)
	return nil
}

// encode returns the bytes of a checkpoint.
func (c checkpoint) encode() ([]byte, error) {
	const rest = 4 << 10 // texts and single numbers
	size := rest + len(c.trace)*traceBytes
	for _, state := range append(slices.Clone(c.finished), c.trainer) {
		size += len(state)
	}
	var out bytes.Buffer
	out.Grow(size) // once: the states can be most of a run's memory
	w := frame.NewWriter(&out, checkpointFormat)
	w.Text(c.configuration)
	w.Text(c.sample)
	w.Text(c.instructions)
	w.Integers(int64(c.candidate), c.taken, int64(c.stoppedAfter), int64(c.spent), int64(len(c.centre)))
	w.Floats(c.centre...)
	w.Integers(int64(len(c.trace)))
	for _, p := range c.trace {
		w.Text(string(p.Phase))
		w.Text(p.Stage)
		w.Integers(int64(p.Inducing), int64(p.Step), int64(p.Steps), int64(p.Elapsed))
		w.Floats(p.Bound, p.Risk, p.KL)
	}
	w.Integers(int64(len(c.finished)))
	for _, state := range c.finished {
		w.Integers(int64(len(state)))
		w.Bytes(state)
	}
	// There is no empty state.
	w.Integers(int64(len(c.trainer)))
	w.Bytes(c.trainer)
	err := w.Close()
	return out.Bytes(), err
}

// decodeCheckpoint returns the checkpoint that encode has written. Its states share memory with data.
func decodeCheckpoint(data []byte) (checkpoint, error) {
	const longest = 1 << 10 // of texts, bytes
	r := frame.NewReader(bytes.NewReader(data), int64(len(data)), checkpointFormat)
	state := func() []byte {
		n := r.Count(1)
		from := r.Read()
		if r.Copy(io.Discard, int64(n)); n == 0 || r.Err() != nil {
			return nil
		}
		return data[from:r.Read():r.Read()]
	}
	c := checkpoint{configuration: r.Text(longest), sample: r.Text(longest), instructions: r.Text(longest)}
	c.candidate, c.taken, c.stoppedAfter, c.spent = int(r.Integer()), r.Integer(), int(r.Integer()), time.Duration(r.Integer())
	if n := r.Count(8); n > 0 {
		c.centre = make([]float64, n)
		r.Floats(c.centre)
	}
	for range r.Count(traceBytes) {
		c.trace = append(c.trace, job.Progress{
			Phase: job.Phase(r.Text(longest)), Stage: r.Text(longest),
			Inducing: int(r.Integer()), Step: int(r.Integer()), Steps: int(r.Integer()), Elapsed: job.Seconds(r.Integer()),
			Bound: r.Float(), Risk: r.Float(), KL: r.Float(),
		})
	}
	for range r.Count(8) {
		c.finished = append(c.finished, state())
	}
	c.trainer = state()
	err := r.Close()
	if err == nil && (c.candidate < 0 || c.taken < 0 || c.stoppedAfter < 0 || c.spent < 0) {
		err = errors.New("a count is out of range")
	}
	if err != nil {
		return checkpoint{}, fmt.Errorf("checkpoint: %w; remove it to train again", err)
	}
	return c, nil
}

// resumable reports whether the trainers of a checkpoint can be restored.
func (t *training) resumable(stored checkpoint) bool {
	states := stored.finished
	if stored.trainer != nil {
		states = append(slices.Clone(states), stored.trainer)
	}
	for i, state := range states {
		if i >= len(t.candidates) {
			return false
		}
		trainer, err := t.newTrainer(t.candidates[i], state)
		if err != nil {
			return false
		}
		trainer.Close()
	}
	return true
}

// checkpoint saves the state between two steps.
func (t *training) checkpoint(ctx context.Context, trainer trainer) error {
	var err error
	if t.state.trainer, err = trainer.MarshalBinary(); err != nil {
		return err
	}
	return t.save(ctx)
}

// save stores the state, even if ctx is done.
func (t *training) save(ctx context.Context) error {
	if t.env.Checkpoints == nil {
		return nil
	}
	state := t.state
	state.spent = t.spent()
	data, err := state.encode()
	if err != nil {
		return err
	}
	if err := t.env.Checkpoints.Save(context.WithoutCancel(ctx), data); err != nil {
		return err
	}
	t.saved = time.Now()
	return nil
}
