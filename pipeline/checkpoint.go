package pipeline

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// A checkpoint is the whole state of a training between two steps: of the
// trainer and, in the same record, of its place in the rows.
type checkpoint struct {
	// What it belongs to. A checkpoint of another job, sample, version or
	// instruction set is not resumed, for the result would not be the same
	// bytes as that of an uninterrupted run.
	Configuration, Sample, Instructions string

	Candidate int      // being trained
	Finished  [][]byte // states of the trainers that are done
	Trainer   []byte   // state of the one at work; nil before its first step
	Taken     int64    // rows taken from the shuffled reader
	Hurried   int      // steps of all candidates before the time limit was reached; 0: it was not
	Spent     time.Duration
	Trace     []Progress
}

// checkpointVersion is part of the identity: another version is not resumed.
const checkpointVersion = "4 "

func newCheckpoint(job Job, s *Survey) (checkpoint, error) {
	configuration, err := job.Digest()
	return checkpoint{
		Configuration: checkpointVersion + configuration.String(),
		Sample:        s.Digest.String(),
		Instructions:  model.InstructionSet(),
	}, err
}

// resume takes over the stored checkpoint if it belongs to this training.
func (t *training) resume(ctx context.Context) error {
	data, err := t.env.Checkpoints.Load(ctx)
	if err != nil || data == nil {
		return err
	}
	stored, err := decodeCheckpoint(data)
	if err != nil {
		return err
	}
	var other string
	switch {
	case stored.Configuration != t.state.Configuration:
		other = "another configuration"
	case stored.Sample != t.state.Sample:
		other = "other rows (the files have changed, or another job here differs in nothing but its files)"
	case stored.Instructions != t.state.Instructions:
		other = "the instruction set " + stored.Instructions
	case !t.resumable(stored):
		other = "another version of the trainer"
	default:
		t.state, t.resumed = stored, true
		t.env.Observer.event(fmt.Sprintf("resumed from the checkpoint after %s", certify.Count(len(stored.Trace), "step")))
		return nil
	}
	t.env.Observer.notice(fmt.Sprintf("the checkpoint after %s belongs to %s: training starts anew and will replace it", certify.Count(len(stored.Trace), "step"), other))
	return nil
}

// encode returns the bytes of a checkpoint: all but the trainers' states, their
// lengths (−1: nil), and the states as they are. Package gob would hold copies of
// them, and they can be most of what a run has in memory.
func (c checkpoint) encode() ([]byte, error) {
	states := append(slices.Clone(c.Finished), c.Trainer)
	lengths, size := make([]int, len(states)), 0
	for i, state := range states {
		if lengths[i] = len(state); state == nil {
			lengths[i] = -1
		}
		size += len(state)
	}
	c.Finished, c.Trainer = nil, nil
	var out bytes.Buffer
	head := gob.NewEncoder(&out)
	if err := errors.Join(head.Encode(c), head.Encode(lengths)); err != nil {
		return nil, fmt.Errorf("pipeline: checkpoint: %w", err)
	}
	out.Grow(size)
	for _, state := range states {
		out.Write(state)
	}
	return out.Bytes(), nil
}

// decodeCheckpoint reads what encode writes. The states share memory with data.
func decodeCheckpoint(data []byte) (checkpoint, error) {
	var c checkpoint
	var lengths []int
	rest := bytes.NewReader(data)
	head := gob.NewDecoder(rest)
	err := head.Decode(&c)
	if err == nil {
		err = head.Decode(&lengths)
	}
	if err == nil {
		err = c.takeStates(lengths, data[len(data)-rest.Len():])
	}
	if err != nil {
		return checkpoint{}, fmt.Errorf("pipeline: checkpoint: %w; remove it to train anew", err)
	}
	return c, nil
}

// takeStates cuts the states off the bytes behind the head.
func (c *checkpoint) takeStates(lengths []int, data []byte) error {
	if len(lengths) == 0 {
		return errors.New("it has no state")
	}
	var states [][]byte
	for _, n := range lengths {
		switch {
		case n == -1:
			states = append(states, nil)
		case n < 0 || n > len(data):
			return fmt.Errorf("a state of %d bytes, of which there are %d", n, len(data))
		default:
			states = append(states, data[:n:n])
			data = data[n:]
		}
	}
	if len(data) > 0 {
		return fmt.Errorf("%d bytes behind its states", len(data))
	}
	last := len(states) - 1
	c.Finished, c.Trainer = states[:last:last], states[last]
	return nil
}

// resumable reports whether the trainers of a checkpoint can be taken over.
func (t *training) resumable(stored checkpoint) bool {
	states := stored.Finished
	if stored.Trainer != nil {
		states = append(slices.Clone(states), stored.Trainer)
	}
	for i, state := range states {
		if i >= len(t.candidates) {
			return false
		}
		trainer, err := model.ResumeTrainer(t.candidates[i].config, state)
		if err != nil {
			return false
		}
		trainer.Close()
	}
	return true
}

// checkpointIfDue saves the state if the last one is old enough. When that is
// changes no result.
func (t *training) checkpointIfDue(ctx context.Context, trainer *model.Trainer, batches *shuffled) error {
	if time.Since(t.saved) < t.env.Resources.Checkpoint {
		return nil
	}
	return t.checkpoint(ctx, trainer, batches)
}

// checkpoint saves the state between two steps.
func (t *training) checkpoint(ctx context.Context, trainer *model.Trainer, batches *shuffled) error {
	var err error
	if t.state.Trainer, err = trainer.MarshalBinary(); err != nil {
		return err
	}
	t.state.Taken = batches.taken
	return t.save(ctx)
}

// save stores the state, also when the run is being stopped: that is what it is
// for.
func (t *training) save(ctx context.Context) error {
	state := t.state
	state.Spent = t.spent()
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
