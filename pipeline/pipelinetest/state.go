package pipelinetest

import (
	"bytes"
	"context"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline/fit"
)

// TestCheckpoints checks the contract of [fit.Checkpoints]. location is as for [TestSink].
func TestCheckpoints(t *testing.T, location func(t *testing.T) (open func(t *testing.T) fit.Checkpoints)) {
	t.Helper()
	t.Run("latest", func(t *testing.T) { testLatest(t, location(t)) })
	t.Run("ownership", func(t *testing.T) { testStateOwnership(t, location(t)(t)) })
	t.Run("canceled", func(t *testing.T) { testCanceledState(t, location(t)(t)) })
}

// kept fails the test unless c has the checkpoint want, or none if want is nil.
func kept(t *testing.T, when string, c fit.Checkpoints, want []byte) {
	t.Helper()
	state, err := c.Load(t.Context())
	if err != nil || !bytes.Equal(state, want) || want == nil && state != nil {
		t.Errorf("%s: Load = %q, %v, want %q", when, state, err, want)
	}
}

func testLatest(t *testing.T, open func(t *testing.T) fit.Checkpoints) {
	c := open(t)
	kept(t, "new", c, nil)
	must(t, "Save", c.Save(t.Context(), []byte("a long first state")))
	must(t, "Save", c.Save(t.Context(), []byte("second")))
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
func testStateOwnership(t *testing.T, c fit.Checkpoints) {
	state := []byte("state")
	must(t, "Save", c.Save(t.Context(), state))
	state[0] = 'x'
	kept(t, "the caller changes what it saved", c, []byte("state"))
	loaded, err := c.Load(t.Context())
	must(t, "Load", err)
	loaded[0] = 'x'
	kept(t, "the caller changes what it loaded", c, []byte("state"))
}

func testCanceledState(t *testing.T, c fit.Checkpoints) {
	must(t, "Save", c.Save(t.Context(), []byte("state")))
	canceled(t, func(ctx context.Context) []error {
		_, loading := c.Load(ctx)
		return []error{c.Save(ctx, []byte("other")), loading, c.Clear(ctx)}
	})
	kept(t, "after that", c, []byte("state"))
}
