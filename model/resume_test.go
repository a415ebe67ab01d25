package model

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/loss"
)

func finalState(t testing.TB, tr *Trainer) []byte {
	t.Helper()
	state, err := tr.MarshalBinary()
	fatal.If(t, err)
	return state
}

// A run that is interrupted and resumed after every step gives the bits of one
// that is not.
func TestResumeGivesTheSameBits(t *testing.T) {
	c, rows := smallRun(t, 600)
	c.Plan.Settle = 0
	resumesToTheSameBits(t, c, rows)
	c.ELBO = true
	resumesToTheSameBits(t, c, rows)
	c, rows = coarseRun(t)
	resumesToTheSameBits(t, c, rows)
}

func resumesToTheSameBits(t *testing.T, c Config, rows Rows) {
	t.Helper()
	tr := newTestTrainer(t, c, rows)
	drive(t, tr, rows, 1000, nil)
	want := finalState(t, tr)

	tr = newTestTrainer(t, c, rows)
	for !tr.Done() {
		again, err := ResumeTrainer(c, finalState(t, tr))
		fatal.If(t, err)
		tr.Close()
		tr = again
		onePass(t, tr, rows, 1000)
	}
	if !bytes.Equal(finalState(t, tr), want) {
		t.Error("a run resumed after each step ends in other bits")
	}
	p, indices, err := tr.Result()
	tr.Close()
	if err != nil || p.Validate() != nil || len(indices) != 3 {
		t.Errorf("Result() of the resumed run: %v, %v, %v", p.Validate(), indices, err)
	}
}

func TestResumeRefusesOtherStates(t *testing.T) {
	c, rows := smallRun(t, 100)
	state := finalState(t, newTestTrainer(t, c, rows))
	other := c
	other.Delta = 0.02
	finer := c
	finer.Loss = mustLoss(t, loss.ZeroOne, 0.61)
	for name, try := range map[string]struct {
		cfg   Config
		state []byte
	}{
		"other delta":   {other, state},
		"other epsilon": {finer, state},
		"cut short":     {c, state[:len(state)-9]},
		"empty":         {c, nil},
		"one bit":       {c, slices.Concat(state[:200], []byte{state[200] ^ 1}, state[201:])},
		"longer":        {c, append(slices.Clone(state), 0)},
	} {
		if _, err := ResumeTrainer(try.cfg, try.state); !errors.Is(err, ErrState) {
			t.Errorf("%s: ResumeTrainer gives %v, want ErrState", name, err)
		}
	}
	if _, err := ResumeTrainer(c, state); err != nil {
		t.Errorf("ResumeTrainer(own state) = %v", err)
	}
}

// A trainer that was to settle early can be resumed under the configuration
// that it began with.
func TestSettledEarlyIsResumed(t *testing.T) {
	c, rows := smallRun(t, 200)
	tr := newTestTrainer(t, c, rows)
	for range 2 {
		onePass(t, tr, rows, 100)
		tr.Settle()
		state := finalState(t, tr)
		resumed, err := ResumeTrainer(c, state)
		if err != nil {
			t.Fatalf("phase %v: %v", tr.phase, err)
		}
		if !bytes.Equal(finalState(t, resumed), state) {
			t.Errorf("phase %v: the resumed trainer has another state", tr.phase)
		}
		resumed.Close()
	}
}
