package pipelinetest

import (
	"bytes"
	"context"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
)

// TestAttempts checks the contract of [pipeline.Attempts]; place is as for [TestSink].
func TestAttempts(t *testing.T, place func(t *testing.T) (open func(t *testing.T) pipeline.Attempts)) {
	t.Helper()
	t.Run("ranks", func(t *testing.T) { testRanks(t, place(t)) })
	t.Run("canceled", func(t *testing.T) {
		log := place(t)(t)
		canceled(t, func(ctx context.Context) []error {
			_, _, err := log.Record(ctx, SmallAttempt('y', 'a', '1'))
			return []error{err}
		})
		if onRows, inLog, err := log.Record(t.Context(), SmallAttempt('y', 'a', '2')); err != nil || onRows != 1 || inLog != 1 {
			t.Errorf("Record = %d, %d, %v, want 1, 1: a canceled one is no attempt", onRows, inLog, err)
		}
	})
}

// SmallAttempt is an attempt whose digests repeat a byte each.
func SmallAttempt(targets, sample, configuration byte) pipeline.Attempt {
	digest := func(c byte) (d pipeline.Digest) { copy(d[:], bytes.Repeat([]byte{c}, len(d))); return d }
	return pipeline.Attempt{Targets: digest(targets), Sample: digest(sample), Configuration: digest(configuration)}
}

// The same job on the same rows is one attempt. Another configuration is another
// one, and so are the same targets in other rows: in other row groups, in
// another order, beside other features.
func testRanks(t *testing.T, open func(t *testing.T) pipeline.Attempts) {
	log := open(t)
	for i, test := range []struct {
		targets, sample, configuration byte
		onRows, inLog                  int
	}{
		{'y', 'a', '1', 1, 1},
		{'y', 'a', '1', 1, 1}, // the same job again
		{'y', 'a', '2', 2, 2},
		{'y', 'b', '2', 3, 3}, // the same rows in other row groups
		{'z', 'c', '2', 1, 4}, // other rows
		{'y', 'c', '3', 4, 5},
		{'y', 'a', '2', 2, 2},
		{'y', 'b', '2', 3, 3},
	} {
		if i == 4 {
			log = open(t)
		}
		onRows, inLog, err := log.Record(t.Context(), SmallAttempt(test.targets, test.sample, test.configuration))
		if err != nil || onRows != test.onRows || inLog != test.inLog {
			t.Errorf("attempt %d: Record = %d, %d, %v, want %d, %d", i, onRows, inLog, err, test.onRows, test.inLog)
		}
	}
}

// TestCheckpoints checks the contract of [pipeline.Checkpoints]; place is as for [TestSink].
func TestCheckpoints(t *testing.T, place func(t *testing.T) (open func(t *testing.T) pipeline.Checkpoints)) {
	t.Helper()
	t.Run("latest", func(t *testing.T) { testLatest(t, place(t)) })
	t.Run("ownership", func(t *testing.T) { testStateOwnership(t, place(t)(t)) })
	t.Run("canceled", func(t *testing.T) { testCanceledState(t, place(t)(t)) })
}

// kept demands the state that a checkpoint has; nil: that there is none.
func kept(t *testing.T, when string, c pipeline.Checkpoints, want []byte) {
	t.Helper()
	state, err := c.Load(t.Context())
	if err != nil || !bytes.Equal(state, want) || want == nil && state != nil {
		t.Errorf("%s: Load = %q, %v, want %q", when, state, err, want)
	}
}

// save saves a state.
func save(t *testing.T, c pipeline.Checkpoints, state []byte) {
	t.Helper()
	must(t, "Save", c.Save(t.Context(), state))
}

func testLatest(t *testing.T, open func(t *testing.T) pipeline.Checkpoints) {
	c := open(t)
	kept(t, "new", c, nil)
	save(t, c, []byte("a long first state"))
	save(t, c, []byte("second"))
	kept(t, "saved twice", c, []byte("second"))
	c = open(t)
	kept(t, "opened again", c, []byte("second"))
	for range 2 { // of none it is no error
		must(t, "Clear", c.Clear(t.Context()))
		kept(t, "cleared", c, nil)
	}
	kept(t, "cleared and opened again", open(t), nil)
}

// Neither side shares memory with the other.
func testStateOwnership(t *testing.T, c pipeline.Checkpoints) {
	state := []byte("state")
	save(t, c, state)
	state[0] = 'x'
	kept(t, "the caller changes what it saved", c, []byte("state"))
	loaded, err := c.Load(t.Context())
	must(t, "Load", err)
	loaded[0] = 'x'
	kept(t, "the caller changes what it loaded", c, []byte("state"))
}

func testCanceledState(t *testing.T, c pipeline.Checkpoints) {
	save(t, c, []byte("state"))
	canceled(t, func(ctx context.Context) []error {
		_, loading := c.Load(ctx)
		return []error{c.Save(ctx, []byte("other")), loading, c.Clear(ctx)}
	})
	kept(t, "after that", c, []byte("state"))
}
